"""Differences of many pairs of arms in clusters at once: CR2, and bounds that know of what was not seen.

A row is a pair with sums (T, G) of differences over sizes (T, G), 0 of a cluster of which the pair has no item. As
`clusters` and `gaffke` give them pair by pair, Gaffke's chances by the saddle point (`gaffke_many`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from service.kernels.numeric.clusters import items_for_one, lost_unseen, satterthwaite
from service.kernels.planning import gaffke_many

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ManyPairs:
    """Differences in units of the largest that there can be: of items `values` (T, V), as many as `counts` (T, V)."""

    values: Floats
    counts: Floats
    sums: Floats
    sizes: Floats

    @cached_property
    def n(self) -> Floats:
        """Items of every row. Shape (T,)."""
        return np.asarray(self.sizes.sum(axis=1))

    @cached_property
    def delta(self) -> Floats:
        """The mean differences. Shape (T,)."""
        return np.asarray(self.sums.sum(axis=1) / self.n)

    @cached_property
    def robust(self) -> tuple[Floats, Floats]:
        """CR2's standard errors and Satterthwaite's degrees of freedom, as `clusters.robust_errors`. Shapes (T,)."""
        n = self.n[:, None]
        share = self.sizes / n
        variance = (self._residuals**2 / (1 - share)).sum(axis=1)
        return np.sqrt(variance) / self.n, satterthwaite(1 / (1 - share), self.sizes)

    @cached_property
    def _residuals(self) -> Floats:
        return np.asarray(self.sums - self.sizes * self.delta[:, None])

    @cached_property
    def worth(self) -> Floats:
        """Items that count for one in every pair. Shape (T,)."""
        (se, df), clusters = self.robust, np.count_nonzero(self.sizes, axis=1)
        spread = (self.counts * (self.values - self.delta[:, None]) ** 2).sum(axis=1)
        independent = spread / np.maximum(self.n - 1, 1) / self.n
        flat = (independent <= 0) | (se <= 1e-12 * np.abs(self.values).max())
        largest = self.sizes.max(axis=1)
        return items_for_one(independent, self._residuals, (se, df), clusters, largest, flat)

    @cached_property
    def _unseen(self) -> Floats:
        """Items of the cluster that was not seen. Shape (T,)."""
        return lost_unseen(self.worth, (self.sizes**2).sum(axis=1) / self.n)

    def low(self, tail: float) -> Floats:
        """Return Gaffke's lower bounds at level `tail`, of items and of whole clusters the further. Shape (T,)."""
        low = np.maximum(gaffke_many.lower_ends(self.values, self._shapes, -1.0, tail), -1.0)
        lower = np.flatnonzero((low > -1.0) & (self._chances_of_clusters(low) > tail))
        if len(lower):
            sums, sizes = self.sums[lower], self.sizes[lower]
            of_clusters = gaffke_many.lower_ends_of_blocks(sums, sizes, -1.0, tail, self._unseen[lower])
            low[lower] = np.minimum(low[lower], of_clusters)
        return low

    def above_zero(self) -> Floats:
        """Return the one-sided p of H0: the mean is at most 0, by the same bounds. Shape (T,)."""
        of_items = gaffke_many.chances_below(self.values, self._shapes, -1.0, 0.0)
        return np.maximum(of_items, self._chances_of_clusters(np.zeros(len(self.n))))

    @property
    def _shapes(self) -> Floats:
        return np.asarray(self.counts / self.worth[:, None])

    def _chances_of_clusters(self, means: Floats) -> Floats:
        return gaffke_many.chances_of_blocks(self.sums, self.sizes, -1.0, means, self._unseen)

    def turn(self) -> ManyPairs:
        """Return the second arm minus the first."""
        return ManyPairs(-self.values, self.counts, -self.sums, self.sizes)
