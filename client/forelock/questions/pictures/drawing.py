"""Pictures of intervals on one scale: in a terminal's characters, and as SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from forelock.numerals import set_minus
from forelock.questions.pictures.paper import SCREEN, Paper
from forelock.text import plain

COLUMNS = 61
LINES = ("├", "─", "●", "┤", "│", "┊")
ASCII = ("[", "-", "o", "]", "|", ":")
DIAMOND, ASCII_DIAMOND = ("╞", "═", "◆", "╡"), ("<", "=", "#", ">")


@dataclass(frozen=True, slots=True)
class Bound:
    """A value that intervals are seen against."""

    value: float
    label: str
    kind: str = "edge"
    """`zero`, `edge` or `none`, of which the last is a label alone."""


@dataclass(frozen=True, slots=True)
class Bar:
    """An estimate with its interval, and what it is."""

    low: float
    estimate: float
    high: float
    label: str = ""
    diamond: bool = False
    """What the others together give: drawn as a diamond."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Intervals from above to below, among values in ascending order."""

    bars: Sequence[Bar]
    bounds: Sequence[Bound]
    amount: Callable[[float], str] | None = None
    """Says a value, for the scale of a picture in a paper."""

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest value on the scale, with a little room."""
        values = [
            *(end for bar in self.bars for end in (bar.low, bar.high)),
            *(bound.value for bound in self.bounds),
        ]
        # Where all values are one, a scale without length would have no columns to place them in.
        pad = 0.06 * (max(values) - min(values)) or 1e-9
        return min(values) - pad, max(values) + pad

    def draw(self, encoding: str | None = "utf-8") -> str:
        """In characters; those of ASCII where the encoding has no others."""
        start, line, dot, end, zero, edge = LINES if prints(encoding) else ASCII
        diamond = DIAMOND if prints(encoding) else ASCII_DIAMOND
        marks = {"zero": zero, "edge": edge, "none": " "}
        least, most = self.ends

        def column(value: float) -> int:
            return round((value - least) / (most - least) * (COLUMNS - 1))

        lines = []
        for bar in self.bars:
            cells = [" "] * COLUMNS
            for bound in self.bounds:
                cells[column(bound.value)] = marks[bound.kind]
            first, fill, middle, last = (start, line, dot, end) if not bar.diamond else diamond
            # A bound shows through the line, and the ends and the dot stand before it.
            for at in range(column(bar.low), column(bar.high) + 1):
                cells[at] = fill if cells[at] == " " else cells[at]
            cells[column(bar.low)], cells[column(bar.high)] = first, last
            cells[column(bar.estimate)] = middle
            lines.append(f"  {''.join(cells)}  {plain(bar.label)}".rstrip())
        # Labels stand below their bounds, each moved right where it would run into the one before.
        labels = [" "] * (COLUMNS + 24)
        taken = -1
        for bound in self.bounds:
            at = max(column(bound.value) - len(bound.label) // 2, taken + 1, 0)
            labels[at : at + len(bound.label)] = bound.label
            taken = at + len(bound.label)
        return "\n".join([*lines, f"  {''.join(labels).rstrip()}"])

    def svg(self, title: str, paper: Paper = SCREEN) -> str:
        """The same as a document of SVG."""
        least, most = self.ends
        left, row_height = 1.7 * paper.letters, 2.3 * paper.letters
        names = [paper.shorten(bar.label, 0.48 * paper.width) for bar in self.bars]
        labelled = max((paper.room_of(name) for name in names), default=0.0)
        room = paper.width - 2 * left - labelled
        floor = row_height * (len(self.bars) + 0.6)

        def at(value: float) -> float:
            return left + (value - least) / (most - least) * room

        parts, height = (
            [
                _stroke(at(limit.value), floor, limit.kind, paper)
                for limit in self.bounds
                if limit.kind != "none"
            ],
            floor,
        )
        ticks = _ticks(least, most) if paper.mm is not None and self.amount is not None else []
        near = 1e-6 * (most - least)
        named = [limit for limit in self.bounds if not any(abs(limit.value - tick) < near for tick in ticks)]
        for bound, line in zip(named, _lines_of(named, at, paper), strict=True):
            y = floor + paper.letters * (1.2 + 1.2 * line)
            height = max(height, y)
            parts.append(
                f'<text x="{at(bound.value):.2f}" y="{y:.2f}" text-anchor="middle" fill="#374151">'
                f"{escape(set_minus(plain(bound.label)))}</text>"
            )
        if self.amount is not None and ticks:
            height += 2 * paper.letters
            parts += _scale(ticks, self.amount, at, height - 0.4 * paper.letters, paper)
        for row, (bar, name) in enumerate(zip(self.bars, names, strict=True)):
            y = row_height * (row + 1)
            parts.append(_bar(at(bar.low), at(bar.estimate), at(bar.high), y, paper, diamond=bar.diamond))
            if name:
                x, baseline = paper.width - left - labelled + 8, y + paper.letters / 3
                parts.append(f'<text x="{x:.2f}" y="{baseline:.2f}" fill="#111827">{escape(name)}</text>')
        return paper.document(title, height + 0.6 * paper.letters, "\n".join(parts))


def _lines_of(bounds: Sequence[Bound], at: Callable[[float], float], paper: Paper) -> list[int]:
    """The line that each label stands in: the first where it does not run into the one before."""
    ends: list[float] = []
    lines = []
    for bound in bounds:
        half = paper.room_of(bound.label) / 2 + paper.letters / 3
        start, stop = at(bound.value) - half, at(bound.value) + half
        line = next((line for line, end in enumerate(ends) if end <= start), len(ends))
        ends[line : line + 1] = [stop]
        lines.append(line)
    return lines


def _stroke(x: float, floor: float, kind: str, paper: Paper) -> str:
    """The line of a bound, from above to below."""
    dash = "" if kind == "zero" else ' stroke-dasharray="4 3"'
    return f'<line x1="{x:.2f}" x2="{x:.2f}" y1="8" y2="{floor:.2f}" stroke="{paper.soft}"{dash}/>'


def _ticks(least: float, most: float) -> list[float]:
    """Three to six round values on a scale."""
    rough = (most - least) / 4
    size = 10.0 ** math.floor(math.log10(rough))
    step = size * next(round_one for round_one in (1, 2, 2.5, 5, 10) if size * round_one >= rough)
    first = math.ceil(least / step)
    return [step * tick for tick in range(first, math.floor(most / step) + 1)]


def _scale(
    ticks: Sequence[float],
    amount: Callable[[float], str],
    at: Callable[[float], float],
    y: float,
    paper: Paper,
) -> list[str]:
    """The numbers of a scale, as many as stand apart, with a stroke above each."""
    top, parts, taken = y - 1.1 * paper.letters, [], -math.inf
    parts.append(
        f'<line x1="{at(ticks[0]):.2f}" x2="{at(ticks[-1]):.2f}" y1="{top:.2f}" y2="{top:.2f}" stroke="{paper.soft}"/>'
    )
    for tick in ticks:
        x, label = at(tick), amount(tick)
        parts.append(
            f'<line x1="{x:.2f}" x2="{x:.2f}" y1="{top:.2f}" y2="{top + 3:.2f}" stroke="{paper.soft}"/>'
        )
        if x - paper.room_of(label) / 2 > taken:
            taken = x + paper.room_of(label) / 2 + 4
            parts.append(
                f'<text x="{x:.2f}" y="{y:.2f}" text-anchor="middle" fill="{paper.soft}">'
                f"{escape(set_minus(label))}</text>"
            )
    return parts


def _bar(low: float, middle: float, high: float, y: float, paper: Paper, *, diamond: bool) -> str:
    if diamond:
        corners = f"{low:.2f},{y:.2f} {middle:.2f},{y - 8:.2f} {high:.2f},{y:.2f} {middle:.2f},{y + 8:.2f}"
        return f'<polygon points="{corners}" fill="{paper.accent}"/>'
    thick, dot = paper.letters / 4, 0.4 * paper.letters
    return (
        f'<line x1="{low:.2f}" x2="{high:.2f}" y1="{y:.2f}" y2="{y:.2f}" stroke="{paper.accent}" '
        f'stroke-width="{thick:.2f}"/><circle cx="{middle:.2f}" cy="{y:.2f}" r="{dot:.2f}" fill="{paper.accent}"/>'
    )


def prints(encoding: str | None) -> bool:
    """Whether an encoding has the characters that pictures are drawn with."""
    try:
        "".join((*LINES, *DIAMOND)).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
