"""Pictures of intervals on one scale: in a terminal's characters, and as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from forelock.text import plain

COLUMNS = 61
LINES = ("├", "─", "●", "┤", "│", "┊")
ASCII = ("[", "-", "o", "]", "|", ":")
DIAMOND, ASCII_DIAMOND = ("╞", "═", "◆", "╡"), ("<", "=", "#", ">")
_WIDTH, _ROW, _LEFT = 640, 28, 20


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

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest value on the scale, with a little room."""
        values = [
            *(end for bar in self.bars for end in (bar.low, bar.high)),
            *(bound.value for bound in self.bounds),
        ]
        pad = 0.06 * (max(values) - min(values)) or 1e-9
        return min(values) - pad, max(values) + pad

    def drawn(self, encoding: str | None = "utf-8") -> str:
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
            for at in range(column(bar.low), column(bar.high) + 1):
                cells[at] = fill if cells[at] == " " else cells[at]
            cells[column(bar.low)], cells[column(bar.high)] = first, last
            cells[column(bar.estimate)] = middle
            lines.append(f"  {''.join(cells)}  {plain(bar.label)}".rstrip())
        labels = [" "] * (COLUMNS + 24)
        taken = -1
        for bound in self.bounds:
            at = max(column(bound.value) - len(bound.label) // 2, taken + 1, 0)
            labels[at : at + len(bound.label)] = bound.label
            taken = at + len(bound.label)
        return "\n".join([*lines, f"  {''.join(labels).rstrip()}"])

    def svg(self, title: str) -> str:
        """The same as a document of SVG, its title what a reader of screens says."""
        least, most = self.ends
        labelled = max((len(bar.label) for bar in self.bars), default=0)
        room = _WIDTH - 2 * _LEFT - 7 * labelled
        height = _ROW * len(self.bars) + 2 * _ROW

        def at(value: float) -> str:
            return f"{_LEFT + (value - least) / (most - least) * room:.2f}"

        parts = []
        for bound in self.bounds:
            if bound.kind != "none":
                dash = "" if bound.kind == "zero" else ' stroke-dasharray="4 3"'
                parts.append(
                    f'<line x1="{at(bound.value)}" x2="{at(bound.value)}" y1="8" y2="{height - _ROW}" '
                    f'stroke="#6b7280"{dash}/>'
                )
            parts.append(
                f'<text x="{at(bound.value)}" y="{height - 10}" text-anchor="middle" fill="#374151">'
                f"{escape(plain(bound.label))}</text>"
            )
        for row, bar in enumerate(self.bars):
            y = _ROW * (row + 1)
            if bar.diamond:
                corners = f"{at(bar.low)},{y} {at(bar.estimate)},{y - 8} {at(bar.high)},{y} {at(bar.estimate)},{y + 8}"
                parts.append(f'<polygon points="{corners}" fill="#1d4ed8"/>')
            else:
                parts.append(
                    f'<line x1="{at(bar.low)}" x2="{at(bar.high)}" y1="{y}" y2="{y}" stroke="#1d4ed8" '
                    f'stroke-width="3"/><circle cx="{at(bar.estimate)}" cy="{y}" r="5" fill="#1d4ed8"/>'
                )
            if bar.label:
                parts.append(
                    f'<text x="{_WIDTH - _LEFT - 7 * labelled + 8}" y="{y + 4}" fill="#111827">'
                    f"{escape(plain(bar.label))}</text>"
                )
        told = escape(plain(title), quote=True)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{told}" '
            f'font-family="sans-serif" font-size="12">\n<title>{told}</title>\n'
            f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n"
        )


def prints(encoding: str | None) -> bool:
    """Whether an encoding has the characters that pictures are drawn with."""
    try:
        "".join((*LINES, *DIAMOND)).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
