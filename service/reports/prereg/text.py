"""Any text as Markdown that renders as itself and reads back exactly.

Markdown's own marks are escaped, and line ends become hard breaks. What Markdown cannot carry (blanks at an
end, tabs, empty lines) stands as a JSON string in a code span.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from service.reports.quoting import pieces

_SPECIAL = re.compile(r"[\\`*\[\]$]|~~|<(?=[A-Za-z/!?])|&(?=#?\w{1,40};)|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
"""What Markdown could take for its own; `_` within a word is none of that."""
_AT_LINE_START = re.compile(r"^(?:([-+=>#|:~])|(\d{1,9})([.)]))")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_HIDDEN = {ord(letter): f"\\u{ord(letter):04x}" for letter in "`*\x85\u2028\u2029\x1c\x1d\x1e"}
"""What ends a span or a line, or begins bold in the span's own text: spelt out in JSON."""
MAX_SPANNED = 100_000
"""Longer values are plain text: nothing in a plan is as long."""
_RUN = re.compile("`+")
_SPAN = re.compile(r"(?<!\\)(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def write_item(text: str) -> str:
    """Return the text as Markdown for one list item: continuation lines are indented by four blanks."""
    lines = text.split("\n")
    if any(line != line.strip() or not line or len(line.splitlines()) != 1 for line in lines) or "\t" in text:
        return json_span(text)
    first, *others = (_SPECIAL.sub(r"\\\g<0>", line) for line in lines)
    return "\\\n    ".join((first, *(_AT_LINE_START.sub(_escape_line_start, line) for line in others)))


def paragraph(text: str) -> str:
    """The text as one line that stands alone: it begins no heading, list or table. Does not read back exactly."""
    line = " ".join(text.split())
    return _AT_LINE_START.sub(_escape_line_start, write_item(line)) if line else ""


def sentence(text: str) -> str:
    """Return a sentence of ours on one line: what it quotes between backticks is code, the rest renders as itself."""
    line = " ".join(text.split())
    return _AT_LINE_START.sub(
        _escape_line_start,
        "".join(
            code(part.strip()) if is_code and part.strip() else _SPECIAL.sub(r"\\\g<0>", part)
            for part, is_code in pieces(line)
        ),
    )


def _escape_line_start(match: re.Match[str]) -> str:
    return f"\\{match[1]}" if match[1] else f"{match[2]}\\{match[3]}"


def read(text: str) -> str:
    """Return the inverse of `write_item`; takes plain prose and code spans too."""
    text = text.strip()
    span = _SPAN.fullmatch(text) if len(text) <= MAX_SPANNED else None
    if span is None:
        return _ESCAPED.sub(r"\1", text)
    return _string(span[2].strip(" "))


def code(text: str) -> str:
    """Return a code span that reads back as the text: as it is where that is possible, else a JSON string."""
    if (
        "`" in text
        or text != text.strip()
        or len(text.splitlines()) != 1
        or text.startswith('"')
        or "\t" in text
    ):
        return json_span(text)
    return f"`{text}`"


def json_span(value: Any) -> str:
    """Return a code span with the value as JSON on one line, without any backquote or line end."""
    return f"`{json.dumps(value, ensure_ascii=False).translate(_HIDDEN)}`"


def spans(text: str) -> list[str]:
    """Return the contents of the text's code spans."""
    return [_string(span) for span in raw_spans(text)]


def raw_spans(text: str) -> list[str]:
    """Return the contents of the text's code spans as they stand there: JSON stays JSON."""
    return [
        line[start:end].strip(" ")
        for line in text[:MAX_SPANNED].split("\n")
        for start, end, _ in _spans_of(line)
    ]


def outside(text: str, most: int | None = None) -> str:
    """Return the text without its code spans, or without the first so many of them."""
    parts = []
    for line in text.split("\n"):
        at = 0
        for start, end, run in _spans_of(line[:MAX_SPANNED]):
            if most == 0:
                break
            most = None if most is None else most - 1
            parts.append(line[at : start - run])
            at = end + run
        parts.append(line[at:])
    return " ".join(parts)


def _spans_of(line: str) -> Iterator[tuple[int, int, int]]:
    """Yield where the contents of spans begin and end, and how many backquotes surround them.

    A run of backquotes opens a span that the next run of its length closes; in time that grows with the line.
    """
    runs = [match.span() for match in _RUN.finditer(line)]
    of_length: dict[int, list[int]] = {}
    for at, (start, end) in enumerate(runs):
        of_length.setdefault(end - start, []).append(at)
    at = 0
    while at < len(runs):
        start, end = runs[at]
        # A backslash takes the first backquote of a run: what opens the span is shorter by one.
        escaped = line.startswith("\\", start - 1) if start else False
        closing = of_length.get(end - start - escaped, [])
        following = bisect_right(closing, at)
        if following < len(closing):
            at = closing[following]
            yield end, runs[at][0], runs[at][1] - runs[at][0]
        at += 1


def _string(text: str) -> str:
    if text.startswith('"'):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return text
        if isinstance(value, str) and keepable(value):
            return value
    return text


def keepable(text: str) -> bool:
    """Return False for what no database keeps and only JSON can spell out: NUL, and halves of surrogate pairs."""
    return not re.search("[\0\ud800-\udfff]", text)
