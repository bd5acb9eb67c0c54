"""The mean of a suite and of each of its tasks, with what bounds them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from service.kernels.numeric.clusters import largest
from service.kernels.suites.design import Design
from service.kernels.suites.rare import (
    NONE,
    UNSEEN_PART_OF_TASK,
    Bounds,
    Rare,
    Rate,
    ShareBounds,
    SuiteBounds,
    unevenness,
)

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
ENOUGH_EVENTS = 5.0
"""Events of one arm, each worth a design effect of items, below which whole clusters may have been missed: of nearly
perfect suites in 8 clusters the interval would else miss 18 times in 100."""
DUST = 1e-24
"""Share of the squared unit below which a variance is rounding."""


@dataclass(frozen=True, eq=False)
class Weighed:
    """A column (n,) of outcomes, or of differences (`paired`), under weights (T,).

    `low`, `high` (T,): between what outcomes of a task lie, NaN where nobody knows. `seen`: between what outcomes of
    each task were seen to lie (`find_seen_ends`), which stands for what nobody knows, with t beside; None: t alone
    there. `right_or_wrong`: every outcome of one arm is an end of its task's scale, and nothing between can be.
    """

    design: Design
    column: Floats
    weights: Floats
    low: Floats
    high: Floats
    paired: bool
    seen: tuple[Floats, Floats] | None = None
    right_or_wrong: bool = False

    @cached_property
    def unit(self) -> float:
        """The unit of all that is computed, in which squares of small and of large scores stay in range."""
        ends = np.nan_to_num(np.concatenate([self.low, self.high]))
        return largest(np.concatenate([self.column, ends]))

    @cached_property
    def scaled(self) -> Floats:
        """The column in that unit. Shape (n,)."""
        return np.asarray(self.column / self.unit)

    @cached_property
    def means(self) -> Floats:
        """The mean of every task, in score units. Shape (T,)."""
        return self.design.means(self.column)

    @property
    def mean(self) -> float:
        """The mean of the suite, in score units."""
        return math.fsum((self.weights * self.means).tolist())

    @property
    def item_weighted(self) -> float:
        """The mean of the items, whatever their tasks, in score units."""
        return float(self.design.items @ self.means) / len(self.column)

    @cached_property
    def scores(self) -> Floats:
        """What every cell adds to the mean of its task, in `unit`. Shape (cells,)."""
        return self.design.scores(self.scaled)

    @cached_property
    def variances(self) -> Floats:
        """Variance of the mean of every task, in squared `unit`; rounding is 0. Shape (T,)."""
        variances = self.design.variances(self.scores)
        return np.where(variances <= DUST * float(np.abs(self.scaled).max(initial=0.0)) ** 2, 0.0, variances)

    @cached_property
    def variance(self) -> float:
        """Variance of the mean of the suite, in squared `unit`; rounding is 0."""
        variance = self.design.variance(self.scores, self.weights)
        return 0.0 if not self.variances.any() or variance <= DUST * float(self.variances.max()) else variance

    @cached_property
    def spread(self) -> Floats:
        """Variance over the items of every task, in squared `unit`. Shape (T,)."""
        return self.design.spread(self.scaled)

    @cached_property
    def df(self) -> float:
        """Degrees of freedom of the suite's variance."""
        return self.design.df(self.weights, self.spread)

    @cached_property
    def lone(self) -> list[int]:
        """Tasks in a single cluster or of a single item, whose spread nothing tells."""
        return np.flatnonzero(self.design.units_of_task < 2).tolist()

    @cached_property
    def _length(self) -> Floats:
        """How far outcomes of a task can lie apart, or were seen to, in `unit`. Shape (T,)."""
        low, high = self._span
        return np.asarray((high - low) / self.unit)

    @cached_property
    def _span(self) -> tuple[Floats, Floats]:
        """Between what outcomes of a task lie, or were seen to; NaN where nothing tells. Shapes (T,)."""
        if self.seen is None:
            return self.low, self.high
        low, high = (
            np.where(self._bounded, known, seen)
            for known, seen in zip((self.low, self.high), self.seen, strict=True)
        )
        return low, high

    @cached_property
    def _unseen(self) -> Floats:
        """What one more item of a task could move its mean by, in `unit`. Shape (T,).

        An item of a cluster counts for as many as the design effect says, and for a cluster of the mean size where
        nothing varies, since nothing tells it then.
        """
        design = self.design
        clustered = design.items / design.units_of_task
        with np.errstate(divide="ignore", invalid="ignore"):
            effect = self.variances / (self.spread / design.items)
        effect = np.where(self.variances > 0, np.clip(np.nan_to_num(effect), 1.0, clustered), clustered)
        return np.asarray(self._length / design.items * effect)

    @property
    def _events(self) -> tuple[float, float]:
        """What one more item could move the suite by, and what a whole cluster of the mean size could, in `unit`.

        Where clusters tie tasks together the suite has a design effect of its own.
        """
        item = self.weights * self._length
        whole = float(max(item.sum() / self.design.n_units, np.max(item / self.design.units_of_task)))
        independent = float(self.weights**2 @ (self.spread / self.design.items))
        effect = self.variance / independent if independent > 0 else 1.0
        tied = float(np.max(item / self.design.items)) * max(effect, 1.0)
        return min(max(float(np.max(self.weights * self._unseen)), tied), whole), whole

    @property
    def task_span(self) -> tuple[float, float]:
        """Between what the mean of any task on these scales lies, in `unit`; infinite where a range is not known."""
        if not self._bounded.all():
            return -math.inf, math.inf
        if self.paired:
            most = float(np.max(self.high - self.low)) / self.unit
            return -most, most
        return float(np.min(self.low)) / self.unit, float(np.max(self.high)) / self.unit

    @cached_property
    def bounds(self) -> SuiteBounds | ShareBounds | None:
        """Bounds of the mean of the suite; None where nothing tells how far it may be off."""
        if self.design.n_tasks == 1 and self._shares:
            return self._shares[0]
        if self.lone or (self.variance <= 0 and not self._bounded.all()):
            return None
        rates = [
            Rate(float(self.weights @ means), self.design.variance(scores, self.weights))
            for means, scores in self._sides
        ]
        return self._bounds(self.mean, self.variance, self.df, self.weights, rates, self._events)

    @cached_property
    def task_bounds(self) -> list[Bounds | None]:
        """Bounds of every task's mean alone; exact where its items are independent, and one arm's right or wrong."""
        lone, tasks = set(self.lone), self.design.n_tasks
        sides = [(means, self.design.variances(scores)) for means, scores in self._sides]
        shares = self._shares
        parts: list[Bounds | None] = []
        for task in range(tasks):
            if task in shares:
                parts.append(shares[task])
                continue
            mean, variance, df = self.means[task], self.variances[task], self.design.task_df[task]
            rates = [Rate(float(means[task]), float(variances[task])) for means, variances in sides]
            known = task not in lone and (variance > 0 or self._bounded[task])
            # The weights of a suite that is this task alone.
            one = np.eye(1, tasks, task)[0]
            events = float(self._unseen[task]), float(self._length[task] / self.design.units_of_task[task])
            parts.append(
                self._bounds(float(mean), float(variance), float(df), one, rates, events) if known else None
            )
        return parts

    @cached_property
    def _shares(self) -> dict[int, ShareBounds]:
        """Exact bounds of the tasks whose mean is a share of independent items, by their number."""
        if not self.right_or_wrong or self.paired:
            return {}
        design = self.design
        right = np.bincount(
            design.tasks, weights=self.column == self.high[design.tasks], minlength=design.n_tasks
        )
        alone = (design.units_of_task == design.items) & (design.items > 1)
        return {
            int(task): ShareBounds(
                int(right[task]),
                int(design.items[task]),
                float(self.low[task]) / self.unit,
                float(self.high[task]) / self.unit,
                self.unit,
            )
            for task in np.flatnonzero(alone)
        }

    @cached_property
    def _bounded(self) -> NDArray[np.bool_]:
        """Whether it is known between what a task's outcomes lie. Shape (T,)."""
        return np.isfinite(self.high - self.low)

    def _bounds(
        self,
        mean: float,
        variance: float,
        df: float,
        weights: Floats,
        rates: list[Rate],
        events: tuple[float, float],
    ) -> SuiteBounds:
        """`mean` in score units, all else in `unit`; `rates` of what is lost and gained, of two arms."""
        estimate, se, unit = mean / self.unit, math.sqrt(variance), self.unit
        weighed = weights > 0
        if not np.isfinite(self._length[weighed]).all():
            return SuiteBounds(estimate, se, df, unit=unit)
        low, high = (float(weights[weighed] @ ends[weighed]) / unit for ends in self._span)
        if self.paired:
            losses, gains = rates
            least, most = low - high, high - low
        else:
            # one arm can only fall from the top of its range, and rise from the bottom
            losses, gains = (Rate(max(gap, 0.0), variance) for gap in (high - estimate, estimate - low))
            least, most = low, high
        if not self._bounded[weighed].all():
            least, most = -math.inf, math.inf  # what was seen is no range: it widens, and narrows nothing
        below, above = (
            Rare(one, other if self.paired else NONE, self._unit_of(one, events))
            for one, other in ((losses, gains), (gains, losses))
        )
        return SuiteBounds(estimate, se, df, below, above, least, most, unit)

    def _unit_of(self, rate: Rate, events: tuple[float, float]) -> float:
        """What has to be reckoned with as unseen: an item, of two arms no less than a part of a cluster; of one arm
        with few events a whole one."""
        item, whole = events
        if self.paired:
            return max(item, UNSEEN_PART_OF_TASK * whole * unevenness(np.bincount(self.design.units)))
        return item if rate.mean >= ENOUGH_EVENTS * item else whole

    @cached_property
    def _sides(self) -> list[tuple[Floats, Floats]]:
        """Means by task and scores by cell of what is lost and of what is gained, in `unit`; of two arms."""
        if not self.paired:
            return []
        sides = [np.maximum(-self.scaled, 0.0), np.maximum(self.scaled, 0.0)]
        return [(self.design.means(side), self.design.scores(side)) for side in sides]


def find_seen_ends(tasks: Codes, columns: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return between what outcomes of every task were seen to lie, in any arm. Shapes (T,).

    Of a task whose outcomes are all alike, what those of all tasks span: the data show no other scale, and alike is not
    certain. NaN where all are alike everywhere.

    Args:
        tasks: the task of each item, 0 to T - 1. Shape (n,).
        columns: outcomes of each arm, NaN where there is none. Shapes (n,).
    """
    count = int(tasks.max()) + 1
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    for column in columns:
        there = ~np.isnan(column)
        np.minimum.at(low, tasks[there], column[there])
        np.maximum.at(high, tasks[there], column[there])
    least, most = float(low.min()), float(high.max())
    if not most > least:
        return np.full(count, np.nan), np.full(count, np.nan)
    alike = ~(high > low)
    return np.where(alike, least, low), np.where(alike, most, high)
