"""Bounds of one mean, each with the test it is turned around from: Student's t, shares, and Gaffke's, also of blocks.

Every kind has `ends(tail)`, the lower and the upper bound each at level `tail`, and the one-sided p-values of a mean
at or below (`p_above`) and at or above (`p_below`) some value: a bound lies beyond a value just where that p is below
`tail`, so an interval and a test of one kind never disagree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.numeric.binomial import clopper_pearson, wilson
from service.kernels.numeric.t_distribution import t_quantile, t_tail
from service.kernels.pairs import gaffke

Floats = NDArray[np.float64]


class Tails(Protocol):
    """The one-sided p-values of a mean or a difference."""

    def p_above(self, mean: float) -> float:
        """Return the one-sided p of H0: the true mean is at most `mean`."""

    def p_below(self, mean: float) -> float:
        """Return the one-sided p of H0: the true mean is at least `mean`."""


def p_against_zero(bounds: Tails, alternative: str = "two-sided") -> float:
    """Return the p-value of H0: the true value is 0. Two-sided it is twice the smaller tail, at most 1."""
    if alternative == "greater":
        return bounds.p_above(0.0)
    if alternative == "less":
        return bounds.p_below(0.0)
    return min(2 * min(bounds.p_above(0.0), bounds.p_below(0.0)), 1.0)


class MeanBounds(Tails, Protocol):
    """Bounds of one kind, with the test that they are turned around from."""

    def ends(self, tail: float) -> tuple[float, float]:
        """Lower and upper bound, each at level `tail`, a probability below .5."""


@dataclass(frozen=True, slots=True)
class StudentBounds:
    """Student's t about an estimate with a standard error above 0; an infinite `df` is the normal law."""

    mean: float
    se: float
    df: float
    least: float = -math.inf
    greatest: float = math.inf
    """What the mean cannot be below or above: bounds are cut there."""

    def ends(self, tail: float) -> tuple[float, float]:
        """Lower and upper bound, each at level `tail`, a probability below .5."""
        half = t_quantile(1 - tail, self.df) * self.se
        return max(self.mean - half, self.least), min(self.mean + half, self.greatest)

    def p_above(self, mean: float) -> float:
        """Return the one-sided p of H0: the true mean is at most `mean`."""
        return t_tail((self.mean - mean) / self.se, self.df, "greater")

    def p_below(self, mean: float) -> float:
        """Return the one-sided p of H0: the true mean is at least `mean`."""
        return t_tail((self.mean - mean) / self.se, self.df, "less")


@dataclass(frozen=True, slots=True)
class ExactShare:
    """Clopper and Pearson's bounds of a share: `right` of `n`, which need not be whole numbers.

    Numbers that are not whole are those of an effective sample: Korn & Graubard (1998), Surv Methodol 24:193.
    """

    right: float
    n: float

    def ends(self, tail: float) -> tuple[float, float]:
        """Lower and upper bound, each at level `tail`, a probability below .5."""
        return clopper_pearson(self.right, self.n, 1 - 2 * tail)

    def p_above(self, mean: float) -> float:
        """One-sided p of H0: the true mean is at most `mean`; P(X >= right) of n items with the share `mean`."""
        # the tail of a binomial is an incomplete beta function, which takes numbers that are not whole as well
        return 1.0 if self.right <= 0 else float(special.betainc(self.right, self.n - self.right + 1, mean))

    def p_below(self, mean: float) -> float:
        """Return the one-sided p of H0: the true mean is at least `mean`; P(X <= right)."""
        wrong = self.n - self.right
        return 1.0 if wrong <= 0 else float(special.betainc(wrong, self.right + 1, 1 - mean))


@dataclass(frozen=True, slots=True)
class WilsonShare:
    """Wilson's score bounds of a share. Source: Wilson (1927), JASA 22:209."""

    right: float
    n: float

    def ends(self, tail: float) -> tuple[float, float]:
        """Lower and upper bound, each at level `tail`, a probability below .5."""
        return wilson(self.right, self.n, -float(special.ndtri(tail)))

    def p_above(self, mean: float) -> float:
        """Return the one-sided p of H0: the true mean is at most `mean`."""
        return float(special.ndtr(-self._z(mean)))

    def p_below(self, mean: float) -> float:
        """Return the one-sided p of H0: the true mean is at least `mean`."""
        return float(special.ndtr(self._z(mean)))

    def _z(self, mean: float) -> float:
        return (self.right / self.n - mean) / math.sqrt(mean * (1 - mean) / self.n)


@dataclass(frozen=True, slots=True)
class JeffreysShare:
    """The equal-tailed posterior under Beta(1/2, 1/2); its ends are 0 and 1 where none and all are right.

    `p_above` and `p_below` are posterior probabilities. Source: Brown, Cai & DasGupta (2001), Stat Sci 16:101.
    """

    right: float
    n: float

    def ends(self, tail: float) -> tuple[float, float]:
        """Lower and upper bound, each at level `tail`, a probability below .5."""
        a, b = self.right + 0.5, self.n - self.right + 0.5
        low = 0.0 if self.right == 0 else float(special.betaincinv(a, b, tail))
        return low, 1.0 if self.right == self.n else 1 - float(special.betaincinv(b, a, tail))

    def p_above(self, mean: float) -> float:
        """Return the posterior chance that the share is at most `mean`, in the place of a one-sided p."""
        return float(special.betainc(self.right + 0.5, self.n - self.right + 0.5, mean))

    def p_below(self, mean: float) -> float:
        """Return the posterior chance that the share is at least `mean`, in the place of a one-sided p."""
        return float(special.betainc(self.n - self.right + 0.5, self.right + 0.5, 1 - mean))


@dataclass(frozen=True, eq=False)
class GaffkeBounds:
    """Gaffke's bounds of the mean per item of blocks with `sums` (m,) over `sizes` (m,) items, or of single items.

    `shapes` (m,): how many blocks each stands for, which need not be whole. No item lies below `least` or above
    `greatest`; the block that was not seen has `unseen` items, all at the end that the bound looks to. Of items that
    are 0 or 1 the bounds are Clopper and Pearson's.

    Source: Gaffke (2005), Math Methods Statist 14:451; see `gaffke`.
    """

    sums: Floats
    sizes: Floats
    shapes: Floats
    least: float
    greatest: float
    unseen: float = 1.0
    _ends: dict[float, tuple[float, float]] = field(default_factory=dict, init=False, repr=False)
    """Ends by tail: each takes some ten inversions, and an answer asks for them more than once."""

    @classmethod
    def of_items(cls, values: Floats, least: float, greatest: float, worth: float = 1.0) -> GaffkeBounds:
        """Bounds of the mean of a column (n,), `worth` of whose items count for one; equal values are put together."""
        distinct, counts = np.unique(values, return_counts=True)
        return cls(distinct, np.ones(len(distinct)), counts / worth, least, greatest)

    def ends(self, tail: float) -> tuple[float, float]:
        """Lower and upper bound, each at level `tail`, a probability below .5."""
        if tail not in self._ends:
            low = gaffke.lower_end(self.sums, self.sizes, self.shapes, self.least, self.unseen, tail)
            # an upper bound is the lower one of the values turned around
            high = -gaffke.lower_end(-self.sums, self.sizes, self.shapes, -self.greatest, self.unseen, tail)
            self._ends[tail] = low, high
        return self._ends[tail]

    def p_above(self, mean: float) -> float:
        """Return the one-sided p of H0: the true mean is at most `mean`."""
        return gaffke.chance_below(self.sums, self.sizes, self.shapes, self.least, self.unseen, mean)

    def p_below(self, mean: float) -> float:
        """Return the one-sided p of H0: the true mean is at least `mean`."""
        return gaffke.chance_below(-self.sums, self.sizes, self.shapes, -self.greatest, self.unseen, -mean)


@dataclass(frozen=True, slots=True)
class Furthest:
    """Bounds of several kinds at once: at each end the one that says least."""

    kinds: Sequence[MeanBounds]

    def ends(self, tail: float) -> tuple[float, float]:
        """Lower and upper bound, each at level `tail`, a probability below .5."""
        lows, highs = zip(*(kind.ends(tail) for kind in self.kinds), strict=True)
        return min(lows), max(highs)

    def p_above(self, mean: float) -> float:
        """Return the one-sided p of H0: the true mean is at most `mean`."""
        return max(kind.p_above(mean) for kind in self.kinds)

    def p_below(self, mean: float) -> float:
        """Return the one-sided p of H0: the true mean is at least `mean`."""
        return max(kind.p_below(mean) for kind in self.kinds)
