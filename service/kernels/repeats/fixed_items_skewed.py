"""Version 1 of bounds on these very items: Student's t, longer by what the greatest skewness of runs asks of it.

Each half of the interval is longer by (2 t^2 + 1) / 6 steps of a run (Johnson 1978, J Am Stat Assoc 73:536; Hall 1992,
J R Stat Soc B 54:221): a third moment is at most the variance times the length of the range. Where no run differs from
another of its cell each arm is bounded by Clopper and Pearson's limits of the sum of its runs (Hoeffding 1956). Losses
that no run shows are not in it: where runs differ by next to nothing it errs up to .13 of the time at .025.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.repeats.fixed_items import MOST_TAIL, Cells, RunSets

Floats = NDArray[np.float64]

LEAST_TAIL = 1e-300
"""The least tail that the search for a p goes to, within the range of floats."""

HALVINGS = 200
"""More than the search for a p takes: its logarithm is known to 1e-12 after 50."""


@dataclass(frozen=True, eq=False)
class SkewedRunSets:
    """T data sets of one arm, or of two, with their bounds."""

    sets: RunSets

    @property
    def df(self) -> Floats:
        """Degrees of freedom of the error, (T,); NaN where there is none."""
        return self.sets.df

    def ends(self, tail: float) -> tuple[Floats, Floats]:
        """Return both ends, each of which the truth lies beyond with the chance `tail`, (T,) each."""
        varies = self.sets.se > 0
        t = special.stdtrit(np.where(varies, self.df, 1.0), 1 - tail)
        half = t * self.sets.se + (2 * t**2 + 1) / 6 * self.sets.step
        low, high = self._of_sums(tail)
        floor, top = self.sets.reach
        return (
            np.maximum(np.where(varies, self.sets.estimate - half, low), floor),
            np.minimum(np.where(varies, self.sets.estimate + half, high), top),
        )

    def _of_sums(self, tail: float) -> tuple[Floats, Floats]:
        """Return both ends by Clopper and Pearson's limits of each arm; two arms err by half of the tail each."""
        limits = [self._limits(cells, tail / len(self.sets.arms)) for cells in self.sets.arms]
        if len(limits) == 1:
            return limits[0]
        (low, high), (other_low, other_high) = limits
        return other_low - high, other_high - low

    def _limits(self, cells: Cells, tail: float) -> tuple[Floats, Floats]:
        """Clopper and Pearson's limits of one arm's mean; every item counts as if it had the fewest runs."""
        n = np.floor(cells.means.shape[1] * cells.runs.min())
        length = self.sets.high - self.sets.low
        total = np.clip((cells.means.mean(axis=1) - self.sets.low) / length, 0.0, 1.0) * n
        least, most = np.floor(total + 1e-9), np.ceil(total - 1e-9)
        low = np.where(least > 0, special.betaincinv(np.maximum(least, 1), n - least + 1, tail), 0.0)
        high = np.where(most < n, special.betaincinv(most + 1, np.maximum(n - most, 1), 1 - tail), 1.0)
        return self.sets.low + length * low, self.sets.low + length * high

    def p_above(self, value: float) -> Floats:
        """One-sided p of the truth being `value` or less: the least tail whose lower end lies above it, (T,)."""
        return self._solve_p(value, 0)

    def p_below(self, value: float) -> Floats:
        """Return the one-sided p of the truth being `value` or more, (T,)."""
        return self._solve_p(value, 1)

    def _solve_p(self, value: float, end: int) -> Floats:
        """Return the p-values (T,) at which this end of the bounds is `value`; end 0 is the lower one."""
        away = (self.sets.estimate - value) * (1 if end == 0 else -1)
        varies = self.sets.se > 0
        error = np.where(varies, self.sets.se, 1.0)
        # away = t se + (2 t^2 + 1) / 6 step, solved for t
        a, c = self.sets.step / 3, self.sets.step / 6 - away
        inside = np.maximum(error**2 - 4 * a * c, 0.0)
        t = np.where(c < 0, -2 * c / (error + np.sqrt(inside)), 0.0)
        p = np.where(c < 0, special.stdtr(np.where(varies, self.df, 1.0), -t), MOST_TAIL)
        if not varies.all():
            p = np.where(varies, p, self._p_of_sums(value, end))
        return np.asarray(p)

    def _p_of_sums(self, value: float, end: int) -> Floats:
        """Return the p-value by halving the logarithm of the tail: the ends of sums come closer as it grows."""
        low = np.full(len(self.sets.estimate), np.log(LEAST_TAIL))
        high = np.full(len(self.sets.estimate), np.log(MOST_TAIL))

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
