"""The bounds of a suite and of its tasks on many data sets at once, for power and level.

The arithmetic is that of `design` and `rare`, for suites whose clusters each lie within one task and whose scores have
a known range: what a data set tells is then a few numbers for each of its tasks. Arrays are (D, T): data sets by tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.numeric.binomial import limits_of_share
from service.kernels.suites.rare import UNSEEN_PART_OF_TASK, unevenness

Floats = NDArray[np.float64]
ENOUGH_EVENTS = 5.0
"""Items lost from which on the loss of one more is feared, and not of a whole cluster."""

WIDEST = 1e100
"""Of what variances are widened by, so that their squares stay in range."""

DUST = 1e-13
"""A variance below this share of the squared range is rounding."""


@dataclass(frozen=True, eq=False)
class Side:
    """Means of what is lost, or of what is gained, with their variances; (D,) or (D, T)."""

    mean: Floats
    variance: Floats


@dataclass(frozen=True, eq=False)
class TaskUnits:
    """Items and clusters of the tasks, (T,), and what follows for the error of their means."""

    items: Floats
    units: Floats
    trace: Floats
    """Of B, by unit of spread: `design.Design.df` has the formula."""
    square: Floats
    """Of B squared."""
    unevenness: float
    """Of the sizes of all clusters: `rare.unevenness`."""

    @classmethod
    def of(cls, sizes: list[NDArray[np.int64]]) -> TaskUnits:
        """Return the tasks from the sizes of their clusters; all 1 where items are independent."""
        rows = []
        for task in sizes:
            size, n = task.astype(np.float64), float(task.sum())
            share = size / n
            # CR2: a cluster's leverage in its task's mean is its share of the items (Bell & McCaffrey 2002). A task of
            # one cluster has leverage 1, and no degrees of freedom that say anything: its factor has to stay finite
            factor = 1 / (n**2 * np.maximum(1 - share, np.finfo(float).tiny))
            own = factor * size
            square = float(own**2 @ (1 - 2 * share)) + float(own @ share) ** 2
            rows.append((n, float(len(task)), float(own @ (1 - share)), square))
        items, units, trace, squares_of_b = np.array(rows).T
        return cls(items, units, trace, squares_of_b, unevenness(np.concatenate(sizes)))

    @property
    def task_df(self) -> Floats:
        """Degrees of freedom of every task alone, (T,)."""
        return np.asarray(self.trace**2 / self.square)


def sums_by_unit(sums: Floats, sizes: NDArray[np.int64]) -> Side:
    """Return the mean (D,) and CR2 variance (D,) of one task, from sums by cluster (D, G)."""
    n = float(sizes.sum())
    mean = sums.sum(axis=1) / n
    residual = sums - mean[:, None] * sizes
    factor = 1 / (n**2 * (1 - sizes / n))
    return Side(mean, np.asarray(residual**2 @ factor))


def counts(ones: Floats, n: int) -> Side:
    """Return the mean and variance (D,) of n independent items of 0 and 1, from how many are 1, (D,)."""
    mean = ones / n
    return Side(mean, mean * (1 - mean) / (n - 1))


@dataclass(frozen=True, eq=False)
class ManySuites:
    """D data sets of one suite. `column` and `spread` (D, T) are of what is averaged, `spread` over items.

    `low`, `high` (T,): between what outcomes of one arm lie. `sides`: what is lost and what is gained, of two arms.
    `right_or_wrong`: outcomes lie at these ends alone.
    """

    units: TaskUnits
    weights: Floats
    column: Side
    spread: Floats
    low: Floats
    high: Floats
    sides: tuple[Side, Side] | None = None
    right_or_wrong: bool = False

    @property
    def means(self) -> Floats:
        """The mean of the suite in every data set, (D,)."""
        return np.asarray(self.column.mean @ self.weights)

    @cached_property
    def _length(self) -> Floats:
        return np.asarray(self.high - self.low)

    @cached_property
    def _variance(self) -> Floats:
        """Variance of the tasks' means, (D, T); rounding is 0."""
        return np.where(self.column.variance <= DUST * self._length**2, 0.0, self.column.variance)

    @cached_property
    def _unseen(self) -> Floats:
        """What one more item could move its task by, (D, T)."""
        units = self.units
        clustered = units.items / units.units
        # an item brings its like along: as many items as the design effect says, at least itself and at most a cluster
        with np.errstate(divide="ignore", invalid="ignore"):
            effect = self._variance / (self.spread / units.items)
        effect = np.clip(np.nan_to_num(effect, posinf=np.inf), 1.0, clustered)
        return np.asarray(self._length / units.items * np.where(self._variance > 0, effect, clustered))

    def ends(self, tail: float) -> tuple[Floats, Floats]:
        """Return both bounds of the suite's mean, (D,), each at level `tail`."""
        w, units = self.weights, self.units
        variance = self._variance @ w**2
        weighed = self.spread * w**2
        # Satterthwaite over tasks: (sum of variances)^2 over the sum of squares, as in `design.Design.df`
        with np.errstate(divide="ignore", invalid="ignore"):
            df = (weighed @ units.trace) ** 2 / (weighed**2 @ units.square)
        df = np.where(np.isfinite(df) & (df > 0), df, 1.0)
        item = w * self._length
        # what one whole cluster could move the suite by: the average one, or that of the task where it weighs most
        whole = max(float(item.sum() / units.units.sum()), float(np.max(item / units.units)))
        independent = (self.spread / units.items) @ w**2
        with np.errstate(divide="ignore", invalid="ignore"):
            effect = np.where(independent > 0, variance / independent, 1.0)
        # clusters may be more alike over the suite than task by task: the greater design effect is reckoned with
        tied = float(np.max(item / units.items)) * np.maximum(effect, 1.0)
        event = np.minimum(np.maximum(np.max(w * self._unseen, axis=1), tied), whole)
        sides = None
        if self.sides is not None:
            event = np.maximum(event, UNSEEN_PART_OF_TASK * whole * units.unevenness)
            lost, gained = (Side(side.mean @ w, side.variance @ w**2) for side in self.sides)
            sides = lost, gained
        ends = float(w @ self.low), float(w @ self.high)
        return _ends(Side(self.means, variance), df, sides, (event, np.asarray(whole)), ends, tail)

    def task_ends(self, tail: float) -> tuple[Floats, Floats]:
        """Return both bounds of every task's mean, (D, T), each at level `tail`."""
        units = self.units
        column = Side(self.column.mean, self._variance)
        item, whole = self._unseen, self._length / units.units
        if self.sides is not None:
            item = np.maximum(item, UNSEEN_PART_OF_TASK * whole * units.unevenness)
        events = item, whole
        ends = _ends(column, units.task_df, self.sides, events, (self.low, self.high), tail)
        if self.sides is not None or not self.right_or_wrong:
            return ends
        # one arm's share of independent items has exact limits, as it has alone
        right = np.rint((column.mean - self.low) / self._length * units.items)
        exact, alone = limits_of_share(right, units.items, tail), units.units == units.items
        low, high = (
            np.where(alone, self.low + share * self._length, end)
            for share, end in zip(exact, ends, strict=True)
        )
        return low, high


def _ends(
    column: Side,
    df: Floats,
    sides: tuple[Side, Side] | None,
    events: tuple[Floats, Floats],
    ends: tuple[Floats | float, Floats | float],
    tail: float,
) -> tuple[Floats, Floats]:
    """Return the further of t and of what was not seen, at each end; `events` are an item's and a whole cluster's."""
    # what the gamma bounds lack of t's few degrees of freedom: both meet where the data are many
    quantile, z = -special.stdtrit(df, tail), -float(special.ndtri(tail))
    widened: Floats = np.asarray(quantile / z, dtype=np.float64)
    se = np.sqrt(column.variance)
    low, high = ends
    if sides is not None:
        lost, gained = sides
        least, most = low - high, high - low
    else:
        # one arm can only fall from the top of its range, and rise from the bottom
        lost = Side(np.maximum(high - column.mean, 0.0), column.variance)
        gained = Side(np.maximum(column.mean - low, 0.0), column.variance)
        least, most = low, high
    paired = sides is not None
    down = _reach(lost, gained if paired else None, _event(lost, events, paired=paired), tail, widened)
    up = _reach(gained, lost if paired else None, _event(gained, events, paired=paired), tail, widened)
    down, up = np.maximum(quantile * se, down), np.maximum(quantile * se, up)
    return np.maximum(column.mean - down, least), np.minimum(column.mean + up, most)


def _event(rate: Side, events: tuple[Floats, Floats], *, paired: bool) -> Floats:
    item, whole = events
    # of one arm the event of an item is enough where five of them were seen; before that a whole cluster is feared
    return item if paired else np.where(rate.mean >= ENOUGH_EVENTS * item, item, whole)


def _reach(down: Side, up: Side | None, unseen: Floats, tail: float, widened: Floats) -> Floats:
    """Return how far the mean may lie beyond the estimate: `rare.Rare.reach`."""
    # the loss as a gamma variable with the mean and variance that were seen and one more event: Fay and Feuer's bound
    more, event = down.mean + unseen, unseen**2
    variance = down.variance + event
    lost = (more**2 == 0) | (variance == 0)  # too small beside the other tasks to be computed with
    more, variance = np.where(lost, 1.0, more), np.where(lost, 1.0, variance)
    far = special.gammainccinv(more**2 / variance, tail) * (variance / more) - down.mean
    far = far * np.sqrt((down.variance * np.minimum(widened, WIDEST) ** 2 + event) / variance)
    far = np.where(lost, np.inf, far)
    near: Floats = np.zeros_like(far)
    if up is not None:
        there = (up.mean > 0) & (up.variance > 0)
        mean, spread = np.where(there, up.mean, 1.0), np.where(there, up.variance, 1.0)
        least = special.gammaincinv(mean**2 / spread, tail) * (spread / mean)
        near = np.where(there, np.minimum((mean - least) * widened, mean), 0.0)
    # Zou & Donner (2008): of a difference the distances of both bounds from their estimates add up by squares
    return np.asarray(np.hypot(np.maximum(far, 0.0), np.maximum(near, 0.0)))
