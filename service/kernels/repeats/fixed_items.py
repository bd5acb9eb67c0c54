"""Means of these very items, of which runs alone vary: an error from the spread of each item's runs.

The mean of n items with r runs has the variance sum of s_i^2 / r_i over n^2. Student's t of it errs too often where
runs seldom differ: of rare failures the estimate and its error go together. So each half of the interval is longer by
(2 t^2 + 1) / 6 steps of a run, which is what the greatest skewness that such runs can have asks of a studentized mean
(Johnson 1978, J Am Stat Assoc 73:536; Hall 1992, J R Stat Soc B 54:221): a third moment is at most the variance times
the length of the range. Degrees of freedom are Satterthwaite's, and twice the number of cells whose runs differ at
most, since that number is chance too. Where no run differs from another of its cell each arm is bounded by Clopper and
Pearson's limits of the sum of its runs, which hold of runs with unlike chances (Hoeffding 1956).
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
LEAST_TAIL, MOST_TAIL = 1e-300, 0.5
HALVINGS = 200


@dataclass(frozen=True, eq=False)
class Cells:
    """One arm in T data sets: of every item the mean of its runs, and what that mean's variance is estimated as."""

    means: Floats
    """(T, n)."""
    variances: Floats
    """s_i^2 / r_i, (T, n)."""
    runs: Floats
    """Of every item, (n,)."""


def cells_of(runs: list[NDArray[np.float64]] | Floats) -> Cells:
    """One data set: of every item its runs. Two runs or more of each."""
    counts = np.array([len(of) for of in runs], dtype=np.float64)
    flat = np.concatenate([np.asarray(of, dtype=np.float64) for of in runs])
    items = np.repeat(np.arange(len(counts)), counts.astype(np.int64))
    means = np.bincount(items, weights=flat) / counts
    away = flat - means[items]
    away[np.abs(away) <= DUST * np.abs(flat)] = 0.0
    return Cells(means[None], (np.bincount(items, weights=away * away) / (counts - 1) / counts)[None], counts)


def cells_of_counts(right: Ints, runs: int) -> Cells:
    """T data sets (T, n) by how many of so many runs of every item are right."""
    means = right / runs
    return Cells(means, means * (1 - means) / (runs - 1), np.full(right.shape[1], float(runs)))


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

    @cached_property
    def _variances(self) -> Floats:
        """Of every cell of either arm, (T, cells)."""
        return np.concatenate([cells.variances for cells in self.arms], axis=1)

    @cached_property
    def se(self) -> Floats:
        """(T,); 0 where no run differs from another of its cell."""
        return np.asarray(np.sqrt(self._variances.sum(axis=1)) / self.arms[0].means.shape[1])

    @cached_property
    def df(self) -> Floats:
        """(T,); NaN where there is no error."""
        runs = np.concatenate([cells.runs for cells in self.arms])
        total = self._variances.sum(axis=1, keepdims=True)
        # in units of the whole, so that squares of small variances do not vanish
        shares = np.divide(self._variances, total, out=np.full_like(self._variances, np.nan), where=total > 0)
        satterthwaite = 1 / (shares**2 / (runs - 1)).sum(axis=1)
        return np.asarray(np.minimum(satterthwaite, 2 / (shares**2).sum(axis=1)))

    @property
    def step(self) -> float:
        """By how much one run can move the estimate at most."""
        n = self.arms[0].means.shape[1]
        fewest = min(float(cells.runs.min()) for cells in self.arms)
        return float((self.high - self.low) / (n * fewest))

    def ends(self, tail: float) -> tuple[Floats, Floats]:
        """Both ends, each of which the truth lies beyond with the chance `tail`, (T,) each."""
        varies = self.se > 0
        t = special.stdtrit(np.where(varies, self.df, 1.0), 1 - tail)
        half = t * self.se + (2 * t**2 + 1) / 6 * self.step
        low, high = self._of_sums(tail)
        floor, top = (
            (self.low, self.high) if len(self.arms) == 1 else (self.low - self.high, self.high - self.low)
        )
        return (
            np.maximum(np.where(varies, self.estimate - half, low), floor),
            np.minimum(np.where(varies, self.estimate + half, high), top),
        )

    def _of_sums(self, tail: float) -> tuple[Floats, Floats]:
        """By Clopper and Pearson's limits of each arm; two arms err by half of the tail each."""
        limits = [self._limits(cells, tail / len(self.arms)) for cells in self.arms]
        if len(limits) == 1:
            return limits[0]
        (low, high), (other_low, other_high) = limits
        return other_low - high, other_high - low

    def _limits(self, cells: Cells, tail: float) -> tuple[Floats, Floats]:
        """Of one arm's mean; of unlike numbers of runs as if each item had the fewest."""
        n = np.floor(cells.means.shape[1] * cells.runs.min())
        length = self.high - self.low
        total = np.clip((cells.means.mean(axis=1) - self.low) / length, 0.0, 1.0) * n
        least, most = np.floor(total + 1e-9), np.ceil(total - 1e-9)
        low = np.where(least > 0, special.betaincinv(np.maximum(least, 1), n - least + 1, tail), 0.0)
        high = np.where(most < n, special.betaincinv(most + 1, np.maximum(n - most, 1), 1 - tail), 1.0)
        return self.low + length * low, self.low + length * high

    def p_above(self, value: float) -> Floats:
        """One-sided p of the truth being `value` or less: the least tail whose lower end lies above it, (T,)."""
        return self._p(value, 0)

    def p_below(self, value: float) -> Floats:
        """Of its being `value` or more."""
        return self._p(value, 1)

    def _p(self, value: float, end: int) -> Floats:
        away = (self.estimate - value) * (1 if end == 0 else -1)
        varies = self.se > 0
        error = np.where(varies, self.se, 1.0)
        # away = t se + (2 t^2 + 1) / 6 step, solved for t
        a, c = self.step / 3, self.step / 6 - away
        inside = np.maximum(error**2 - 4 * a * c, 0.0)
        t = np.where(c < 0, -2 * c / (error + np.sqrt(inside)), 0.0)
        p = np.where(c < 0, special.stdtr(np.where(varies, self.df, 1.0), -t), MOST_TAIL)
        if not varies.all():
            p = np.where(varies, p, self._p_of_sums(value, end))
        return np.asarray(p)

    def _p_of_sums(self, value: float, end: int) -> Floats:
        """By halving: the ends of sums come closer as the tail grows."""
        low = np.full(len(self.estimate), np.log(LEAST_TAIL))
        high = np.full(len(self.estimate), np.log(MOST_TAIL))

        def shown(at: Floats) -> NDArray[np.bool_]:
            ends = [self._of_sums(float(tail))[end][index] for index, tail in enumerate(np.exp(at))]
            return np.asarray(np.array(ends) > value if end == 0 else np.array(ends) < value)

        never = ~shown(high)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if np.all((high - low) < 1e-12):
                break
            beyond = shown(middle)
            high, low = np.where(beyond, middle, high), np.where(beyond, low, middle)
        return np.where(never, MOST_TAIL, np.exp(high))
