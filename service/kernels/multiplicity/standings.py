"""Where several arms stand: what follows from pairs that are told apart, and sets of arms that are not.

Source: Bron & Kerbosch (1973), Commun ACM 16:575.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def follow(p: Floats, low: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Adjusted p and lower bounds of all pairs, with what follows from other pairs on the way. Shapes (k, k).

    Entries are of the row's arm ahead of the column's. Where a is told apart from b and b from c, so is a from c, by
    the larger of both p and at least the sum of both bounds.
    """
    p, reach = p.copy(), np.where(p < alpha, low, -np.inf)
    # Floyd and Warshall: after `middle`, paths by way of the arms up to it count: by (min, max) for p, (max, +) for
    # bounds.
    for middle in range(len(p)):
        p = np.minimum(p, np.maximum(p[:, middle, None], p[middle]))
        reach = np.maximum(reach, reach[:, middle, None] + reach[middle])
    return p, np.maximum(low, reach)


def in_order(means: Floats, ahead: NDArray[np.bool_]) -> list[int]:
    """Arms by their means (k,), best first, but none before an arm that is `ahead` of it (k, k), row of column."""
    waits = ahead.sum(axis=0)
    free = [(-mean, arm) for arm, mean in enumerate(means.tolist()) if waits[arm] == 0]
    heapq.heapify(free)
    order = []
    while free:
        _, arm = heapq.heappop(free)
        order.append(arm)
        for behind in np.flatnonzero(ahead[arm]).tolist():
            waits[behind] -= 1
            if waits[behind] == 0:
                heapq.heappush(free, (-float(means[behind]), behind))
    return order


def tiers(ahead: NDArray[np.bool_]) -> list[int]:
    """Tier of each arm: one more than the longest chain of arms `ahead` of each other that ends at it.

    `ahead` (k, k), row of column, arms in an order in which none stands before one that is ahead of it. Arms of one
    tier are not told apart, since of two that are one has the longer chain.
    """
    tier = np.zeros(len(ahead), dtype=np.int64)
    for arm in range(len(ahead)):
        tier[arm] = 1 + tier[ahead[:, arm]].max(initial=0)
    return [int(level) for level in tier]


def find_tied_sets(apart: NDArray[np.bool_], most: int) -> tuple[list[list[int]], bool]:
    """Maximal sets of arms of which no two are apart, and whether these are all. They overlap.

    `apart` (k, k), symmetric. With pivoting; stops at `most` sets.
    """
    near = [{j for j in range(len(apart)) if j != i and not apart[i, j]} for i in range(len(apart))]
    sets: list[list[int]] = []

    def grow(chosen: list[int], open_: set[int], done: set[int]) -> bool:
        if not open_ and not done:
            if len(sets) == most:
                return False
            sets.append(sorted(chosen))
            return True
        if not open_:
            return True
        # A maximal set without the pivot holds an arm that is apart from it: those near the pivot need no turn.
        pivot = max(sorted(open_ | done), key=lambda arm: len(near[arm] & open_))
        for arm in sorted(open_ - near[pivot]):
            if not grow([*chosen, arm], open_ & near[arm], done & near[arm]):
                return False
            open_, done = open_ - {arm}, done | {arm}
        return True

    complete = grow([], set(range(len(apart))), set())
    return sorted(sets), complete
