"""The one form of an answer: a headline, a picture, numbers, what was done, cautions, what next; and as JSON."""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypedDict

from forelock import files
from forelock.local import set_picture
from forelock.numerals import prints_powers, raise_powers
from forelock.printing import show
from forelock.problem import FileFault
from forelock.questions.options import paper_of
from forelock.questions.pictures.paper import SCREEN, Paper
from forelock.questions.tables.table import Reading
from forelock.server_package import translator_of
from forelock.text import hanging, plain
from forelock.words import ENGLISH, Say, pad, say_of

Json = Mapping[str, Any]
EXPLORATORY = "exploratory: no plan was locked before these data"
_KEY = 12
_INDENT = " " * (_KEY + 2)


class Drawn(Protocol):
    """A picture, whatever it shows."""

    def draw(self, encoding: str | None = "utf-8") -> str:
        """In characters that an encoding has."""

    def svg(self, title: str, paper: Paper = SCREEN) -> str:
        """As a document of SVG."""


@dataclass(frozen=True, slots=True)
class Group:
    """Numbers under a heading of their own; a sentence alone where there are none."""

    heading: str
    rows: Sequence[tuple[str, str]] = ()
    """Names and values."""
    width: int = 40
    """Columns of a terminal that names take."""
    gap: str = " "
    """Between a name and its value there."""
    apart: bool = False
    """A line is left free above it, unless it is the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What a question's answer says, part by part."""

    question: str
    """The command that asks it."""
    headline: str
    """The outcome, what it is of by name, and the number with its interval, in a line."""
    mark: str
    """A sign of the outcome, for a comment."""
    answer: Json
    """The headline for programs: `outcome` and what goes with it, the same members for every question that has them."""
    open: str = ""
    """What was not shown; empty: nothing is left to say."""
    sentence: str = ""
    """The same with all that goes with it; empty: the headline is all."""
    picture: Drawn | None = None
    numbers: Sequence[tuple[str, str]] = ()
    """Names of up to eleven letters, and values."""
    parts: Sequence[tuple[str, str]] = ()
    """The same of slices, tasks, systems or items."""
    done: Sequence[str] = ()
    """How it was computed."""
    cautions: Sequence[Json] = ()
    """`code` and `message` of each."""
    next: str = ""
    status: str = EXPLORATORY
    more: Sequence[Group] = field(default=())
    """What stands below the numbers, each with numbers of its own."""
    folded: Sequence[tuple[str, Sequence[str]]] = ()
    """Lists that a comment folds, each with its summary."""


class LeadLines(TypedDict):
    """What an answer begins with, under the names that a form has for it."""

    headline: str
    open: str
    sentence: str


def lead_lines(answer: Json) -> LeadLines:
    """Headline, what was not shown, and the long sentence; of a service of an earlier version the sentence alone."""
    if answer.get("headline"):
        return {
            "headline": answer["headline"],
            "open": answer.get("open") or "",
            "sentence": answer["sentence"],
        }
    return {"headline": answer["sentence"], "open": answer.get("open") or "", "sentence": ""}


def as_text(
    form: Form,
    remarks: Sequence[str] = (),
    *,
    encoding: str | None = "utf-8",
    explain: bool = True,
    say: Say = ENGLISH,
) -> str:
    """The answer for a terminal; lines are drawn in ASCII where the encoding has no others.

    Without `explain` the long sentence and how it was computed are left out.
    """
    form = _raise_powers(form) if prints_powers(encoding) else form
    blocks = ["\n".join(hanging(plain(line), "") for line in (form.headline, form.open) if line)]
    if form.picture is not None:
        blocks.append(form.picture.draw(encoding))
    blocks.append("\n".join(_line(say.name(name), value) for name, value in form.numbers))
    blocks.append("\n".join(_more_lines(form)))
    blocks.append("\n".join(f"  {say.name(name)} {value}" for name, value in form.parts))
    explained = [("in words", form.sentence), *(("rule", entry) for entry in form.done)] if explain else []
    done = [_line(say.name(name), plain(line)) for name, line in explained if line]
    blocks.append("\n".join([*done, *(hanging(plain(remark), say("note")) for remark in remarks)]))
    blocks.append(
        "\n".join(
            hanging(say("caution", code=entry["code"]) + plain(entry["message"]), "")
            for entry in form.cautions
        )
    )
    blocks.append((hanging(plain(form.next), say("next")) + "\n" if form.next else "") + plain(form.status))
    return "\n\n".join(block for block in blocks if block)


def _raise_powers(form: Form) -> Form:
    """The form with the very small numbers of its sentences as powers of ten; what programs read keeps its own."""

    def values(rows: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        return [(name, raise_powers(value)) for name, value in rows]

    return replace(
        form,
        headline=raise_powers(form.headline),
        open=raise_powers(form.open),
        sentence=raise_powers(form.sentence),
        numbers=values(form.numbers),
        parts=values(form.parts),
        done=[raise_powers(line) for line in form.done],
        cautions=[{**entry, "message": raise_powers(entry["message"])} for entry in form.cautions],
        next=raise_powers(form.next),
        more=[replace(group, rows=values(group.rows)) for group in form.more],
        folded=[(summary, [raise_powers(line) for line in lines]) for summary, lines in form.folded],
    )


def _more_lines(form: Form) -> Iterator[str]:
    for at, group in enumerate(form.more):
        if group.apart and at:
            yield ""
        yield f"  {group.heading}"
        for name, value in group.rows:
            yield f"    {pad(name, group.width)}{group.gap}{value}".rstrip()


def _line(name: str, value: str) -> str:
    return hanging(value, f"  {pad(name, _KEY)}", _INDENT)


def as_markdown(form: Form, remarks: Sequence[str] = (), say: Say = ENGLISH) -> str:
    """The same as a comment on a pull request; the long sentence and how it was done are folded."""
    form = _raise_powers(form)
    lines = [f"### {form.mark} {escape(form.headline)}", ""]
    lines += [escape(form.open), ""] if form.open else []
    lines += ["| | |", "|---|---|"]
    lines += [f"| {say.name(name)} | {escape(value)} |" for name, value in (*form.numbers, *form.parts)]
    if form.more and not form.folded:
        lines += ["", "```", *(plain(line) for line in _more_lines(form)), "```"]
    warned = [
        "- " + say("caution", code=escape(entry["code"])) + escape(entry["message"])
        for entry in form.cautions
    ]
    lines += ["", *warned] if warned else []
    lines += ["", say("to_come") + escape(form.next)] if form.next else []
    done = [form.sentence, *form.done, *remarks]
    for summary, listed in (*form.folded, (say("what_was_done"), done)):
        items = [f"- {escape(entry)}" for entry in listed if entry]
        if items:
            lines += ["", f"<details><summary>{summary}</summary>", "", *items, "", "</details>"]
    closing = escape(form.status) + say("stop")
    lines += ["", f"<sub>{closing}</sub>"]
    return "\n".join(lines).rstrip() + "\n"


def envelope(form: Form, document: Json, reading: Reading | None) -> Json:
    """The service's answer with the members that every question has, and how the files were read.

    Its own members stay where they are; `provenance` keeps what the service says there.
    """
    provenance = dict(document.get("provenance") or {})
    if reading is not None:
        provenance |= {"files": list(_files(reading)), "remarks": list(reading.remarks)}
        provenance |= {"comparable": dict(reading.comparable)} if reading.comparable else {}
    document_sent: dict[str, Any] = {**document}
    document_sent |= {"question": form.question, "headline": form.headline, "open": form.open}
    document_sent |= {"sentence": form.sentence or form.headline, "answer": dict(form.answer)}
    document_sent |= {
        "cautions": [dict(caution) for caution in form.cautions],
        "next": form.next,
        "provenance": provenance,
    }
    if reading is not None:
        document_sent["read"] = reading.read
    return document_sent


def _files(reading: Reading) -> Iterator[Json]:
    """Every file with what wrote it and its digest."""
    for piece in reading.opened.pieces:
        for path in piece.one.paths:
            try:
                with path.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as error:
                raise FileFault(f"{path}: {error.strerror or 'cannot be read'}") from error
            yield {"path": str(path), "format": piece.form, "sha256": digest}


def show_answer(
    options: argparse.Namespace,
    form: Form,
    document: Json,
    reading: Reading | None = None,
) -> None:
    """Print an answer as the options say, and write the files that they name.

    Where the options have a list `answers`, it takes the form, its JSON and the remarks in the place of the terminal.
    """
    remarks, say = () if reading is None else reading.remarks, say_of(options)
    if (answers := getattr(options, "answers", None)) is not None:
        named = replace(form, numbers=_name_lines(form.numbers, say), parts=_name_lines(form.parts, say))
        answers.append((named, envelope(form, document, reading), remarks))
        return
    remarks = [*map(translator_of(say.language), remarks)]
    ascii_only = getattr(options, "ascii", False)
    encoding = "ascii" if ascii_only else getattr(sys.stdout, "encoding", None)
    written = envelope(form, document, reading) if options.json else {}
    show(
        options,
        written,
        as_text(form, remarks, encoding=encoding, explain=getattr(options, "explain", False), say=say),
    )
    if getattr(options, "markdown", None) is not None:
        files.write_bytes(options.markdown, as_markdown(form, remarks, say).encode())
    write_pictures(options, form)


def write_pictures(options: argparse.Namespace, form: Form) -> None:
    """Write the picture into the files that the options name, each in its own form.

    Raises:
        FileFault: there is nothing to draw, or this installation draws no PDF and no PNG.
    """
    paper = paper_of(options)
    for kind in ("svg", "pdf", "png"):
        path = getattr(options, kind, None)
        if path is None:
            continue
        if form.picture is None:
            raise FileFault(f"{path}: is not written: this answer has no interval to draw")
        drawn = form.picture.svg(form.headline, paper if kind == "svg" else paper.set_in_mm())
        files.write_bytes(path, drawn.encode() if kind == "svg" else set_picture(drawn, kind, path))


def _name_lines(lines: Sequence[tuple[str, str]], say: Say) -> list[tuple[str, str]]:
    """Lines of numbers by what they are called."""
    return [(say.name(name), value) for name, value in lines]


def escape(text: object) -> str:
    """Text that is no Markdown: names of files and items are not ours."""
    plain_text = plain(text)
    for mark in "\\`*_[]<>|#@":
        plain_text = plain_text.replace(mark, f"\\{mark}")
    return plain_text
