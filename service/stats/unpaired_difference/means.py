"""What two arms on different items show of the difference of their means: which interval decides, which stand beside.

Independent items of a known range: bounds of each arm, Clopper and Pearson's or Gaffke's, melded into those of the
difference, which know of outcomes too rare to have been seen. In clusters, or adjusted by covariates: at each end the
further of that, with items counted at their effective number and outcomes moved along the covariates, and of CR2 (HC2)
t; without a known range that of t and of the range that was seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from service.kernels.numeric.clusters import cluster_sums, robust_errors
from service.kernels.numeric.moments import moments
from service.kernels.pairs import gaffke
from service.kernels.pairs.mean_bounds import ExactShare, Furthest, GaffkeBounds, MeanBounds, StudentBounds
from service.kernels.unpaired.melded import Melded
from service.kernels.unpaired.regression import Difference, difference
from service.stats.shared.data.score_range import UNIT, ScoreRange
from service.stats.shared.declaring.columns import is_binary
from service.stats.shared.methods.bounded import items_for_one

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CELLS = 256
"""Distinct values of an arm from which its bounds are taken on a grid: that adds at most a quarter of a squared step to
the variance of a value."""
DUST = 1e-12
"""Standard errors below this share of the largest value are rounding."""


@dataclass(frozen=True, eq=False)
class UnpairedMeans:
    """Outcomes of the baseline (n0,) and of the candidate (n1,), and what else is known of their items."""

    baseline: Floats
    candidate: Floats
    codes: Ints | None
    """Number of each item's cluster (n0 + n1,), the baseline's first; a cluster may have items of both arms."""
    covariates: Floats | None
    """Shape (n0 + n1, q)."""
    scale: ScoreRange | None
    """Between what outcomes lie; None: unknown, and what was seen stands for it, with t beside."""

    @cached_property
    def plain(self) -> Difference | None:
        """The difference of the means, without covariates."""
        return difference(self.baseline, self.candidate, self.codes)

    @cached_property
    def fitted(self) -> Difference | None:
        """The difference that is asked for; None where the covariates do not vary in an arm."""
        if self.covariates is None:
            return self.plain
        return difference(self.baseline, self.candidate, self.codes, self.covariates)

    @cached_property
    def error(self) -> tuple[float, float] | None:
        """Standard error and degrees of freedom of the difference; None where there is none."""
        return None if self.fitted is None else self._error_of(self.fitted)

    @cached_property
    def plain_error(self) -> tuple[float, float] | None:
        """Standard error and degrees of freedom of the difference without covariates; None where there is none."""
        return None if self.plain is None else self._error_of(self.plain)

    @property
    def method(self) -> str:
        """The name of the t interval."""
        if self.codes is not None:
            return "cr2_t"
        return "t" if self.covariates is None else "hc2_t"

    @cached_property
    def beside(self) -> Mapping[str, MeanBounds]:
        """Every interval there is by its name."""
        methods: dict[str, MeanBounds | None] = {self.method: self._student(), "melded": self._melded}
        return {name: bounds for name, bounds in methods.items() if bounds is not None}

    @cached_property
    def deciding(self) -> tuple[str, MeanBounds] | None:
        """The name of the interval that decides, and its bounds; None where nothing can be said."""
        student, melded = self.beside.get(self.method), self.beside.get("melded")
        if melded is None:
            return None if student is None else (self.method, student)
        if student is None and self.scale is None:
            return None  # what was seen is no range: alone it would say that no mean lies beyond it
        if self.codes is None and self.covariates is None and self.scale is not None:
            return "melded", melded
        if self.error is None:  # one item or cluster decides a mean or a slope
            return None
        return ("melded", melded) if student is None else ("furthest", Furthest((student, melded)))

    @cached_property
    def effects(self) -> tuple[float, float]:
        """Items of the baseline, and of the candidate, that count for one."""
        return self._worth(0), self._worth(1)

    def arm(self, at: int) -> tuple[Floats, Ints | None]:
        """Return outcomes (n,) of an arm, moved along the covariates, and their clusters (n,), numbered from 0."""
        values = (self.baseline, self.candidate)[at]
        if self.fitted is not None and self.covariates is not None:
            values = self.fitted.adjusted[at]
        if self.codes is None:
            return values, None
        n0 = len(self.baseline)
        own = self.codes[:n0] if at == 0 else self.codes[n0:]
        return values, np.unique(own, return_inverse=True)[1]

    def _worth(self, at: int) -> float:
        values, codes = self.arm(at)
        if codes is None:
            return 1.0
        groups = cluster_sums(values, codes)
        distinct, counts = np.unique(values, return_counts=True)
        return items_for_one(distinct, counts.astype(np.float64), groups, robust_errors(groups)["cr2"])

    def _error_of(self, fitted: Difference) -> tuple[float, float] | None:
        """Standard error and degrees of freedom of a difference; None where it has no error."""
        if fitted.se is None or fitted.df is None:
            return None
        if self.codes is not None or self.covariates is not None:
            return fitted.se, fitted.df
        # of two independent means Welch's degrees of freedom, which take no spread for the other's
        parts = [moments(values) for values in (self.baseline, self.candidate)]
        v = [(arm.sd or 0.0) ** 2 / arm.n for arm in parts]
        if sum(v) == 0:
            return fitted.se, fitted.df
        total = sum(v)
        return fitted.se, 1 / sum((x / total) ** 2 / (arm.n - 1) for x, arm in zip(v, parts, strict=True))

    def _student(self) -> MeanBounds | None:
        """Return the bounds by t; None where nothing varies, since t has no width then, which is no certainty."""
        if self.fitted is None or self.error is None:
            return None
        se, df = self.error
        most = max(float(np.abs(values).max()) for values in (self.baseline, self.candidate))
        if se <= DUST * most:
            return None
        length = math.inf if self.scale is None else self.scale.length
        return StudentBounds(self.fitted.delta, se, df, -length, length)

    @cached_property
    def _melded(self) -> MeanBounds | None:
        if self._span is None or self.fitted is None:
            return None
        return Melded(*(self._bounds_of(at, *self._span) for at in (0, 1)))

    @cached_property
    def _span(self) -> tuple[float, float] | None:
        """Between what outcomes lie, or were seen to lie; None where no range is known and all are alike."""
        if self.scale is not None:
            return self.scale.low, self.scale.high
        both = np.concatenate([self.baseline, self.candidate])
        low, high = float(both.min()), float(both.max())
        return (low, high) if high - low > DUST * float(np.abs(both).max()) else None

    def _bounds_of(self, at: int, low: float, high: float) -> MeanBounds:
        """One arm's mean alone. An outcome that was not seen may lie at an end of the range, moved as far as any."""
        values, _ = self.arm(at)
        worth, raw = self.effects[at], (self.baseline, self.candidate)[at]
        if self.covariates is None and self.scale == UNIT and is_binary(raw):
            return ExactShare(float(raw.sum()) / worth, len(raw) / worth)
        moved = raw - values
        least, greatest = low - float(moved.max()), high - float(moved.min())
        distinct, counts = np.unique(np.clip(values, least, greatest), return_counts=True)
        distinct, shapes = gaffke.spread_over_grid(distinct, counts / worth, CELLS)
        return GaffkeBounds(distinct, np.ones(len(distinct)), shapes, least, greatest)
