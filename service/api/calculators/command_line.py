"""Questions to result files that somebody uploads: the command line's own answers, in a folder of their own."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.api.calculators.messages import begin
from service.errors import Fault, InvalidData

if TYPE_CHECKING:
    from forelock.problem import ForelockProblem

SECONDS = 60.0
"""Seconds that an answer may take; readers go through the files several times to refuse one with a way out."""
TABLE = "table"
"""What faults call a table that was written or uploaded."""
_NAME_BYTES = 200
"""Bytes of a file's name; file systems take 255."""
_REFUSED = re.compile(r"argument --([\w-]+): (.*)", re.DOTALL)
"""What argparse says of an option's value."""
_UNSAFE = re.compile(r"[^\w .+=@-]|^[-.]")


PHONE, DESK = 340, 820
"""Widths of a picture on a phone and on a desk, in pixels; a desk stretches it to the width of its page."""
DESK_LETTERS = 13


@dataclass(frozen=True, slots=True)
class QuestionAnswer:
    """The answer to a question, part by part, as `forelock.questions.forms.form.Form` has it."""

    headline: str
    open: str
    """What was not shown."""
    svg: str | None = field(repr=False)
    narrow: str | None = field(repr=False)
    """The picture once more, as narrow as a phone: letters of the wide one would be too small there."""
    numbers: Sequence[tuple[str, str]] = field(repr=False)
    groups: Sequence[tuple[str, Sequence[tuple[str, str]]]] = field(repr=False)
    """Further numbers under a heading; a heading without numbers is a sentence."""
    done: Sequence[str] = field(repr=False)
    remarks: Sequence[str] = field(repr=False)
    """How the files were read, in English."""
    cautions: Sequence[Mapping[str, Any]] = field(repr=False)
    next: str
    status: str
    text: str = field(repr=False)
    """The whole answer as JSON."""


def make_file_names(sent: Sequence[str]) -> list[str]:
    """Make names for uploaded files: as their owner calls them, but no path, no option, and no two alike."""
    names: list[str] = []
    for name in sent:
        base = name.replace("\\", "/").rpartition("/")[2]
        short = _UNSAFE.sub("_", base).encode()[-_NAME_BYTES:].decode(errors="ignore").strip()
        names.append(_make_unique(names, _UNSAFE.sub("_", short) or "file"))
    return names


def _make_unique(names: Sequence[str], name: str) -> str:
    """Return the name, with a number before it where another file has it."""
    numbered = (f"{number}-{name}" for number in itertools.count(len(names)))
    return name if name not in names else next(other for other in numbered if other not in names)


def ask(
    body: bytes, arguments: Sequence[str], names: Sequence[str], sizes: Sequence[int], scratch: str
) -> QuestionAnswer:
    """Answer `forelock ARGUMENTS` in a folder that holds the files under these names.

    Args:
        body: the files, one after the other.
        arguments: a question, its options, and names of the files.
        names: what `file_names` gives.
        sizes: bytes of every file.
        scratch: where a folder may be made for as long as this takes.

    Raises:
        InvalidData: what the command would say: the files or the options are refused, with the way out.
    """
    begin(SECONDS)
    with _enter_folder(scratch) as folder, contextlib.redirect_stdout(io.StringIO()), _translate_refusals():
        start = 0
        for name, size in zip(names, sizes, strict=True):
            (folder / name).write_bytes(body[start : start + size])
            start += size
        complaints = io.StringIO()
        try:
            with contextlib.redirect_stderr(complaints):
                return _answer(arguments)
        except SystemExit:
            raise _parse_complaint(
                complaints.getvalue().strip().rpartition("error: ")[2], arguments[0]
            ) from None


@dataclass(frozen=True, slots=True)
class RankingRequest:
    """A table's systems as the request of a leaderboard, and what its reading decided by itself."""

    request: str = field(repr=False)
    remarks: Sequence[str] = field(repr=False)


def read_table(body: bytes, scratch: str) -> RankingRequest:
    """Read the systems of one table, as `forelock rank` does, into the request of a leaderboard.

    Args:
        body: CSV, JSON lines, a JSON array of rows or an object of columns.
        scratch: where a folder may be made for as long as this takes.

    Raises:
        InvalidData: what the table lacks, with what to write into it.
    """
    from forelock.local import Local
    from forelock.problem import FileFault
    from forelock.questions.rank import read_systems, request_of
    from forelock.questions.tables.choices import Choices

    def offer_nothing(_request: object) -> None:
        raise FileFault("the page of one table has no options")

    begin(SECONDS)
    form = "ndjson" if body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[") else "csv"
    with _enter_folder(scratch) as folder, _translate_refusals():
        (folder / TABLE).write_bytes(body)
        reading = read_systems(Local(), [TABLE], Choices(form=form), offer_nothing)
        return RankingRequest(json.dumps(request_of(reading)), list(reading.remarks))


@contextlib.contextmanager
def _translate_refusals() -> Iterator[None]:
    """Raise the client's refusals as errors of the service."""
    from forelock.problem import ForelockError, ForelockProblem

    try:
        yield
    except ForelockProblem as problem:
        raise _translate_problem(problem) from None
    except ForelockError as fault:
        raise InvalidData(str(fault)) from None


def _translate_problem(problem: ForelockProblem) -> InvalidData:
    """Translate a problem of the client, with its code and fields.

    A single field that only repeats the sentence is left out, and its way out goes into the sentence.
    """
    (first, *others), detail = problem.errors or (None,), problem.detail
    if first is not None and not others and detail == first.sentence:
        return InvalidData(f"{detail}; {first.fix}" if first.fix else detail, code=problem.code)
    faults = [Fault(fault.path, fault.message, fault.fix) for fault in problem.errors]
    return InvalidData(detail, faults, code=problem.code)


def _parse_complaint(complaint: str, question: str) -> InvalidData:
    """Translate what argparse complains of into a problem of the option that it names."""
    named = _REFUSED.fullmatch(complaint)
    if named is None:
        return InvalidData(complaint or "cannot be read")
    return InvalidData.field(named[1], named[2], f"forelock {question} --help says what it takes")


def _answer(arguments: Sequence[str]) -> QuestionAnswer:
    """Answer a question as the command line does, and split its form into what a page shows."""
    from forelock import cli
    from forelock.questions.pictures.paper import Paper
    from forelock.text import json_text

    form, document, remarks = cli.ask(arguments)[0]
    return QuestionAnswer(
        headline=form.headline,
        open=form.open,
        svg=None
        if form.picture is None
        else form.picture.svg(form.headline, Paper(width=DESK, letters=DESK_LETTERS)),
        narrow=None if form.picture is None else form.picture.svg(form.headline, Paper(width=PHONE)),
        numbers=[*form.numbers, *form.parts],
        groups=[(group.heading, list(group.rows)) for group in form.more],
        done=[line for line in (form.sentence, *form.done) if line],
        remarks=list(remarks),
        cautions=[dict(caution) for caution in form.cautions],
        next=form.next,
        status=form.status,
        text=json_text(document),
    )


@contextlib.contextmanager
def _enter_folder(scratch: str) -> Iterator[Path]:
    """Make a folder the current one for as long as the block lasts, so that files go by their names alone.

    The current folder belongs to the whole process: a calculator serves one call at a time.
    """
    before = os.open(".", os.O_RDONLY)
    try:
        Path(scratch).mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            os.chdir(folder)
            try:
                yield Path(folder)
            finally:
                os.fchdir(before)
    finally:
        os.close(before)
