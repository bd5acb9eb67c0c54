"""Items in clusters: sums, diagnostics and cluster-robust variances of a mean difference.

`difference` is a column (n,); `codes` (n,) numbers each item's cluster from 0 to G - 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]

UNSEEN_PART = 0.4
"""The most of one more cluster, as large as that of an item is on average, that bounds take to be lost unseen."""
UNSEEN_TIMES = 2.5
"""How many times the items that count for one they reckon with, up to that part. Where items of a cluster are little
alike, a cluster is not lost as a whole, and a part whatever the data show costs power for nothing: docs/rare-losses.md
has what was tried."""


TWO_SIDED = 0.975
"""The quantile by which t and normal are compared, for what a design effect from few clusters is worth."""


def codes_of(labels: Sequence[str] | Sequence[int]) -> NDArray[np.int64]:
    """Return each label's number, clusters numbered by first appearance. Shape (n,)."""
    index = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return np.fromiter(map(index.__getitem__, labels), dtype=np.int64, count=len(labels))


def typical_size(sizes: Floats) -> float:
    """Return the size of the cluster that an item is in, on average over items, from all sizes (G,)."""
    return float(sizes @ sizes) / float(sizes.sum())


def lost_unseen(worth: Floats, whole: float) -> Floats:
    """Return how many items bounds in clusters take to be lost unseen, where `worth` of them count for one.

    `whole`: items of the cluster that an item is in on average. Both may be in any unit, of which the answer is too.
    """
    return np.asarray(np.minimum(UNSEEN_PART * whole, UNSEEN_TIMES * worth))


def items_for_one(
    independent: Floats,
    residuals: Floats,
    error: tuple[Floats, Floats | float],
    clusters: NDArray[np.intp] | int,
    largest: Floats | float,
    flat: NDArray[np.bool_],
) -> Floats:
    """Return how many items count for one in T data sets, (T,): the design effect, at least 1, times (t / z)^2.

    `independent` (T,): variance of the mean if items were independent. `residuals` (T, G): what each cluster adds to
    the error of the mean. `error`: CR2's standard error and its df, (T,). The degrees of freedom are those, or where
    they are fewer those of a variance of residuals with such tails, 2 G / (kurtosis - 1): a few large clusters that
    differ leave the rest unmeasured. Where it is `flat` nothing is known of the effect, and the `largest` cluster
    counts for one item.
    """
    se, df = error
    second, fourth = ((residuals**power).sum(axis=1) / clusters for power in (2, 4))
    kurtosis = fourth / np.where(second > 0, second, 1.0) ** 2
    by_tails = np.where(kurtosis > 1, 2 * clusters / np.where(kurtosis > 1, kurtosis - 1, 1.0), np.inf)
    few = special.stdtrit(np.maximum(np.minimum(by_tails, df), 1.0), TWO_SIDED) / special.ndtri(TWO_SIDED)
    effect = np.maximum(se**2 / np.where(flat, 1.0, independent), 1.0) * few**2
    return np.where(flat, largest, effect)


@dataclass(frozen=True, eq=False)
class ClusterSums:
    """Difference sum `sums` (G,) and size `sizes` (G,) of every cluster, as floats.

    `noise`: the most that rounding can make of one item's difference.
    """

    sums: Floats
    sizes: Floats
    noise: float = 0.0

    @property
    def n_clusters(self) -> int:
        """The number of clusters, G."""
        return len(self.sums)

    @property
    def n(self) -> float:
        """The number of items, over all clusters."""
        return float(self.sizes.sum())

    @property
    def typical_size(self) -> float:
        """Items of the cluster that an item is in, on average over items."""
        return typical_size(self.sizes)

    @property
    def item_weighted(self) -> float:
        """Sum of differences over items."""
        return float(self.sums.sum()) / self.n

    @property
    def cluster_weighted(self) -> float:
        """Mean of the clusters' mean differences."""
        return float((self.sums / self.sizes).mean())

    @property
    def residuals(self) -> Floats:
        """What each cluster adds to the item-weighted mean's error, times n; rounding is 0. Shape (G,)."""
        residual = self.sums - self.sizes * self.item_weighted
        # two products that are equal but for rounding leave dust, which a ratio of variances would take for spread
        residual[np.abs(residual) <= 1e-12 * np.maximum(np.abs(self.sums), 1e-300)] = 0.0
        if np.all(np.abs(residual) <= self.noise * self.sizes):
            residual[:] = 0.0
        return np.asarray(residual)

    def by_cluster(self) -> ClusterSums:
        """Return every cluster as one item, its mean difference: the cluster-weighted estimand."""
        return ClusterSums(self.sums / self.sizes, np.ones(self.n_clusters), self.noise)


def cluster_sums(difference: Floats, codes: NDArray[np.int64], noise: float = 0.0) -> ClusterSums:
    """Sums and sizes per cluster. O(n). A sum that is zero but for rounding (`noise` of a difference) is zero."""
    sums: Floats = np.bincount(codes, weights=difference).astype(np.float64)
    dust = 1e-14 * np.bincount(codes, weights=np.abs(difference))
    # Differences that cancel leave rounding behind, some units in the last place of what was summed: below 1e-14 of it.
    sums[np.abs(sums) <= np.maximum(dust, noise)] = 0.0
    return ClusterSums(sums, np.bincount(codes).astype(np.float64), noise)


def size_cv(sizes: Floats) -> float:
    """Coefficient of variation of the cluster sizes (ddof 0)."""
    return float(sizes.std() / sizes.mean())


def intraclass_correlation(difference: Floats, codes: NDArray[np.int64]) -> float | None:
    """ICC by one-way ANOVA; may be negative. None when every cluster has one item, or nothing varies.

    Source: Donner (1986), Int Stat Rev 54:67.
    """
    difference = difference / largest(difference)  # the ratio has no unit, and squares stay in range
    groups = cluster_sums(difference, codes)
    g, n = groups.n_clusters, groups.n
    if g < 2 or n <= g:
        return None
    means = groups.sums / groups.sizes
    centred = difference - groups.item_weighted
    total = float(centred @ centred)
    between = float(groups.sizes @ (means - groups.item_weighted) ** 2)
    ms_between, ms_within = between / (g - 1), max(total - between, 0.0) / (n - g)
    # Donner's n0: clusters of unequal size act in the ANOVA as equal ones of this size would
    typical = (n - float(groups.sizes @ groups.sizes) / n) / (g - 1)
    spread = ms_between + (typical - 1) * ms_within
    return (ms_between - ms_within) / spread if spread > 1e-15 * max(total, 1e-300) else None


@dataclass(frozen=True, slots=True)
class RobustError:
    """A cluster-robust standard error and its degrees of freedom."""

    se: float
    df: float


def robust_errors(groups: ClusterSums) -> dict[str, RobustError]:
    """CR1, CR2 and CV3 of the item-weighted mean. Needs two clusters; O(G).

    CR2 has Satterthwaite degrees of freedom, the others G - 1. CV3 is centred at the estimate.

    Sources: Bell & McCaffrey (2002), Surv Methodol 28:169 (CR2 and its df);
    MacKinnon, Nielsen & Webb (2023), J Econometrics 232:272 (CV3).
    """
    g, n, sizes = groups.n_clusters, groups.n, groups.sizes
    share = sizes / n
    residual = groups.residuals
    unit = largest(residual)  # or the squares of small scores would underflow
    residual = residual / unit
    # A cluster's leverage is its share of the items. CR2 divides residuals by the root of what it leaves, CV3 by all
    # of it (the jackknife); CR1 knows of the number of clusters alone.
    cr1 = g / (g - 1) * float(residual @ residual) / n**2
    cr2 = float((residual**2 / (1 - share)).sum()) / n**2
    cv3 = (g - 1) / g * float(((residual / (1 - share)) ** 2).sum()) / n**2
    df = float(satterthwaite(1 / (n**2 * (1 - share)), sizes))
    return {
        "cr1": RobustError(unit * math.sqrt(cr1), g - 1),
        "cr2": RobustError(unit * math.sqrt(cr2), df),
        "cv3": RobustError(unit * math.sqrt(cv3), g - 1),
    }


def satterthwaite(factors: Floats, sizes: Floats) -> Floats:
    """Degrees of freedom of variances sum(factor residual^2) of means over clusters with these `sizes`, both (..., G).

    The chi-square whose mean and variance are those of the variance where items are independent and of one spread:
    trace(B)^2 / trace(B^2) for B_ij = sqrt(f_i f_j) (n_i 1_ij - n_i n_j / N), without the matrix. A common unit of the
    factors cancels.

    Source: Bell & McCaffrey (2002), Surv Methodol 28:169.
    """
    n = sizes.sum(axis=-1, keepdims=True)
    trace = (factors * (sizes - sizes**2 / n)).sum(axis=-1)
    squares = (factors**2 * (sizes**2 - 2 * sizes**3 / n)).sum(axis=-1)
    squares += ((factors * sizes**2).sum(axis=-1) / n[..., 0]) ** 2
    return np.asarray(trace**2 / squares)


def design_effect(difference: Floats, groups: ClusterSums) -> float | None:
    """CR1 variance over the variance that independent items would give; None when nothing varies.

    Source: Kish (1965), Survey Sampling: the design effect.
    """
    n = groups.n
    centred = difference - groups.item_weighted
    unit = largest(centred)
    centred = centred / unit
    independent = float(centred @ centred) / (n - 1) / n
    return (robust_errors(groups)["cr1"].se / unit) ** 2 / independent if independent > 0 else None


def largest(values: Floats) -> float:
    """Return the greatest size among values, 1 where all are 0: a unit in which squares stay in range."""
    return float(np.abs(values).max(initial=0.0)) or 1.0
