"""What a harness declares beside the reader of its files: the command, the survey and the docs follow from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from service.domain.plans.importing.mapping import Readable
from service.ingest.documents.files import Files
from service.ingest.harnesses.samples import Reader

Opener = Callable[[Files, str, Readable | None], Reader]
"""Opens files as a format; the mapping, where there is one, may decide what is read of them at all."""


@dataclass(frozen=True, slots=True)
class Undecided:
    """Something of a sample that the plan has to decide about where it says nothing."""

    message: str
    """What such samples have or are, for a refusal that counts them."""
    fix: str
    """The line to write."""
    choice: str | None = None
    """What a section to paste says, so that it can be applied: its author looks at it. None: nothing."""


@dataclass(frozen=True, slots=True)
class Row:
    """The line of a harness in the table of docs/imports.md, as Markdown."""

    title: str
    reads: str
    by_itself: str
    to_say: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Harness:
    """One harness, or one kind of table. Its mapping is `domain.plans.imports.FORMATS`, since a plan locks it."""

    formats: tuple[str, ...]
    """The names that plans give it."""
    open: Opener
    row: Row
    undecided: Mapping[str, Undecided] = field(default_factory=dict)
    """By event, in the order in which a section to paste decides about them."""

    # How `forelock import` knows its files; without a service, so that it is written into the client.
    together: bool = False
    """One run is several files."""
    wanted: tuple[str, ...] = ()
    """Names of the files that are read, where folders hold many others; none: all are."""
    names: tuple[str, ...] = ()
    """Patterns of names that no other harness writes: one such file tells what all are."""
    suffixes: Mapping[str, str] = field(default_factory=dict)
    """Endings of names, in small letters with their dot, and the format they tell."""
    header: str | None = None
    """A column that the first line of its CSV has."""
    marks: tuple[str, ...] = ()
    """What the beginning of its JSON holds."""
    doubt: int = 0
    """Marks of harnesses with a smaller number are looked for first: they are the surer ones."""

    # What tells whether two results are of the same items.
    content: tuple[str, ...] = ()
    """Places of an item's input and of its target; of places with `|` between them the first that is there."""

    # What a survey leaves aside.
    beside: frozenset[str] = frozenset()
    """Members that it writes of the run and its outcome beside every sample: nothing that items share."""
    row_id: str | None = None
    """The member that it draws anew for every result: it tells no item."""
    arms: tuple[str, ...] = ()
    """Places in samples that tell arms, those that people read first."""


FAILED_GRADER = Undecided(
    "have a grader that failed", 'write "grader_failed": "error", "missing" or "score"', "error"
)
SCORED_ERROR = Undecided("have an error and a score", 'write "error": "error", "missing" or "score"', "error")
