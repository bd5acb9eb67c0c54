"""The interval that sign flips of cluster sums leave: every difference that neither one-sided test rejects.

Flipping the signs of the clusters in a set A makes S* >= S just where sum_A (d - D n) <= 0, so the test of D counts
the sets whose own mean difference sum_A d / sum_A n is at most D, the empty one always. An end of the interval is
therefore an order statistic of these means.

Sources: Hartigan (1969), JASA 64:1303 (typical values); Canay, Romano & Shaikh (2017), Econometrica 85:1013.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LISTED_UP_TO = 16
"""Clusters up to which the means of all sets are listed; above, sets are counted in two halves."""
MOST_CLUSTERS = 32
"""Beyond these the halves have more than 2^16 sets; `many_flips` takes over."""

STEPS = 60
"""Halvings of the bracket: more than a double has digits."""


def flip_interval(sums: Floats, sizes: Floats, tail: float) -> tuple[float | None, float | None]:
    """Return the differences that one-sided sign-flip tests at level `tail` do not reject. O(2^(G/2)) memory.

    `sums` (G,) are differences summed by cluster, `sizes` (G,) their items; G is at most `MOST_CLUSTERS`. An end is
    None where so few clusters reject no difference however far off.
    """
    if len(sums) > MOST_CLUSTERS:
        raise ValueError(f"{len(sums)} clusters have too many sets")
    # D is rejected where the sets at most D, the empty one with them, are fewer than tail 2^G.
    rank = math.ceil(tail * 2.0 ** len(sums)) - 1
    if rank < 1:
        return None, None
    if len(sums) <= LISTED_UP_TO:
        means = _means(sums, sizes)
        return float(np.partition(means, rank - 1)[rank - 1]), -float(
            np.partition(-means, rank - 1)[rank - 1]
        )
    low, high = _lower_end(sums, sizes, rank), _lower_end(-sums, sizes, rank)
    return low, -high


def flip_tail(sums: Floats, sizes: Floats, difference: float) -> float:
    """Return the one-sided p of H0: the difference is at most `difference`, by counting sets in two halves."""
    return _Halves(sums, sizes).at_most(difference) / 2.0 ** len(sums)


def _means(sums: Floats, sizes: Floats) -> Floats:
    """Return the mean difference of every set of clusters but the empty one, (2^G - 1,)."""
    tops, bottoms = _all(sums)[1:], _all(sizes)[1:]
    return np.asarray(tops / bottoms)


def _all(values: Floats) -> Floats:
    """Sums over every set; the empty one first."""
    totals = np.zeros(1)
    for value in values:
        totals = np.concatenate([totals, totals + value])
    return totals


class _Halves:
    """Sets are unions of a set from each half."""

    def __init__(self, sums: Floats, sizes: Floats) -> None:
        half = len(sums) // 2
        self._left = _all(sums[:half]), _all(sizes[:half])
        self._right = _all(sums[half:]), _all(sizes[half:])
        self._slack = 1e-12 * float(np.abs(sums).sum())

    def at_most(self, difference: float) -> int:
        """Sets, the empty one included, whose mean is at most `difference`."""
        # Sets of the left half and of the right whose sums of d - D n are together at most 0, rounding aside.
        left = self._left[0] - difference * self._left[1]
        right = np.sort(self._right[0] - difference * self._right[1])
        return int(np.searchsorted(right, self._slack - left, side="right").sum())


def _lower_end(sums: Floats, sizes: Floats, rank: int) -> float:
    """Return the mean of rank `rank` among the sets that are not empty, by bisection to the last digits."""
    halves = _Halves(sums, sizes)
    means = sums / sizes
    low, high = float(means.min()), float(means.max())
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if halves.at_most(middle) - 1 >= rank:
            high = middle
        else:
            low = middle
    return high
