"""Parts of a whole as one bar: in a terminal's characters, and as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate

from forelock.questions.pictures.drawing import COLUMNS, prints
from forelock.questions.pictures.paper import SCREEN, Paper
from forelock.text import plain

FILLS, ASCII_FILLS = "█▒░·", "#=.:"


@dataclass(frozen=True, slots=True)
class Part:
    """A count of the whole, and what it is."""

    count: int
    label: str


@dataclass(frozen=True, slots=True)
class Shares:
    """At most four parts of a whole, from left to right."""

    parts: Sequence[Part]

    @property
    def total(self) -> int:
        """The sum of all parts."""
        return sum(part.count for part in self.parts)

    def draw(self, encoding: str | None = "utf-8") -> str:
        """In characters; those of ASCII where the encoding has no others."""
        fills = FILLS if prints(encoding) else ASCII_FILLS
        ends = [round(COLUMNS * done / self.total) for done in accumulate(part.count for part in self.parts)]
        starts = [0, *ends]
        bar = "".join(fill * (end - start) for fill, start, end in zip(fills, starts, ends, strict=False))
        return "\n".join(
            [
                f"  {bar}",
                *(f"  {fill} {self._label_of(part)}" for fill, part in zip(fills, self.parts, strict=False)),
            ]
        )

    def svg(self, title: str, paper: Paper = SCREEN) -> str:
        """Return the same as a document of SVG, a line of the legend for every part."""
        left, tall = 1.7 * paper.letters, 2.0 * paper.letters
        room, done, content = paper.width - 2 * left, 0, []
        for row, (part, shade) in enumerate(zip(self.parts, paper.shades, strict=False)):
            x, wide = left + room * done / self.total, room * part.count / self.total
            y = tall + paper.letters * (1.8 + 1.5 * row)
            content += [
                f'<rect x="{x:.2f}" y="{paper.letters:.2f}" width="{wide:.2f}" height="{tall:.2f}" fill="{shade}"/>',
                f'<rect x="{left:.2f}" y="{y:.2f}" width="{paper.letters:.2f}" height="{paper.letters:.2f}" '
                f'fill="{shade}"/>',
                f'<text x="{left + 1.5 * paper.letters:.2f}" y="{y + 0.85 * paper.letters:.2f}" fill="#111827">'
                f"{escape(self._label_of(part))}</text>",
            ]
            done += part.count
        return paper.document(title, tall + paper.letters * (2 + 1.5 * len(self.parts)), "\n".join(content))

    def _label_of(self, part: Part) -> str:
        return f"{part.count} ({part.count / self.total:.0%}) {plain(part.label)}"
