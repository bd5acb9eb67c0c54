"""Sign flips of the clusters of many data sets at once, by the means of sets of their clusters.

The one-sided test of D counts the sets of clusters whose own mean difference is at most D (`flip_interval`). Of few
clusters all sets are listed; of more, so many are drawn that serve every data set, and the empty one counts always.

Source: Hartigan (1969), JASA 64:1303 (typical values).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LISTED_UP_TO = 12
"""Clusters up to which every set is listed."""
DRAWN = 1999
"""Sets that are drawn: with the observed one 2,000, so that p is a multiple of .0005."""

TIE = 1e-12
"""Means this close to a difference count as at most it, rounding aside."""


def means_of_sets(sums: Floats, sizes: Ints, generator: np.random.Generator) -> Floats:
    """Return the mean differences (T, S) of sets of clusters, ascending: all of them, or `DRAWN` that are shared.

    `sums` (T, G) are differences summed by cluster, `sizes` (G,) their items. O(T G S) time, O(T S) memory.
    """
    clusters = len(sizes)
    if clusters <= LISTED_UP_TO:
        chosen = (np.arange(1, 2**clusters)[:, None] >> np.arange(clusters) & 1).astype(np.float64)
    else:
        chosen = generator.integers(0, 2, (DRAWN, clusters)).astype(np.float64)
        # A drawn empty set has no mean, and the 1 of `tails` counts it already: the first cluster stands in.
        chosen[~chosen.any(axis=1), 0] = 1.0
    return np.sort((sums @ chosen.T) / (chosen @ sizes), axis=1)


def low_ends(means: Floats, tail: float) -> Floats:
    """Return the low ends (T,) of the intervals that one-sided flips at level `tail` leave; -inf where none rejects."""
    # The least D with (1 + sets at most D) / (S + 1) >= tail: the one below it is the last that is rejected.
    rank = math.ceil(tail * (means.shape[1] + 1) - TIE) - 1
    if rank < 1:
        return np.full(len(means), -np.inf)
    return np.asarray(means[:, rank - 1])


def tails(means: Floats, difference: float) -> Floats:
    """Return the one-sided p (T,) of H0: the difference is at most `difference`."""
    return np.asarray((1 + (means <= difference + TIE).sum(axis=1)) / (means.shape[1] + 1))
