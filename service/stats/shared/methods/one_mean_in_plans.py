"""The interval that decides of one mean, on many data sets at once: for power and level.

What a clause asks is on which side of a limit a bound lies. As bounds and tests go together, that is the side of `tail`
on which the p-value of the limit lies, and a p-value is cheaper than a bound: `margins` answers with a number that lies
on the bound's side of the limit, and says nothing else of it.

In clusters a claim, which errs on one side, is read from the furthest of three intervals: CR2 alone errs up to .045 of
the time where it says .025 (docs/one-arm.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.numeric.clusters import lost_unseen, typical_size
from service.kernels.planning import gaffke_many
from service.kernels.planning.simulated_pairs import robust
from service.stats.shared.data.score_range import ScoreRange
from service.stats.shared.declaring.one_arm import OneArmSets
from service.stats.shared.methods.bounded_in_plans import items_for_one_of_many
from service.stats.shared.methods.one_mean import DUST, SHARES, ShareMethod

Floats = NDArray[np.float64]
End = Literal["low", "high"]


@dataclass(frozen=True, eq=False)
class OneMeanSets:
    """T columns (T, n) of item values between the ends of a range; `sizes` (G,) of clusters that stand in order.

    Instead of values, how many of n independent items are at the greater end, all others at the lesser.
    """

    values: Floats | None = field(repr=False)
    sizes: NDArray[np.int64] | None
    scale: ScoreRange
    share: ShareMethod = "clopper-pearson"
    counts: Floats | None = field(default=None, repr=False)
    of: int = 0

    @classmethod
    def of_sets(cls, sets: OneArmSets, share: ShareMethod) -> OneMeanSets:
        """Return the mean from the items' values."""
        scale = ScoreRange(low=sets.low, high=sets.high)
        return cls(sets.values, sets.sizes, scale, share, sets.right, sets.n)

    def margins(self, end: End, limit: float, tail: float) -> Floats:
        """Return (T,) numbers on the side of `limit` on which the deciding interval's end at level `tail` lies."""
        if end == "low":
            return np.asarray(limit + tail - self.p_above(limit))
        return np.asarray(limit - tail + self.p_below(limit))

    def p_above(self, mean: float) -> Floats:
        """Return the one-sided p (T,) of H0: the true mean is at most `mean`."""
        return self._p(mean, 1)

    def p_below(self, mean: float) -> Floats:
        """Return the one-sided p (T,) of H0: the true mean is at least `mean`."""
        return self._p(mean, -1)

    @cached_property
    def means(self) -> Floats:
        """The mean of the items of every data set, (T,)."""
        if self.values is None:
            return np.asarray(self.scale.low + self.scale.length * self._right / self._n)
        return np.asarray(self.values.mean(axis=1))

    @cached_property
    def binary(self) -> bool:
        """Every item of every set is at one end of the range or the other."""
        return self.values is None or bool(np.isin(self.values, (self.scale.low, self.scale.high)).all())

    @cached_property
    def _right(self) -> Floats:
        """Items at the greater end, (T,)."""
        if self.values is None:
            assert self.counts is not None  # noqa: S101 - one of the two is there
            return self.counts
        return np.asarray((self.values == self.scale.high).sum(axis=1), dtype=np.float64)

    @property
    def _n(self) -> int:
        return self.of if self.values is None else self.values.shape[1]

    def _p(self, mean: float, side: Literal[1, -1]) -> Floats:
        """One-sided p (T,) of H0: the true mean is at most `mean` (side 1), or at least `mean` (side -1)."""
        # Nothing lies beyond an end of the scale, and everything on this side of it.
        if not self.scale.low < mean < self.scale.high:
            inside = (mean <= self.scale.low) == (side > 0)
            return np.full(len(self.means), 1.0 if inside else 0.0)
        if self.sizes is not None:
            return self._of_clusters(mean, side)
        if self.binary:
            return self._of_share(mean, side)
        return self._gaffke(mean, side, *self._cells)

    def _of_share(self, mean: float, side: Literal[1, -1]) -> Floats:
        """One-sided p of independent items that are right or wrong, by the number that is right."""
        n, inside = self._n, (mean - self.scale.low) / self.scale.length
        counts, back = np.unique(self._right, return_inverse=True)
        kinds = (SHARES[self.share](float(count), float(n)) for count in counts)
        p = [kind.p_above(inside) if side > 0 else kind.p_below(inside) for kind in kinds]
        return np.asarray(np.array(p)[back.reshape(-1)])

    @cached_property
    def _cells(self) -> tuple[Floats, Floats]:
        """Values with the number of items that have each, (T, V) or one row of either."""
        if self.values is None or self.binary:
            right = self._right
            ends = np.array([[self.scale.low, self.scale.high]])
            return ends, np.stack([self._n - right, right], axis=1)
        return gaffke_many.spread_over_grid(self.values)

    def _gaffke(self, mean: float, side: Literal[1, -1], values: Floats, shapes: Floats) -> Floats:
        if side > 0:
            return gaffke_many.chances_below(values, shapes, self.scale.low, mean)
        return gaffke_many.chances_below(-values, shapes, -self.scale.high, -mean)

    @cached_property
    def _sums(self) -> Floats:
        """The sum of every cluster, (T, G)."""
        assert self.sizes is not None and self.values is not None  # noqa: S101, PT018 - callers have clusters
        starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        return np.asarray(np.add.reduceat(self.values, starts, axis=1))

    @cached_property
    def _by_clusters(self) -> tuple[Floats, Floats, float, NDArray[np.bool_], Floats]:
        """Mean, CR2 error (T,), its degrees of freedom, where nothing varies, and the effective items, (T,)."""
        assert self.sizes is not None and self.values is not None  # noqa: S101, PT018 - callers have clusters
        sums = self._sums
        sizes = self.sizes.astype(np.float64)
        mean, se, df = robust("cr2", sums, self.sizes)
        flat = se <= DUST * np.abs(self.values).max(axis=1, initial=0.0)
        values, shapes = self._cells
        shapes = np.broadcast_to(shapes, (len(sums), shapes.shape[1]))
        worth = items_for_one_of_many(values, shapes, sums, sizes, se, df)
        effective = np.where(flat, float(len(sizes)), self._n / worth)
        return mean, se, df, flat, effective

    def _of_clusters(self, limit: float, side: Literal[1, -1]) -> Floats:
        """The largest p of CR2 t, of Korn and Graubard's interval and of whole clusters; where nothing varies that of
        the second alone."""
        assert self.sizes is not None  # noqa: S101 - callers have clusters
        mean, se, df, flat, effective = self._by_clusters
        t = side * (mean - limit) / np.where(flat, 1.0, se)
        by_t = special.stdtr(df, -t)
        if self.binary:
            inside = (limit - self.scale.low) / self.scale.length
            right = (mean - self.scale.low) / self.scale.length * effective
            right, wrong = np.clip(right, 0.0, effective), np.clip(effective - right, 0.0, effective)
            mine, other, at = (right, wrong, inside) if side > 0 else (wrong, right, 1 - inside)
            by_items = np.where(mine <= 0, 1.0, special.betainc(np.maximum(mine, 1e-300), other + 1, at))
        else:
            values, shapes = self._cells
            rows = np.broadcast_to(shapes, (len(mean), shapes.shape[1]))
            worth = self._n / effective
            by_items = self._gaffke(limit, side, values, rows / worth[:, None])
        least = self.scale.low if side > 0 else -self.scale.high
        limits, sizes = np.full(len(mean), side * limit), self.sizes.astype(np.float64)
        unseen = lost_unseen(self._n / effective, typical_size(sizes))
        by_blocks = gaffke_many.chances_of_blocks(side * self._sums, sizes, least, limits, unseen)
        return np.asarray(np.where(flat, by_items, np.maximum(np.maximum(by_t, by_items), by_blocks)))
