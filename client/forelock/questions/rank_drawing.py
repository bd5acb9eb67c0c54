"""Ranks that are left open, as a picture: a row for every system, tier by tier; in characters and as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from forelock.questions.drawing import ASCII, LINES, prints
from forelock.text import plain

COLUMNS = 36
"""Of the scale of ranks in a terminal."""
NAME = 34
"""Letters of a name in a terminal, of which longer ones lose their middle."""
_ROW, _TOP, _SCALE, _LETTER = 18, 34, 300, 6.6
_SHADES = ("#ffffff", "#f3f4f6")


@dataclass(frozen=True, slots=True)
class Place:
    """One system: its tier, the ranks that are left open with the one in its place, and what is told beside it."""

    name: str
    tier: int
    low: int
    rank: int
    high: int
    mean: str
    letters: str = ""
    """Systems that share one are not told apart; empty where letters are too many."""

    @property
    def ranks(self) -> str:
        """The ranks in words."""
        return f"{self.low}" if self.low == self.high else f"{self.low}-{self.high}"


@dataclass(frozen=True, slots=True)
class Ladder:
    """Systems in order, the best first; those of one tier stand together."""

    places: Sequence[Place]

    def tiers(self) -> list[tuple[int, list[Place]]]:
        """The systems by tier, in their order."""
        return [
            (tier, list(places))
            for tier, places in groupby(
                sorted(self.places, key=lambda place: place.tier), lambda each: each.tier
            )
        ]

    def drawn(self, encoding: str | None = "utf-8") -> str:
        """In characters; those of ASCII where the encoding has no others."""
        start, line, dot, end, _, edge = LINES if prints(encoding) else ASCII
        most = len(self.places)
        columns = min(COLUMNS, 2 * most - 1)
        name = max(len(_short(place.name)) for place in self.places)
        mean = max(4, *(len(place.mean) for place in self.places))
        letters = max(len(place.letters) for place in self.places)

        def column(rank: int) -> int:
            return round((rank - 1) / max(most - 1, 1) * (columns - 1))

        scale = f"1{most:>{max(columns - 1, 1)}}"
        lines = [f"  tier  {'system':<{name}}  {'mean':>{mean}}  {scale}  ranks"]
        lines[0] += "  not apart" if letters else ""
        for tier, places in self.tiers():
            for at, place in enumerate(places):
                cells = [" "] * columns
                for cell in range(column(place.low), column(place.high) + 1):
                    cells[cell] = line
                if place.low < place.high:
                    cells[column(place.low)], cells[column(place.high)] = start, end
                cells[column(place.rank)] = dot
                told = f"{tier if at == 0 else edge:>4}  {_short(place.name):<{name}}  {place.mean:>{mean}}"
                row = f"  {told}  {''.join(cells)}  {place.ranks:>5}  {place.letters}"
                lines.append(row.rstrip())
        return "\n".join(lines)

    def svg(self, title: str) -> str:
        """The same as a document of SVG, its title what a reader of screens says."""
        most, told = len(self.places), escape(plain(title), quote=True)
        name = _LETTER * max(len(plain(place.name)) for place in self.places)
        mean = _LETTER * max(len(place.mean) for place in self.places)
        left = 44 + name + 12 + mean + 18
        width, height = left + _SCALE + 60, _TOP + _ROW * most + 14

        def at(rank: int) -> float:
            return left + (rank - 1) / max(most - 1, 1) * _SCALE

        step = 5 if most < 30 else 10
        parts, row = (
            [_tick(at(rank), rank, height) for rank in sorted({1, *range(step, most, step), most})],
            0,
        )
        shades = []
        for number, (tier, places) in enumerate(self.tiers()):
            top = _TOP + _ROW * row - 4
            shade, tall = _SHADES[number % 2], _ROW * len(places)
            shades.append(f'<rect x="0" y="{top}" width="{width:.0f}" height="{tall}" fill="{shade}"/>')
            parts.append(f'<text x="12" y="{top + 14}" fill="#374151" font-weight="bold">{tier}</text>')
            for place in places:
                y = _TOP + _ROW * row + 5
                colour = "#1d4ed8" if place.tier == 1 else "#6b7280"
                ends = f'x1="{at(place.low):.1f}" x2="{at(place.high):.1f}" y1="{y}" y2="{y}"'
                parts += [
                    f'<text x="44" y="{y + 4}" fill="#111827">{escape(plain(place.name))}</text>',
                    f'<text x="{left - 18:.1f}" y="{y + 4}" text-anchor="end" fill="#111827">{place.mean}</text>',
                    f'<line {ends} stroke="{colour}" stroke-width="3"/>',
                    f'<circle cx="{at(place.rank):.1f}" cy="{y}" r="4.5" fill="{colour}"/>',
                    f'<text x="{left + _SCALE + 12:.1f}" y="{y + 4}" fill="#374151">{place.ranks}</text>',
                ]
                row += 1
        heads = f'<text x="12" y="{_TOP - 14}" fill="#374151">tier</text>'
        heads += f'<text x="{left + _SCALE + 12:.1f}" y="{_TOP - 14}" fill="#374151">ranks</text>'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img" '
            f'aria-label="{told}" font-family="sans-serif" font-size="12">\n<title>{told}</title>\n'
            f'<rect width="{width:.0f}" height="{height}" fill="#ffffff"/>\n'
            + "\n".join([*shades, heads, *parts])
            + "\n</svg>\n"
        )


def _tick(x: float, rank: int, height: float) -> str:
    """A line of the scale of ranks, and its number."""
    line = f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 8}" y2="{height - 8}" stroke="#d1d5db"/>'
    return f'{line}<text x="{x:.1f}" y="{_TOP - 14}" text-anchor="middle" fill="#374151">{rank}</text>'


def _short(name: str) -> str:
    told = plain(name)
    half = (NAME - 1) // 2
    return told if len(told) <= NAME else f"{told[:half]}~{told[-(NAME - 1 - half) :]}"
