"""Ranks that are left open, as a picture: a row for every system, tier by tier; in characters and as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby

from forelock.questions.pictures.drawing import ASCII, LINES, prints
from forelock.questions.pictures.paper import SCREEN, Paper
from forelock.text import plain
from forelock.words import pad, width_of

COLUMNS = 36
"""Of the scale of ranks in a terminal."""
NAME = 34
"""Letters of a name in a terminal, of which longer ones lose their middle."""
HEADS = ("tier", "system", "mean", "ranks", "not apart")
"""Of the columns, by the names of lines."""
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
        """The ranks that the data leave open, in words."""
        return f"{self.low}" if self.low == self.high else f"{self.low}-{self.high}"


@dataclass(frozen=True, slots=True)
class Ladder:
    """Systems in order, the best first; those of one tier stand together."""

    places: Sequence[Place]
    heads: Mapping[str, str] = field(default_factory=lambda: dict(zip(HEADS, HEADS, strict=True)))
    """What each column is called in the language of the answer."""

    def tiers(self) -> list[tuple[int, list[Place]]]:
        """Return the systems by tier, in their order."""
        return [
            (tier, list(places))
            for tier, places in groupby(
                sorted(self.places, key=lambda place: place.tier), lambda place_of_tier: place_of_tier.tier
            )
        ]

    def draw(self, encoding: str | None = "utf-8") -> str:
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
        heads = self.heads
        before_mean = " " * max(mean - width_of(heads["mean"]), 0)
        lines = [
            f"  {pad(heads['tier'], 4)}  {pad(heads['system'], name)}  {before_mean}{heads['mean']}  {scale}"
        ]
        lines[0] += f"  {pad(heads['ranks'], 5)}"
        lines[0] += f"  {heads['not apart']}" if letters else ""
        lines[0] = lines[0].rstrip()
        for tier, places in self.tiers():
            for at, place in enumerate(places):
                cells = [" "] * columns
                for cell in range(column(place.low), column(place.high) + 1):
                    cells[cell] = line
                if place.low < place.high:
                    cells[column(place.low)], cells[column(place.high)] = start, end
                cells[column(place.rank)] = dot
                head = f"{tier if at == 0 else edge:>4}  {_short(place.name):<{name}}  {place.mean:>{mean}}"
                row = f"  {head}  {''.join(cells)}  {place.ranks:>5}  {place.letters}"
                lines.append(row.rstrip())
        return "\n".join(lines)

    def svg(self, title: str, paper: Paper = SCREEN) -> str:
        """Return the same as a document of SVG."""
        most, row_height, top = len(self.places), 1.5 * paper.letters, 2.8 * paper.letters
        names = [paper.shorten(place.name, 0.35 * paper.width) for place in self.places]
        first = 3.6 * paper.letters
        mean = first + max(map(paper.room_of, names)) + paper.letters
        mean += max(paper.room_of(place.mean) for place in self.places)
        left, right = mean + 1.5 * paper.letters, paper.width - 5 * paper.letters
        height = top + row_height * most + paper.letters

        def at(rank: int) -> float:
            return left + (rank - 1) / max(most - 1, 1) * (right - left)

        step = 5 if most < 30 else 10
        ticks = sorted({1, *range(step, most, step), most})
        parts = [_tick(at(rank), rank, top, height, paper) for rank in ticks]
        shades, row = [], 0
        for number, (tier, places) in enumerate(self.tiers()):
            y = top + row_height * row - 0.3 * paper.letters
            shade, tall = _SHADES[number % 2], row_height * len(places)
            shades.append(
                f'<rect x="0" y="{y:.1f}" width="{paper.width:.0f}" height="{tall:.1f}" fill="{shade}"/>'
            )
            baseline = y + (0.3 + 0.4 + 1 / 3) * paper.letters
            parts.append(f'<text x="12" y="{baseline:.1f}" fill="#374151" font-weight="bold">{tier}</text>')
            for place in places:
                y = top + row_height * row + 0.4 * paper.letters
                baseline = y + paper.letters / 3
                colour = paper.accent if place.tier == 1 else paper.soft
                ends = f'x1="{at(place.low):.1f}" x2="{at(place.high):.1f}" y1="{y:.1f}" y2="{y:.1f}"'
                parts += [
                    f'<text x="{first:.1f}" y="{baseline:.1f}" fill="#111827">{escape(names[row])}</text>',
                    f'<text x="{mean:.1f}" y="{baseline:.1f}" text-anchor="end" fill="#111827">{place.mean}</text>',
                    f'<line {ends} stroke="{colour}" stroke-width="3"/>',
                    f'<circle cx="{at(place.rank):.1f}" cy="{y:.1f}" r="4.5" fill="{colour}"/>',
                    f'<text x="{right + paper.letters:.1f}" y="{baseline:.1f}" fill="#374151">{place.ranks}</text>',
                ]
                row += 1
        line = top - 1.2 * paper.letters
        heads = ""
        for x, head in (("12", "tier"), (f"{right + paper.letters:.1f}", "ranks")):
            heads += f'<text x="{x}" y="{line:.1f}" fill="#374151">{escape(self.heads[head])}</text>'
        return paper.document(title, height, "\n".join([*shades, heads, *parts]))


def _tick(x: float, rank: int, top: float, height: float, paper: Paper) -> str:
    """Return a line of the scale of ranks, and its number."""
    above = top - 1.2 * paper.letters
    line = f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 8:.1f}" y2="{height - 8:.1f}" stroke="#d1d5db"/>'
    return f'{line}<text x="{x:.1f}" y="{above:.1f}" text-anchor="middle" fill="#374151">{rank}</text>'


def _short(name: str) -> str:
    short = plain(name)
    half = (NAME - 1) // 2
    return short if len(short) <= NAME else f"{short[:half]}~{short[-(NAME - 1 - half) :]}"
