"""Where several arms stand: each against the best of the others, and sets of arms that cannot be told apart.

Sources: Hsu (1996), Multiple Comparisons, 4.2; Edwards & Hsu (1983), JASA 78:965 (a bar for every arm);
Bron & Kerbosch (1973), Commun ACM 16:575.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.kernels.max_t import ManyArms

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Best:
    """Each arm against the best of the others: constrained simultaneous bounds of that gap, and who may be it.

    An end is infinite where nothing bounds it. Shapes (k,).
    """

    low: Floats
    high: Floats
    possible: NDArray[np.bool_]


def against_the_best(arms: ManyArms, bars: Floats) -> Best:
    """Hsu's constrained multiple comparisons with the best: mean minus the largest other mean.

    `bars` (k,): one-sided critical values, of the largest t of each arm against the others. `high` is 0 for an arm
    that cannot be the best, `low` 0 for the only one that can. A pair that does not vary bounds nothing.
    """
    k = arms.n_arms
    first, second = arms.pairs
    gaps, reach = np.zeros((k, k)), np.full((k, k), np.inf)
    gaps[first, second], gaps[second, first] = arms.differences, -arms.differences
    varies = arms.squares > 0
    first, second, errors = first[varies], second[varies], arms.errors[varies]
    reach[first, second], reach[second, first] = bars[first] * errors, bars[second] * errors
    upper = gaps + reach
    np.fill_diagonal(upper, np.inf)
    high = np.maximum(0.0, upper.min(axis=1))
    possible = (high > 0) | (arms.means == arms.means.max())
    # of every arm against each that may be the best, by that one's bar
    lower = gaps - reach.T
    lower[:, ~possible] = np.inf
    np.fill_diagonal(lower, np.inf)
    return Best(np.minimum(0.0, lower.min(axis=1)), high, possible)


def tied_sets(apart: NDArray[np.bool_], most: int) -> tuple[list[list[int]], bool]:
    """Maximal sets of arms of which no two are apart, and whether these are all. They overlap.

    `apart` (k, k), symmetric. With pivoting; stops at `most` sets.
    """
    near = [{j for j in range(len(apart)) if j != i and not apart[i, j]} for i in range(len(apart))]
    found: list[list[int]] = []

    def grow(chosen: list[int], open_: set[int], done: set[int]) -> bool:
        if not open_ and not done:
            if len(found) == most:
                return False
            found.append(sorted(chosen))
            return True
        if not open_:
            return True
        pivot = max(sorted(open_ | done), key=lambda each: len(near[each] & open_))
        for each in sorted(open_ - near[pivot]):
            if not grow([*chosen, each], open_ & near[each], done & near[each]):
                return False
            open_, done = open_ - {each}, done | {each}
        return True

    complete = grow([], set(range(len(apart))), set())
    return sorted(found), complete
