"""A hypothesis' interval as a strip: the headline's numbers against no difference and the SESOI."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from service.domain.verdicts.words.headline import Figure

WIDTH = 600
"""Of the drawing, in its own units; the page scales it."""
_EDGE = 0.08
"""Of the span, free on either side: an open end has an arrow there."""


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


def strip_of(figure: Figure | None) -> Strip | None:
    """The strip of a headline's figures; None where it has no interval.

    Example:
        A difference of .01 from 0 to .02, without a SESOI, stands in the middle: `value` is 300.
    """
    return strips_of([figure])[0]


def strips_of(figures: Sequence[Figure | None]) -> list[Strip | None]:
    """Strips under one another, on one scale; None for each that has no interval."""
    drawn = [figure for figure in figures if figure is not None and _has_interval(figure)]
    marks = [mark for figure in drawn for mark in _marks(figure)]
    if not marks or max(marks) <= min(marks):
        return [None] * len(figures)
    least, most = min(marks), max(marks)
    edge = (most - least) * _EDGE

    def place(value: float) -> float:
        return round(WIDTH * (value - least + edge) / (most - least + 2 * edge), 1)

    return [
        None if figure is None or not _has_interval(figure) else _strip(figure, place) for figure in figures
    ]


def _has_interval(figure: Figure) -> bool:
    ends = (figure.low, figure.high)
    return ends != (None, None) and all(map(math.isfinite, _marks(figure)))


def _marks(figure: Figure) -> list[float]:
    """Every number of a figure."""
    band = _band(figure) or ()
    return [
        figure.value,
        figure.against,
        *(end for end in (figure.low, figure.high) if end is not None),
        *band,
    ]


def _band(figure: Figure) -> tuple[float, float] | None:
    return None if figure.sesoi is None else (figure.against - figure.sesoi, figure.against + figure.sesoi)


def _strip(figure: Figure, place: Callable[[float], float]) -> Strip:
    band = _band(figure)
    return Strip(
        value=place(figure.value),
        low=0.0 if figure.low is None else place(figure.low),
        high=float(WIDTH) if figure.high is None else place(figure.high),
        open_low=figure.low is None,
        open_high=figure.high is None,
        against=place(figure.against),
        band=None if band is None else (place(band[0]), place(band[1])),
    )
