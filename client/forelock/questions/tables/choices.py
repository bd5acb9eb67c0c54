"""What the command line says of result files, and the files as they were opened."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from forelock.arguments import setting
from forelock.columns import TABLES
from forelock.import_files import OneImport

Json = dict[str, Any]
LABELS = ("cluster", "slice", "suite")
"""What an option of the same name reads for every item."""
_SYNONYMS = {"value": "metric", "run": "replicate"}
"""What people call lines of a section."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the command line says of the files."""

    metric: str | None = None
    cluster: str | None = None
    slice: str | None = None
    suite: str | None = None
    arms: str | None = None
    """The systems by name, with commas between them; a name that has one stands in double quotes."""
    names_by: str = "arms"
    """The option of the command that names systems: of a question to one, `arm`."""
    form: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, str] = field(default_factory=dict)
    """Places of further labels, by what the question calls them."""
    lower: bool | None = None
    """Lower values are better; None: the files may say it."""
    allowed: tuple[str, ...] = ()
    """Aspects in which results may differ."""
    fills: bool = False
    """A result that is not there counts as failed."""
    takes_suite: bool = False
    """The command has an option `--suite`."""
    together: Mapping[str, Any] = field(default_factory=dict)
    """How tasks make a suite, where `suite` says them."""

    @classmethod
    def of(cls, options: argparse.Namespace) -> Choices:
        """Return what the options of a command say; those that it does not have say nothing."""
        given = vars(options)
        arms = given.get("arms") if given.get("arms") is not None else given.get("arm")
        fields = dict(setting(line) for line in given.get("set") or ())
        labels: dict[str, Any] = {
            name: given.get(name) if given.get(name) is not None else fields.pop(name, None)
            for name in LABELS
        }
        return cls(
            **labels,
            takes_suite="suite" in given,
            fills=given.get("missing") == "fail",
            metric=given.get("metric"),
            lower=given.get("lower"),
            allowed=tuple(given.get("allow_different") or ()),
            arms=arms,
            names_by="arm" if "arm" in given else "arms",
            form=given.get("format"),
            fields={_SYNONYMS.get(name, name): value for name, value in fields.items()},
        )

    @property
    def labels(self) -> dict[str, str]:
        """The places of what is read for every item beside its values."""
        named = {name: getattr(self, name) for name in LABELS}
        return {name: place for name, place in named.items() if place is not None} | dict(self.beside)

    @property
    def names(self) -> list[str]:
        """The names of systems that the command line lists, in its order."""
        if self.arms is None:
            return []
        # csv would take a line's end outside quotes for the end of the list, and what follows would be lost.
        read = csv.reader([self.arms.replace("\n", " ")], skipinitialspace=True)
        return [name.strip() for name in next(read, [""])]


def listing(names: Sequence[str]) -> str:
    """Return names of systems in one text, which `Choices.names` reads back."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


@dataclass(frozen=True, slots=True)
class Piece:
    """One import: what wrote it, its files, and what they hold."""

    form: str
    one: OneImport
    survey: Json = field(repr=False)
    task: str = ""
    """What the files call their task, or their own name."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The files of every side, looked through. A side is named by its first path."""

    paths: Sequence[str]
    sides: Sequence[Sequence[Piece]]
    by_task: bool = False
    """Files are of several tasks, each of which is read in its own way."""

    @property
    def pieces(self) -> list[Piece]:
        """The pieces of all sides, one after the other."""
        return [piece for side in self.sides for piece in side]

    @property
    def first(self) -> Piece:
        """The first piece of the first side."""
        return self.sides[0][0]

    @property
    def form(self) -> str:
        """The format of the first file."""
        return self.first.form

    @property
    def forms(self) -> list[str]:
        """The formats of all files, each once, in the order of the files."""
        return list(dict.fromkeys(piece.form for piece in self.pieces))

    def key_of(self, piece: Piece) -> str:
        """Return what is read alike: the files of a format, or those of a task."""
        return piece.task if self.by_task else piece.form

    @property
    def keys(self) -> dict[str, str]:
        """By what files are read alike with, their format."""
        return {self.key_of(piece): piece.form for piece in reversed(self.pieces)}

    @property
    def key(self) -> str:
        """What the first file is read alike with: its format, or its task."""
        return self.key_of(self.first)

    def surveys(self, key: str | None = None) -> list[Json]:
        """Return what the files that are read alike hold, or those of all."""
        return [piece.survey for piece in self.pieces if key in (None, self.key_of(piece))]

    @property
    def have_cluster_column(self) -> bool:
        """Whether the files are tables with a column that is called `cluster`, and items share what it says."""
        return self.form in TABLES and all("cluster" in survey["clusters"] for survey in self.surveys())

    @property
    def alone(self) -> bool:
        """Whether one side holds all systems."""
        return len(self.paths) == 1

    @property
    def name(self) -> str:
        """What refusals call the first file."""
        return self.first.one.name

    @property
    def size(self) -> int:
        """How many bytes all files have together."""
        return sum(path.stat().st_size for piece in self.pieces for path in piece.one.paths)
