"""Bounds of a weighted mean that know of losses too rare to have been seen.

The mean of a suite is a sum of rates under weights, as a directly standardized rate is: a weighted sum of counts. An
upper bound of such a sum takes one more event of the largest weight and is the quantile of a gamma law with that mean
and variance (Fay & Feuer 1997, Stat Med 16:791): of one task of independent items without any event it is -log(tail)/n.
A difference is gains less losses, whose bounds are put together by the squares of their distances (Zou & Donner 2008,
Stat Med 27:1693). Each end of an interval is the further of this and of Student's t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.numeric.binomial import limits_of_share
from service.kernels.numeric.t_distribution import t_quantile, t_tail
from service.kernels.pairs.mean_bounds import Furthest

NEAREST, FARTHEST = 1e-6, 25.0
"""z between which p-values are told: from .5 to 1e-138, and 0 below."""
STEPS = 60
"""Halvings of the z of a p-value: more than a double has digits."""

LEAST_P = float(special.ndtr(-FARTHEST))
UNSEEN_PART_OF_TASK = 0.2
"""How much of one more cluster, as large as that of an item is on average, bounds of two arms reckon with as lost
unseen. With an item, however much it stands for, the lower bound lay above the truth up to .09 of the time (intraclass
correlation .3, a twentieth to a fifth of items lost, 5 to 40 clusters), with this up to .047 (300 data sets a cell).
Of no more than 2.5 times that item, as bounds without tasks reckon, it gains nothing: it costs a twentieth in all."""
WIDEST = 1e100
"""Of what variances are widened by, so that their squares stay in range."""


def unevenness(sizes: NDArray[np.int64]) -> float:
    """Return the size that the cluster of an item has on average, over the mean size of the clusters (G,)."""
    size = sizes.astype(np.float64)
    return float(size @ size) * len(size) / float(size.sum()) ** 2


@dataclass(frozen=True, slots=True)
class Rate:
    """A weighted mean of amounts of 0 and more, with its variance."""

    mean: float
    variance: float


NONE = Rate(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Rare:
    """What moves a mean down and what moves it up, and the weight of a single item that was not seen on either side."""

    down: Rate
    up: Rate
    unseen: float

    @property
    def turned(self) -> Rare:
        """What moves minus the mean: up and down change places."""
        return Rare(self.up, self.down, self.unseen)

    def reach(self, tail: float, widened: float) -> float:
        """Return how far below the estimate the mean may lie. `widened`: t over z, for what is known of the variances.

        Distances are widened rather than variances, of which a gamma law with a mean near 0 knows too little.
        """
        # One more event of the largest weight, its mean and its variance (Fay & Feuer).
        more, event = self.down.mean + self.unseen, self.unseen**2
        variance = self.down.variance + event
        if more * more == 0 or variance == 0:  # too small beside the other tasks to be computed with
            return math.inf
        # gamma with that mean and variance: shape mean^2 / variance, scale variance / mean
        far = float(special.gammainccinv(more**2 / variance, tail)) * (variance / more) - self.down.mean
        far *= math.sqrt((self.down.variance * min(widened, WIDEST) ** 2 + event) / variance)
        near = 0.0
        if self.up.mean > 0 and self.up.variance > 0:
            spread = self.up.variance
            least = float(special.gammaincinv(self.up.mean**2 / spread, tail)) * (spread / self.up.mean)
            near = min((self.up.mean - least) * widened, self.up.mean)
        # Zou & Donner: of a difference the distances of both bounds from their estimates add up by squares.
        return math.hypot(max(far, 0.0), max(near, 0.0))


@dataclass(frozen=True, slots=True)
class SuiteBounds:
    """Bounds of one weighted mean: t about it, each end the further of that and of what was not seen.

    `below` and `above`: what is known of rare moves to either side; None where scores have no range. `least` and
    `greatest`: what the mean cannot be below or above. All of it is in `unit`, what is asked and answered is not. With
    `se` 0 and no range there are no bounds: do not ask.
    """

    mean: float
    se: float
    df: float
    below: Rare | None = None
    above: Rare | None = None
    least: float = -math.inf
    greatest: float = math.inf
    unit: float = 1.0

    @property
    def method(self) -> Literal["cr2_t", "furthest"]:
        """What an interval by these bounds is called."""
        return "cr2_t" if self.below is None else "furthest"

    def ends(self, tail: float) -> tuple[float, float]:
        """Lower and upper bound, each at level `tail`, a probability below .5."""
        low, high = self._compute_ends(tail)
        return low * self.unit, high * self.unit

    def p_above(self, mean: float) -> float:
        """One-sided p of H0: the true mean is at most `mean`, by these bounds; t from .5 on, 0 below `LEAST_P`."""
        return self._p(mean / self.unit, 0)

    def p_below(self, mean: float) -> float:
        """Return the one-sided p of H0: the true mean is at least `mean`."""
        return self._p(mean / self.unit, 1)

    def _compute_ends(self, tail: float) -> tuple[float, float]:
        """Return both ends of the interval with this tail beyond each, within the means that are possible."""
        quantile = -t_quantile(tail, self.df)
        z = -float(special.ndtri(tail))
        # what is known of the variances is worth as little to rare losses as it is to t
        widened = quantile / z
        down = up = quantile * self.se
        if self.below is not None:
            down = max(down, self.below.reach(tail, widened))
        if self.above is not None:
            up = max(up, self.above.reach(tail, widened))
        return max(self.mean - down, self.least), min(self.mean + up, self.greatest)

    def _p(self, mean: float, side: int) -> float:
        """Compute the one-sided p of `mean`, lower side 0 or upper side 1, by bisection of the level of its bound."""
        gap = (self.mean - mean) if side == 0 else (mean - self.mean)
        if gap <= 0:
            return max(0.5, t_tail(gap / self.se, self.df, "greater")) if self.se > 0 else 1.0

        def holds(z: float) -> bool:
            """Tell whether the bound at this z has not reached the value, so that the test rejects there."""
            bound = self._compute_ends(float(special.ndtr(-z)))[side]
            return bound > mean if side == 0 else bound < mean

        low, high = NEAREST, FARTHEST
        if holds(high):
            return 0.0
        if not holds(low):
            return 0.5
        for _ in range(STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if holds(middle) else (low, middle)
        return float(special.ndtr(-low))


@dataclass(frozen=True, slots=True)
class ShareBounds:
    """Exact bounds of one task of one arm whose items are independent, and right or wrong: Clopper and Pearson's.

    Answers as `SuiteBounds` does. An item counts `worst` or `best`, in `unit`; `right` of `n` count `best`.
    """

    right: int
    n: int
    worst: float
    best: float
    unit: float = 1.0
    method: ClassVar[Literal["clopper_pearson"]] = "clopper_pearson"

    @property
    def se(self) -> float:
        """Standard error of the mean, in `unit`."""
        share = self.right / self.n
        return (self.best - self.worst) * math.sqrt(share * (1 - share) / (self.n - 1))

    @property
    def df(self) -> float:
        """Degrees of freedom of that error; the bounds use neither."""
        return float(self.n - 1)

    def ends(self, tail: float) -> tuple[float, float]:
        """Lower and upper bound, each at level `tail`, a probability below .5."""
        low, high = (
            (self.worst + float(share) * (self.best - self.worst)) * self.unit
            for share in limits_of_share(np.array(self.right), self.n, tail)
        )
        return low, high

    def p_above(self, mean: float) -> float:
        """Return the one-sided p of H0: the true mean is at most `mean`, a binomial tail."""
        right, n = self.right, self.n
        return float(special.betainc(right, n - right + 1, self._share(mean))) if right else 1.0

    def p_below(self, mean: float) -> float:
        """Return the one-sided p of H0: the true mean is at least `mean`."""
        wrong, n = self.n - self.right, self.n
        return float(special.betainc(wrong, n - wrong + 1, 1 - self._share(mean))) if wrong else 1.0

    def _share(self, mean: float) -> float:
        return min(max((mean / self.unit - self.worst) / (self.best - self.worst), 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class NewTaskBounds(Furthest):
    """Bounds of the mean of tasks of which these are a sample: each end the further of t over them and of their own.

    What cannot be told of these tasks cannot be told of others like them: of few tasks that tie or nearly do the spread
    is small whatever losses their items have not shown.
    """

    tasks: SuiteBounds
    """t over the values of the tasks, whose error is told."""

    @classmethod
    def of(cls, tasks: SuiteBounds, these: SuiteBounds | ShareBounds | None) -> NewTaskBounds:
        """`these`: None where nothing bounds the mean of these tasks."""
        return cls((tasks,) if these is None else (tasks, these), tasks)

    @property
    def method(self) -> Literal["t", "furthest"]:
        """What an interval by these bounds is called."""
        return "t" if len(self.kinds) == 1 else "furthest"

    @property
    def se(self) -> float:
        """Standard error of the mean by the tasks, in `unit`."""
        return self.tasks.se

    @property
    def df(self) -> float:
        """Degrees of freedom of that error."""
        return self.tasks.df

    @property
    def unit(self) -> float:
        """The unit that the error is in."""
        return self.tasks.unit


Bounds: TypeAlias = SuiteBounds | ShareBounds | NewTaskBounds
