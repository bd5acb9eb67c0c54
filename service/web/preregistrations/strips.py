"""A hypothesis' interval as a strip: the headline's numbers against no difference and the SESOI, over a scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from service.domain.verdicts.words.headline import Figure

WIDTH = 100
"""Of the drawing: places are per cent of the room that the page has for it."""
_EDGE = 0.08
"""Of the span, free on either side: an open end has an arrow there."""
_STEPS = 5
"""About so many steps has a scale."""
_APART = 0.15
"""Of the room, between two numbers of which one is an end of the band."""
_LEAST_SHARE = 0.125
"""Of a scale that hypotheses share: where one would fill less of it, each has a scale of its own."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A number below the strip."""

    place: float
    text: str


@dataclass(frozen=True, slots=True)
class Strip:
    """Places from 0 to WIDTH, from left to right."""

    value: float
    low: float
    high: float
    open_low: bool
    open_high: bool
    against: float
    """No difference, or what one arm is held against."""
    band: tuple[float, float] | None
    """The smallest effect of interest on both sides; None where there is none."""
    ticks: tuple[Tick, ...] = ()
    level: float | None = None
    """Of the interval."""


def strips_of_record(figures: Sequence[Figure | None]) -> list[Strip | None]:
    """A strip for each headline's figures, those of one unit on one scale, so that they can be held against each other.

    None where a headline has no interval. Where one of them could hardly be seen, each has its own scale.
    """
    strips: list[Strip | None] = [None] * len(figures)
    units = dict.fromkeys(figure.unit for figure in figures if figure is not None)
    for unit in units:
        places = [at for at, figure in enumerate(figures) if figure is not None and figure.unit == unit]
        together = strips_of([figures[at] for at in places])
        if any(strip is not None and _span(strip) < _LEAST_SHARE * WIDTH for strip in together):
            together = [strips_of([figures[at]])[0] for at in places]
        for at, strip in zip(places, together, strict=True):
            strips[at] = strip
    return strips


def _span(strip: Strip) -> float:
    """Return how much of the scale a strip fills, with what it is held against."""
    marks: list[float] = [strip.low, strip.high, strip.against, *(strip.band or ())]
    return max(marks) - min(marks)


def strips_of(figures: Sequence[Figure | None]) -> list[Strip | None]:
    """Strips under one another, on one scale; None for each that has no interval.

    Example:
        A difference of .01 from 0 to .02, without a SESOI, stands in the middle: `value` is 50.
    """
    drawn = [figure for figure in figures if figure is not None and _has_interval(figure)]
    marks = [mark for figure in drawn for mark in _marks(figure)]
    if not marks or max(marks) <= min(marks):
        return [None] * len(figures)
    edge = (max(marks) - min(marks)) * _EDGE
    least, most = min(marks) - edge, max(marks) + edge

    def place(value: float) -> float:
        return round(WIDTH * (value - least) / (most - least), 2)

    return [
        None
        if figure is None or not _has_interval(figure)
        else replace(
            _place_strip(figure, place),
            ticks=tuple(
                Tick(place(value), text)
                for value, text in _scale(least, most, figure.unit, _band(figure) or ())
            ),
        )
        for figure in figures
    ]


def _scale(least: float, most: float, unit: str, ends: Sequence[float]) -> list[tuple[float, str]]:
    """Round numbers between two values, in the unit that the headline counts in; the last one names it.

    None lies so near to an edge that its letters would stand outside. Both `ends` of a band are among them, and no
    other number near them, where there is room for two.
    """
    factor = 100.0 if unit else 1.0
    inside = (most - least) * _EDGE / 2
    low, high = (least + inside) * factor, (most - inside) * factor
    rough = (high - low) / _STEPS
    power = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 0.0
    if not power or not math.isfinite(high - low):
        return []
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= rough)
    numbers = range(math.ceil(low / step), math.floor(high / step) + 1)
    values = [number * step for number in numbers]
    room = (most - least) * factor * _APART
    marks = [round(end * factor, 9) for end in ends]
    if marks and marks[-1] - marks[0] >= room and low <= marks[0] and marks[-1] <= high:
        values = sorted(
            [*marks, *(value for value in values if all(abs(value - mark) >= room for mark in marks))]
        )
    texts = [f"{value:.6g}" if unit == "%" else f"{value:+.6g}" if value else "0" for value in values]
    if texts and unit:
        texts[-1] += "%" if unit == "%" else f" {unit}"
    return [(value / factor, text.replace("-", "−")) for value, text in zip(values, texts, strict=True)]


def _has_interval(figure: Figure) -> bool:
    ends = (figure.low, figure.high)
    return ends != (None, None) and all(map(math.isfinite, _marks(figure)))


def _marks(figure: Figure) -> list[float]:
    """Return every number of a figure."""
    band = _band(figure) or ()
    return [
        figure.value,
        figure.against,
        *(end for end in (figure.low, figure.high) if end is not None),
        *band,
    ]


def _band(figure: Figure) -> tuple[float, float] | None:
    return None if figure.sesoi is None else (figure.against - figure.sesoi, figure.against + figure.sesoi)


def _place_strip(figure: Figure, place: Callable[[float], float]) -> Strip:
    """Place an interval's numbers on the scale, in units of the drawing; an end that is missing runs to the edge."""
    band = _band(figure)
    return Strip(
        value=place(figure.value),
        low=0.0 if figure.low is None else place(figure.low),
        high=float(WIDTH) if figure.high is None else place(figure.high),
        open_low=figure.low is None,
        open_high=figure.high is None,
        against=place(figure.against),
        band=None if band is None else (place(band[0]), place(band[1])),
        level=figure.level,
    )
