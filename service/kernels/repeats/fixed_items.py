"""Means of these very items, of which runs alone vary: an error from what runs vary by, and from what none showed.

The mean of n items with r runs has the variance V = sum of s_i^2 / r_i over n^2, and Student's t bounds it where runs
differ in the usual way; its degrees of freedom are Satterthwaite's, and at most twice the cells whose runs differ.
Where runs seldom differ, the estimate and its error go together, and losses that no run shows are in neither. So each
end is the further of t's and of this: the most that one run can move the mean to that side is a step; what runs vary by
is counted in steps, k = V / step^2, as if all of it were runs that lose a whole step; and Clopper and Pearson's limit
of k among N says how many there may be, N being the steps that all runs together can lose. Of right and wrong, k is
the number of wrong runs where no item has two.

Where no run differs from another of its item, k is 0, and N (1 - tail^(1/N)) steps are what it takes for such data to
be seen with that chance. With rooms b_c <= step of the r_c runs of a cell, whose chance of a loss is 1 - exp(-y_c), the
loss sum r_c b_c (1 - exp(-y_c)) under sum r_c y_c = -log(tail) is at most that, by Jensen's inequality: no truth
further away shows data without a loss as often.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DUST = 1e-14
"""A run this close to the mean of its item, in relation to its size, does not differ from it."""

MOST_TAIL = 0.5
"""The largest p that is told: at the estimate itself, and for values on its other side."""

LOW, HIGH = 0, 1
"""Which end of an interval is meant."""


@dataclass(frozen=True, eq=False)
class Cells:
    """One arm in T data sets: of every item the mean of its runs, and what that mean's variance is estimated as."""

    means: Floats
    """Mean of every item's runs, (T, n)."""
    variances: Floats
    """s_i^2 / r_i, (T, n)."""
    runs: Floats
    """Runs of every item, (n,)."""
    least: Floats
    """The least of an item's runs, (T, n)."""
    greatest: Floats
    """The greatest of an item's runs, (T, n)."""


def cells_of(runs: list[NDArray[np.float64]] | Floats) -> Cells:
    """Make one data set: of every item its runs. Two runs or more of each."""
    counts = np.array([len(of) for of in runs], dtype=np.float64)
    flat = np.concatenate([np.asarray(of, dtype=np.float64) for of in runs])
    items = np.repeat(np.arange(len(counts)), counts.astype(np.int64))
    means = np.bincount(items, weights=flat) / counts
    away = flat - means[items]
    away[np.abs(away) <= DUST * np.abs(flat)] = 0.0
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
    return Cells(
        means[None],
        (np.bincount(items, weights=away * away) / (counts - 1) / counts)[None],
        counts,
        np.minimum.reduceat(flat, starts)[None],
        np.maximum.reduceat(flat, starts)[None],
    )


def cells_of_sets(runs: Floats) -> Cells:
    """T data sets of as many runs of every item, (T, n, r)."""
    count = runs.shape[2]
    return Cells(
        runs.mean(axis=2),
        runs.var(axis=2, ddof=1) / count,
        np.full(runs.shape[1], float(count)),
        runs.min(axis=2),
        runs.max(axis=2),
    )


def cells_of_counts(right: Ints, runs: int) -> Cells:
    """T data sets (T, n) by how many of so many runs of every item are right."""
    means = right / runs
    return Cells(
        means,
        means * (1 - means) / (runs - 1),
        np.full(right.shape[1], float(runs)),
        (right == runs).astype(np.float64),
        (right > 0).astype(np.float64),
    )


@dataclass(frozen=True, eq=False)
class RunSets:
    """T data sets of one arm, or of two: the mean of the last less that of the first."""

    arms: tuple[Cells, ...]
    low: float
    """The least value a run can have."""
    high: float

    @cached_property
    def estimate(self) -> Floats:
        """The mean, or the difference, (T,)."""
        means = [cells.means.mean(axis=1) for cells in self.arms]
        return np.asarray(means[0] if len(means) == 1 else means[1] - means[0])

    @property
    def n(self) -> int:
        """The number of items, the same in both arms."""
        return int(self.arms[0].means.shape[1])

    @cached_property
    def _variances(self) -> Floats:
        """The variance of every cell's mean, cells of both arms side by side, (T, cells)."""
        return np.concatenate([cells.variances for cells in self.arms], axis=1)

    @cached_property
    def _runs(self) -> Floats:
        """Runs of every cell, cells of both arms side by side, (cells,)."""
        return np.concatenate([cells.runs for cells in self.arms])

    @cached_property
    def _shares(self) -> Floats:
        """What a cell has of the variance, (T, cells): squares of small variances do not vanish; NaN where all is 0."""
        total = self._variances.sum(axis=1, keepdims=True)
        nothing = np.full_like(self._variances, np.nan)
        return np.asarray(np.divide(self._variances, total, out=nothing, where=total > 0))

    @cached_property
    def se(self) -> Floats:
        """Standard error of the estimate, (T,); 0 where no run differs from another of its cell."""
        return np.asarray(np.sqrt(self._variances.sum(axis=1)) / self.n)

    @cached_property
    def df(self) -> Floats:
        """Degrees of freedom of that error, (T,); NaN where there is none."""
        squares = self._shares**2
        satterthwaite = 1 / (squares / (self._runs - 1)).sum(axis=1)
        # twice the effective number of cells whose runs differ, (sum of shares)^2 over the sum of their squares: how
        # many there are is chance too
        return np.asarray(np.minimum(satterthwaite, 2 / squares.sum(axis=1)))

    @property
    def step(self) -> float:
        """The most that one run can move the estimate by."""
        return float((self.high - self.low) / (self.n * self._runs.min()))

    @property
    def reach(self) -> tuple[float, float]:
        """What the estimate cannot be below and above."""
        if len(self.arms) == 1:
            return self.low, self.high
        return self.low - self.high, self.high - self.low

    def ends(self, tail: float) -> tuple[Floats, Floats]:
        """Return both ends, each of which the truth lies beyond with the chance `tail`, (T,) each."""
        varies = self.se > 0
        t = special.stdtrit(np.where(varies, self.df, 1.0), 1 - tail)
        by_t = np.where(varies, t * self.se, 0.0)
        low, high = (np.maximum(by_t, self._unseen(end).reach(tail)) for end in (LOW, HIGH))
        least, most = self.reach
        return np.maximum(self.estimate - low, least), np.minimum(self.estimate + high, most)

    def p_above(self, value: float) -> Floats:
        """One-sided p of the truth being `value` or less: the least tail whose lower end lies above it, (T,)."""
        return self._p(self.estimate - value, LOW)

    def p_below(self, value: float) -> Floats:
        """Return the one-sided p of the truth being `value` or more, (T,)."""
        return self._p(value - self.estimate, HIGH)

    def _p(self, away: Floats, end: int) -> Floats:
        varies = self.se > 0
        scaled = np.where(varies, -away / np.where(varies, self.se, 1.0), -np.inf)
        by_t = np.where(varies, special.stdtr(np.where(varies, self.df, 1.0), scaled), 0.0)
        p = np.minimum(np.maximum(by_t, self._unseen(end).p(away)), MOST_TAIL)
        return np.asarray(np.where(away > 0, p, MOST_TAIL))

    def _unseen(self, end: int) -> Unseen:
        """What runs may lose, or win at the high end: a candidate's of what it has, a baseline's of what it has not."""
        rooms = []
        for place, cells in enumerate(self.arms, 1):
            falls = (place == len(self.arms)) == (end == LOW)
            room = cells.greatest - self.low if falls else self.high - cells.least
            rooms.append(np.maximum(room, 0.0) / cells.runs / self.n)
        steps = np.concatenate(rooms, axis=1)
        step = steps.max(axis=1)
        whole = np.where(step > 0, step, 1.0)
        number = np.where(step > 0, ((steps / whole[:, None]) @ self._runs), 1.0)
        # within the range it is at most half
        seen = np.minimum(np.where(step > 0, (self.se / whole) ** 2, 0.0), number / 2)
        return Unseen(step, number, seen)


@dataclass(frozen=True, slots=True)
class Unseen:
    """Clopper and Pearson's limit of runs that lose a whole step, as the variance counts them; (T,) each."""

    step: Floats
    number: Floats
    seen: Floats

    def reach(self, tail: float) -> Floats:
        """Return how far from the estimate the truth may lie with the chance `tail`."""
        share = special.betaincinv(self.seen + 1, self.number - self.seen, 1 - tail)
        return np.asarray((self.number * share - self.seen) * self.step)

    def p(self, away: Floats) -> Floats:
        """Return the tail at which it reaches so far."""
        share = (self.seen + away / np.where(self.step > 0, self.step, 1.0)) / self.number
        p = special.betaincc(self.seen + 1, self.number - self.seen, np.clip(share, 0.0, 1.0))
        return np.asarray(np.where(self.step > 0, p, MOST_TAIL))
