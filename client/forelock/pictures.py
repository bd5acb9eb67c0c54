"""Pictures for a terminal: a forest plot of intervals, in box characters or in plain ASCII."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from forelock.text import plain

Json = Mapping[str, Any]

MOST_LABEL, MOST_ROWS = 28, 40
_BOXES = {
    "low": "├",
    "high": "┤",
    "line": "─",
    "cross": "┼",
    "point": "●",
    "zero": "│",
    "edge": "┊",
    "left": "◄",
    "right": "►",
}
_ASCII = {
    "low": "[",
    "high": "]",
    "line": "-",
    "cross": "+",
    "point": "o",
    "zero": "|",
    "edge": ":",
    "left": "<",
    "right": ">",
}


@dataclass(frozen=True, slots=True)
class Row:
    """An estimate with its interval; an end that is None is open."""

    label: str
    delta: float
    low: float | None
    high: float | None
    level: float | None = None
    """Of the interval: told where others have another."""


def forest(
    rows: Sequence[Row],
    *,
    sesoi: float | None = None,
    points: bool = False,
    width: int = 100,
    ascii: bool = False,
) -> str:
    """Return every interval on one axis, against 0 and, where there is one, the smallest effect of interest.

    Args:
        points: values are proportions, told in percentage points.
        width: columns of the terminal; less than 60 are taken for 60.
        ascii: draw with ASCII characters alone.

    Example:
        A row from -1 to 3 around 1 crosses the line at 0; its dot stands half way between its ends.
    """
    drawn = [row for row in rows[:MOST_ROWS] if all(map(_finite, (row.delta, row.low, row.high)))]
    if not drawn:
        return ""
    marks = _ASCII if ascii else _BOXES
    several = len({row.level for row in drawn}) > 1
    labels_beside = [
        _format_row(row, points=points, ascii=ascii) + (_level(row) if several else "") for row in drawn
    ]
    labels = [_cut(plain(row.label), ascii=ascii) for row in drawn]
    name = max(map(_columns, labels))
    room = max(20, max(60, width) - name - max(map(len, labels_beside)) - 6)
    low, high = _ends(drawn, sesoi)

    def at(value: float) -> int:
        return min(room - 1, max(0, round((value - low) / (high - low) * (room - 1))))

    lines = []
    for row, label, number in zip(drawn, labels, labels_beside, strict=True):
        cells = [" "] * room
        if sesoi is not None:
            cells[at(-sesoi)] = cells[at(sesoi)] = marks["edge"]
        cells[at(0.0)] = marks["zero"]
        first = 0 if row.low is None else at(row.low)
        last = room - 1 if row.high is None else at(row.high)
        for place in range(first, last + 1):
            # 0 and the SESOI stay to be seen on the intervals that hold them
            cells[place] = marks["line"] if cells[place] == " " else marks["cross"]
        cells[first] = marks["left" if row.low is None else "low"]
        cells[last] = marks["right" if row.high is None else "high"]
        cells[at(row.delta)] = marks["point"]
        lines.append(f"  {label}{' ' * (name - _columns(label))}  {''.join(cells)}  {number}".rstrip())
    lines.append(f"  {' ' * name}  {_axis(room, at, sesoi, points=points, ascii=ascii)}".rstrip())
    return "\n".join(lines)


def of_verdict(verdict: Json, plan: Json | None = None, *, width: int = 100, ascii: bool = False) -> str:
    """Return the forest plots of a verdict, one per endpoint; with the plan, in its unit and against its SESOI."""
    rows_by_axis: dict[str, list[Row]] = {}
    for hypothesis in verdict.get("hypotheses") or ():
        rows_by_axis.setdefault(hypothesis.get("endpoint") or "", []).extend(_make_rows(hypothesis))
    kinds = {measured["id"]: measured.get("kind") for measured in (plan or {}).get("endpoints") or ()}
    pictures = []
    for endpoint, rows in rows_by_axis.items():
        margin = ((plan or {}).get("sesoi") or {}).get(endpoint)
        drawn = forest(
            rows,
            sesoi=None if margin is None else margin["value"] / (100 if margin["unit"] == "pp" else 1),
            points=kinds.get(endpoint) == "binary",
            width=width,
            ascii=ascii,
        )
        pictures += [f"{plain(endpoint)}\n{drawn}" if len(rows_by_axis) > 1 else drawn] if drawn else []
    return "\n\n".join(pictures)


def signs(*, ascii: bool) -> dict[str, str]:
    """Return the characters of a forest by what they are."""
    return dict(_ASCII if ascii else _BOXES)


def boxes_fit(stream: TextIO) -> bool:
    """Tell whether a stream's encoding has the box characters."""
    try:
        "".join(_BOXES.values()).encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _make_rows(hypothesis: Json) -> Iterator[Row]:
    """Yield a row for each analysis of a hypothesis that has a difference and an interval with an end."""
    for name, answer in (hypothesis.get("analyses") or {}).items():
        analysis = (answer or {}).get("analysis") or {}
        ci, delta = analysis.get("ci"), analysis.get("delta")
        if not isinstance(ci, Mapping):
            continue
        ends = ci.get("low"), ci.get("high")
        if isinstance(delta, int | float) and ends != (None, None):
            level = ci.get("level")
            known = level if isinstance(level, int | float) else None
            yield Row(f"{hypothesis.get('id')} {name}", delta, *ends, known)


def _finite(value: float | None) -> bool:
    return value is None or math.isfinite(value)


def _ends(rows: Sequence[Row], sesoi: float | None) -> tuple[float, float]:
    known = [0.0, *(end for row in rows for end in (row.low, row.delta, row.high) if end is not None)]
    known += [] if sesoi is None else [sesoi, -sesoi]
    low, high = min(known), max(known)
    if high <= low:
        return low - 1.0, high + 1.0
    room = 0.05 * (high - low)
    return low - room, high + room


def _format_row(row: Row, *, points: bool, ascii: bool) -> str:
    ends = ("-inf" if ascii else "−∞") if row.low is None else _number(row.low, points)
    return f"{_number(row.delta, points)} [{ends}, {_high(row.high, points, ascii)}]{' pp' if points else ''}"


def _level(row: Row) -> str:
    return "" if row.level is None else f", {100 * row.level:g}%"


def _high(value: float | None, points: bool, ascii: bool) -> str:
    return ("inf" if ascii else "∞") if value is None else _number(value, points)


def _number(value: float, points: bool) -> str:
    return f"{100 * value:+.2f}" if points else f"{value:+.3g}"


def _axis(room: int, at: Any, sesoi: float | None, *, points: bool, ascii: bool) -> str:
    """Return what the upright lines are: 0, and the SESOI on both sides of it where there is room for its word."""
    cells = [" "] * room
    cells[at(0.0)] = "0"
    if sesoi is not None:
        word = f"{'+/-' if ascii else '±'}{_number(abs(sesoi), points).lstrip('+')} SESOI"
        start = min(at(abs(sesoi)), room - len(word))
        place = range(max(0, start - 1), min(room, start + len(word) + 1))
        if start >= 0 and all(cells[cell] == " " for cell in place):
            cells[start : start + len(word)] = word
    return "".join(cells)


def _cut(label: str, *, ascii: bool) -> str:
    label = "".join(letter if not ascii or letter.isascii() else "?" for letter in label)
    while _columns(label) > MOST_LABEL:
        label = label[:-1]
    return label


def _columns(text: str) -> int:
    """Columns of a terminal that a text takes: two of a wide character."""
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )
