"""How many units would show what those at hand leave open, if the spread that was seen went on."""

from __future__ import annotations

import math
from collections.abc import Callable

from service.kernels.planning.power import smallest_n, t_power


def units_by_t(
    distance: float, se: float, df: float, present: int, *, least: int, most: int, tail: float, power: float
) -> int | None:
    """Return the smallest number of units whose one-sided t-test of level `tail` has that power.

    `se` and `df` belong to the estimate from the `present` units; `distance` is how far the truth lies from the
    value tested, in the unit of `se`. None where `most` units do not suffice.
    """
    spread = se * math.sqrt(present)
    # Satterthwaite's df lie below units - 1 where clusters differ in size; more clusters are taken to differ alike.
    share = df / max(present - 1, 1)

    def power_at(units: int) -> float:
        return t_power(distance * math.sqrt(units) / spread, max(share * (units - 1), 1.0), tail, "greater")

    return smallest_n(power_at, power, least, most, lambda _units: 0)[0]


def first_that_shows(shows: Callable[[int], bool], least: int, most: int) -> int | None:
    """The smallest number from `least` on of which `shows` holds, by doubling and bisection; None: not up to `most`.

    `shows` once true stays true.
    """
    low, high = least - 1, max(least, 2)
    while not shows(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return high
