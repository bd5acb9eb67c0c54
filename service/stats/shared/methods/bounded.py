"""What bounded differences show of their mean: bounds that know of losses too rare to have been seen.

Independent items: Gaffke's bounds (`kernels.gaffke`), right at every n and of every shape while no difference passes
the limit. Items in clusters: the furthest of four. Gaffke's bounds with every item counted for 1 / design effect of an
item, and less by the t of so few clusters, as Korn & Graubard (1998, Surv Methodol 24:193) do with Clopper and
Pearson's; the same bounds of whole clusters, beside which a part of one more is at the limit; the CR2 t interval; and,
up to 1,000 clusters, sign flips of the clusters.

The part is 2.5 times the items that count for one, and at most two fifths of the size that the cluster of an item has
on average: clusters that are much alike inside and seldom bad were else called no worse up to .10 of the time
(intraclass correlation .3, 5 to 150 clusters of equal and of log-normal sizes, a twentieth to a fifth of items lost;
nominal .025), and up to .039 with it (1,000 data sets a cell). A part of a fifth whatever the data show was worse both
ways: up to .051, and with a third of the power where sizes differ much (docs/rare-losses.md).
A cluster that is lost as a whole when no such cluster was seen is beyond that, unless clusters are taken as the units
that have to be seen: then it is one as large as the largest, so that who asks for more is never told less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from service.kernels.numeric.clusters import (
    TWO_SIDED,
    ClusterSums,
    RobustError,
    cluster_sums,
    lost_unseen,
    robust_errors,
)
from service.kernels.numeric.clusters import largest as largest_size
from service.kernels.numeric.moments import binary_unit
from service.kernels.numeric.t_distribution import t_quantile, t_tail
from service.kernels.pairs import gaffke
from service.kernels.randomization.flip_interval import MOST_CLUSTERS, flip_interval, flip_tail
from service.kernels.randomization.many_flips import low_of_many, tail_of_many
from service.stats.shared.declaring.fields import Unseen

if TYPE_CHECKING:
    from service.stats.shared.data.pairs import PairedCounts

Floats = NDArray[np.float64]

MOST_FLIPPED = 1000
"""Clusters up to which sign flips have a say."""


@dataclass(frozen=True, eq=False)
class Bounded:
    """Differences (n,) none of which is beyond `limit` on either side, and their clusters (n,), None without."""

    difference: Floats
    codes: NDArray[np.int64] | None
    limit: float
    unseen: Unseen = "items"
    repeats: Floats | None = None
    """How many items each difference stands for (n,), without clusters; None: one."""

    @classmethod
    def of_counts(cls, table: PairedCounts, limit: float) -> Bounded:
        """Return the differences of a fourfold table of binary pairs."""
        alike = table.n - table.n_discordant
        repeats = np.array([table.only_baseline, alike, table.only_candidate], dtype=np.float64)
        return cls(np.array([-1.0, 0.0, 1.0]), None, limit, repeats=repeats)

    def ends(self, alpha: float) -> tuple[float, float]:
        """Lower and upper bound of the mean difference, each at level `alpha`; within the limit."""
        return self._unit * self._above.low(alpha), -self._unit * self._below.low(alpha)

    def p_above(self, mean: float) -> float:
        """Return the one-sided p of H0: the mean difference is at most `mean`."""
        return self._above.p(mean / self._unit)

    def p_below(self, mean: float) -> float:
        """Return the one-sided p of H0: it is at least `mean`."""
        return self._below.p(-mean / self._unit)

    def p_of_more(self, mean: float, times: float, against: float) -> float:
        """One-sided p, from `times` as many differences of this shape with that mean, that theirs is not beyond
        `against`: on the side of it where `mean` lies."""
        shift, bound = (mean - self.delta) / self._unit, against / self._unit
        if mean > against:
            return self._above.p_of_more(shift, times, bound)
        return self._below.p_of_more(-shift, times, -bound)

    @property
    def delta(self) -> float:
        """The mean difference of items."""
        return float(np.average(self.difference, weights=self.repeats))

    @cached_property
    def design_effect(self) -> float:
        """Items that count for one; 1 without clusters."""
        return self._above.worth

    @cached_property
    def _unit(self) -> float:
        """Scores are bounded in units as large as their range, where tolerances and squares have their place."""
        return binary_unit(np.array([self.limit]))

    @cached_property
    def _above(self) -> _Side:
        return self._side(self.difference)

    @cached_property
    def _below(self) -> _Side:
        return self._side(-self.difference)

    def _side(self, difference: Floats) -> _Side:
        unit = self._unit
        return _Side.of(difference / unit, self.repeats, self.codes, self.limit / unit, self.unseen)


@dataclass(frozen=True, eq=False)
class _Side:
    """What speaks for a mean above some value: none of `values` is below -`limit`."""

    values: Floats
    counts: Floats
    limit: float
    groups: ClusterSums | None
    error: RobustError
    worth: float
    unseen: Unseen

    @classmethod
    def of(
        cls,
        difference: Floats,
        repeats: Floats | None,
        codes: NDArray[np.int64] | None,
        limit: float,
        unseen: Unseen,
    ) -> _Side:
        """Put equal values together, and find how many items count for one."""
        values, place = np.unique(np.clip(difference, -limit, limit), return_inverse=True)
        counts = np.bincount(place, repeats, len(values)).astype(np.float64)
        values, counts = values[counts > 0], counts[counts > 0]
        if codes is None:
            return cls(values, counts, limit, None, RobustError(0.0, math.inf), 1.0, unseen)
        groups = cluster_sums(difference, codes)
        error = robust_errors(groups)["cr2"]
        return cls(values, counts, limit, groups, error, items_for_one(values, counts, groups, error), unseen)

    def low(self, alpha: float) -> float:
        """Return the lower bound at level `alpha`."""
        if self.groups is None:
            return self._of_items(alpha)
        ends = [self._of_items(alpha), self._of_clusters(alpha)]
        if self.error.se > 0:
            half = t_quantile(1 - alpha, self.error.df) * self.error.se
            ends.append(self.groups.item_weighted - half)
        if self.groups.n_clusters <= MOST_FLIPPED:
            ends.append(self._flip(alpha))
        return max(min(ends), -self.limit)

    def p(self, mean: float) -> float:
        """Return the one-sided p of H0: the mean is at most `mean`; 1 at a mean that is impossible to be below."""
        if mean <= -self.limit:
            return 1.0
        if self.groups is None:
            return self._chance_of_items(mean)
        p_values = [self._chance_of_items(mean), self._chance_of_clusters(mean)]
        if self.error.se > 0:
            t = (self.groups.item_weighted - mean) / self.error.se
            p_values.append(t_tail(t, self.error.df, "greater"))
        sums, sizes = self.groups.sums, self.groups.sizes
        if len(sums) <= MOST_FLIPPED:
            tail = flip_tail if len(sums) <= MOST_CLUSTERS else tail_of_many
            p_values.append(tail(sums, sizes, mean))
        return max(p_values)

    def p_of_more(self, shift: float, times: float, mean: float) -> float:
        """Return the p of `times` as many values, and clusters, moved by `shift`, by Gaffke's bounds alone."""
        values = np.clip(self.values + shift, -self.limit, self.limit)
        ones = np.ones(len(values))
        p = gaffke.chance_below(values, ones, times * self.counts / self.worth, -self.limit, 1.0, mean)
        if self.groups is not None:
            sizes, most = self.groups.sizes, self.limit * self.groups.sizes
            sums = np.clip(self.groups.sums + shift * sizes, -most, most)
            shapes = np.full(len(sums), times)
            p = max(p, gaffke.chance_below(sums, sizes, shapes, -self.limit, self._unseen_items, mean))
        return p

    def _of_items(self, alpha: float) -> float:
        ones = np.ones(len(self.values))
        return gaffke.lower_end(self.values, ones, self.counts / self.worth, -self.limit, 1.0, alpha)

    def _chance_of_items(self, mean: float) -> float:
        ones = np.ones(len(self.values))
        return gaffke.chance_below(self.values, ones, self.counts / self.worth, -self.limit, 1.0, mean)

    def _of_clusters(self, alpha: float) -> float:
        groups = self._groups
        ones = np.ones(groups.n_clusters)
        return gaffke.lower_end(groups.sums, groups.sizes, ones, -self.limit, self._unseen_items, alpha)

    def _chance_of_clusters(self, mean: float) -> float:
        groups = self._groups
        ones = np.ones(groups.n_clusters)
        return gaffke.chance_below(groups.sums, groups.sizes, ones, -self.limit, self._unseen_items, mean)

    def _flip(self, alpha: float) -> float:
        groups = self._groups
        if groups.n_clusters > MOST_CLUSTERS:
            return low_of_many(groups.sums, groups.sizes, alpha)
        low, _ = flip_interval(groups.sums, groups.sizes, alpha)
        return -self.limit if low is None else low

    @property
    def _unseen_items(self) -> float:
        """Items of the cluster that was not seen."""
        return float(unseen_items(self._groups, self.unseen, np.array(self.worth)))

    @property
    def _groups(self) -> ClusterSums:
        assert self.groups is not None  # noqa: S101 - asked for with clusters alone
        return self.groups


def unseen_items(groups: ClusterSums, unseen: Unseen, worth: Floats) -> Floats:
    """Return how many items a cluster not seen has, where `worth` of them count for one; shaped as that is."""
    if unseen == "clusters":
        return np.full(worth.shape, groups.sizes.max())
    return lost_unseen(worth, groups.typical_size)


def items_for_one(values: Floats, counts: Floats, groups: ClusterSums, error: RobustError) -> float:
    """Return how many items count for one: the design effect, at least 1, times (t / z)^2 of its clusters.

    The degrees of freedom are CR2's, or where they are fewer those of a variance of residuals with such tails,
    2 G / (kurtosis - 1): a few large clusters that differ leave the rest unmeasured. Where clusters do not differ
    nothing is known of their effect, and the largest cluster counts for one item.
    """
    n, largest = float(counts.sum()), float(groups.sizes.max())
    apart = values - float(values @ counts) / n
    independent = float(counts @ apart**2) / max(n - 1, 1) / n
    if independent <= 0 or error.se <= 1e-12 * float(np.abs(values).max(initial=0.0)):
        return largest
    squares = (groups.residuals / largest_size(groups.residuals)) ** 2
    tails = float((squares**2).mean()) / float(squares.mean()) ** 2
    # Var(s^2) is (kurtosis - 1) sigma^4 / G, and 2 sigma^4 / df of a chi-square law: alike at df = 2 G / (kurtosis -
    # 1).
    df = max(min(error.df, 2 * groups.n_clusters / (tails - 1) if tails > 1 else math.inf), 1.0)
    few = t_quantile(TWO_SIDED, df) / t_quantile(TWO_SIDED, math.inf)
    return max(error.se**2 / independent, 1.0) * few**2
