"""Are several arms on the same items alike? Cochran's Q and Friedman's test, and their permutation within clusters.

Sources: Cochran (1950), Biometrika 37:256; Friedman (1937), JASA 32:675, with ties as in Conover (1999), 5.8.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.numeric.ranks import midranks_of_rows
from service.kernels.numeric.streams import BLOCK, generator

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Global:
    """A chi-square of k - 1 degrees of freedom that all arms are alike; None where no item tells them apart."""

    statistic: float | None
    df: int
    points: Floats
    """What each item gives each arm: its outcome, or its rank in the item. Shape (n, k)."""

    @property
    def p_value(self) -> float | None:
        """The p-value by the chi-square distribution, which takes items for independent."""
        return None if self.statistic is None else float(special.chdtrc(self.df, self.statistic))


def cochran_q(columns: Floats) -> Global:
    """Return Cochran's Q of right and wrong: columns (n, k) of 0 and 1."""
    k = columns.shape[1]
    # Q = k (k - 1) sum (T_j - mean T)^2 / sum R_i (k - R_i), with arm totals T and item totals R.
    by_item = columns.sum(axis=1)
    spread = float((by_item * (k - by_item)).sum())
    return _global(columns, k * (k - 1) / spread if spread > 0 else None)


def friedman(columns: Floats) -> Global:
    """Return Friedman's test of scores: midranks within each item, corrected for ties. Columns (n, k)."""
    k = columns.shape[1]
    # (k - 1) sum (T_j - mean T)^2 / sum (r - (k + 1) / 2)^2: without ties the divisor is n k (k^2 - 1) / 12.
    ranked = midranks_of_rows(columns)
    spread = float(((ranked - (k + 1) / 2) ** 2).sum())
    return _global(ranked, (k - 1) / spread if spread > 0 else None)


def _global(points: Floats, factor: float | None) -> Global:
    totals = points.sum(axis=0)
    statistic = None if factor is None else factor * float(((totals - totals.mean()) ** 2).sum())
    return Global(statistic, points.shape[1] - 1, points)


def permute_arms(by_cluster: Floats, seed: int, blocks: range) -> Floats:
    """Sum of squared arm totals after the arms of every cluster have changed names at random. Shape (replicates,).

    `by_cluster` (G, k): points summed by cluster. The chi-squares grow with this sum and with nothing else of it.
    """
    k = by_cluster.shape[1]
    block_sums = []
    for block in blocks:
        rng = generator(seed, block)
        sums = np.zeros((BLOCK, k))
        for row in by_cluster:
            sums += rng.permuted(np.broadcast_to(row, (BLOCK, k)), axis=1)
        block_sums.append(np.einsum("bk,bk->b", sums, sums))
    return np.concatenate(block_sums)
