"""Questions to result files in a notebook: answers that show themselves with their picture, and become data frames."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Literal, Self, cast

from forelock import files
from forelock.frames import frame
from forelock.local import set_picture
from forelock.problem import FileFault
from forelock.questions.forms.form import Form, as_text
from forelock.questions.pictures.paper import SCREEN, WIDE, column
from forelock.text import plain

Json = dict[str, Any]
Pathlike = str | os.PathLike[str]
Option = str | float | bool | Sequence[str]


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer to result files. `document` is what `--json` prints, `form` the same part by part."""

    form: Form = field(repr=False)
    document: Json = field(repr=False)
    remarks: Sequence[str] = field(repr=False)
    """How the files were read."""

    @classmethod
    def ask(cls, question: str, paths: Sequence[Pathlike], options: Mapping[str, Option]) -> Self:
        """Return the answer of `forelock QUESTION`, whose options go by their names here.

        Raises:
            ForelockError: the files or an option are refused, with the way out.
        """
        from forelock import cli

        arguments = [question, *(os.fspath(path) for path in paths), *_arguments(options)]
        complaints = io.StringIO()
        try:
            with contextlib.redirect_stderr(complaints):
                answers = cli.ask(arguments)
        except SystemExit:
            raise FileFault(complaints.getvalue().strip().rpartition("error: ")[2]) from None
        if not answers:
            raise FileFault(f"{question} answers in a terminal alone where it is asked so")
        return cls(*answers[0])

    @property
    def headline(self) -> str:
        """The outcome and its number, in a line."""
        return self.form.headline

    @property
    def open(self) -> str:
        """What the data did not show, in a sentence."""
        return self.form.open

    @property
    def answer(self) -> Json:
        """`outcome`, `estimate`, `low`, `high`, `unit`, `n` and the like."""
        return dict(self.form.answer)

    def __str__(self) -> str:
        return as_text(self.form, self.remarks, explain=False)

    def _repr_html_(self) -> str:
        """HTML for notebooks: the headline, the picture and the numbers; every text is escaped."""
        form = self.form
        head = (
            f"<p><strong>{_text(form.headline)}</strong>{'<br>' if form.open else ''}{_text(form.open)}</p>"
        )
        picture = "" if form.picture is None else form.picture.svg(form.headline)
        rows = "".join(
            f"<tr><th>{_text(name)}</th><td>{_text(value)}</td></tr>"
            for name, value in (*form.numbers, *form.parts)
        )
        cautions = "".join(
            f"<li><code>{_text(caution['code'])}</code> {_text(caution['message'])}</li>"
            for caution in form.cautions
        )
        listed = f"<ul>{cautions}</ul>" if cautions else ""
        drawn = f'<div style="max-width: 40em">{picture}</div>' if picture else ""
        return (
            f"<div>{head}{drawn}<table>{rows}</table>{listed}<p><small>{_text(form.status)}</small></p></div>"
        )

    def save(
        self, path: Pathlike, *, width: float | None = None, serif: bool = False, mono: bool = False
    ) -> None:
        """Write the picture as the file's name says: `.svg`, `.pdf` or `.png`.

        Args:
            path: where to.
            width: in millimetres: 85 is one column of a journal, 180 both.
            serif: letters as in most papers.
            mono: greys alone.

        Raises:
            FileFault: another ending, nothing to draw, or no server package for PDF and PNG.
        """
        name, picture = os.fspath(path), self.form.picture
        kind = Path(name).suffix[1:].lower()
        if kind not in ("svg", "pdf", "png"):
            raise FileFault(f"{name}: name a file that ends in .svg, .pdf or .png")
        if picture is None:
            raise FileFault(f"{name}: is not written: this answer has no interval to draw")
        set_in = width is not None or serif or mono or kind != "svg"
        paper = column(width or WIDE, serif=serif, mono=mono) if set_in else SCREEN
        drawn = picture.svg(self.headline, paper)
        files.write_bytes(name, drawn.encode() if kind == "svg" else set_picture(drawn, kind, name))

    def to_frame(self) -> Any:
        """Return the numbers as a data frame of pandas, a row for every part.

        Raises:
            ForelockError: pandas is not installed.
        """
        return frame(self._rows(), "pandas")

    def _rows(self) -> Iterator[Json]:
        yield {"part": "all", **self.answer}


class Comparison(Answered):
    """Two systems: whether one beats the other, or is no worse."""

    __slots__ = ()

    def _rows(self) -> Iterator[Json]:
        yield {"part": "all", **self.answer}
        yield from _slices(self.document, "delta")
        yield from _tasks(self.document)


class Score(Answered):
    """How sure a score is, of one system or of each of several."""

    __slots__ = ()

    def _rows(self) -> Iterator[Json]:
        if "systems" in self.form.answer:
            yield from (dict(system) for system in self.form.answer["systems"])
            return
        yield {"part": "all", **self.answer}
        yield from _slices(self.document, "mean")
        yield from _tasks(self.document)


class Ranking(Answered):
    """How several systems stand: a row for every one, the best first."""

    __slots__ = ()

    def _rows(self) -> Iterator[Json]:
        names = ("name", "tier", "rank", "rank_low", "rank_high", "mean", "may_be_best")
        yield from ({name: arm.get(name) for name in names} for arm in self.document["analysis"]["arms"])


def gate(baseline: Pathlike, *candidate: Pathlike, **options: Option) -> Comparison:
    """`forelock gate`: the baseline's file and the candidate's, or one that holds both.

    Example:
        `gate("old.csv", "new.csv", margin="2pp", cluster="repo")`; options are those of the command, `_` for `-`.
    """
    return Comparison.ask("gate", (baseline, *candidate), options)


def score(*paths: Pathlike, **options: Option) -> Score:
    """`forelock score`, such as `score("new.csv", at_least="95%")`."""
    return Score.ask("score", paths, options)


def rank(*paths: Pathlike, **options: Option) -> Ranking:
    """`forelock rank`: one file that holds all systems, or a file for each."""
    return Ranking.ask("rank", paths, options)


def _arguments(options: Mapping[str, Option]) -> Iterator[str]:
    for name, value in options.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            yield f"--{option}" if value else f"--no-{option}"
        elif isinstance(value, str | float | int):
            yield f"--{option}={value}"
        else:
            yield from (f"--{option}={element}" for element in value)


def _slices(document: Mapping[str, Any], estimate: Literal["delta", "mean"]) -> Iterator[Json]:
    for result in (document.get("slices") or {}).get("results", ()):
        row = {"part": result["name"], "outcome": result["outcome"], "estimate": result[estimate]}
        yield {**row, **_ends(result["ci"]), "n": result["n"]}


def _tasks(document: Mapping[str, Any]) -> Iterator[Json]:
    for task in (document.get("suite") or {}).get("tasks", ()):
        ends = _ends(task["simultaneous"])
        yield {"part": task["name"], "estimate": task["estimate"], **ends, "n": task["n"]}


def _ends(ci: object) -> Json:
    interval = cast(Mapping[str, Any], ci or {})
    return {end: interval.get(end) for end in ("low", "high", "level")}


def _text(value: object) -> str:
    return escape(plain(value))
