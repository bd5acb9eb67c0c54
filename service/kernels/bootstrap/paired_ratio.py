"""The ratio of two means on the same items: Fieller's set, and the bootstrap-t of its logarithm.

Units are items or whole clusters: `baseline`, `candidate` and `sizes` hold each unit's sums and number of items,
all (G,). The ratio is sum(candidate) / sum(baseline), which weighs items alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from service.kernels.numeric.clusters import largest, satterthwaite
from service.kernels.numeric.streams import BLOCK, block_count, generator, picks

Floats = NDArray[np.float64]

CHUNK = 2_000_000
"""Resampled weights held at a time."""

ROUNDING = 1e-13
"""Squared residuals below this share of the squares they come from are rounding."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Variances and covariance of both means by CR2, and their degrees of freedom."""

    baseline: float
    both: float
    candidate: float
    df: float

    def of(self, ratio: float) -> float:
        """Return the variance of the candidate's mean minus `ratio` times the baseline's."""
        return max(self.candidate - 2 * ratio * self.both + ratio * ratio * self.baseline, 0.0)


@dataclass(frozen=True, eq=False)
class PairedRatio:
    """Sums of both arms by unit, each arm's in a scale of its own (`unit`) so that squares stay in range."""

    baseline: Floats
    candidate: Floats
    sizes: Floats
    unit: tuple[float, float]

    @classmethod
    def of(cls, baseline: Floats, candidate: Floats, sizes: Floats) -> PairedRatio:
        """Return the pairs from both arms' sums by unit, (G,) each; the baseline's must not all be 0."""
        unit = largest(baseline), largest(candidate)
        return cls(baseline / unit[0], candidate / unit[1], sizes, unit)

    @property
    def scale(self) -> float:
        """What turns a ratio in own units into one of the values."""
        return self.unit[1] / self.unit[0]

    @cached_property
    def means(self) -> tuple[float, float]:
        """Per item, in own units."""
        n = float(self.sizes.sum())
        return float(self.baseline.sum()) / n, float(self.candidate.sum()) / n

    @cached_property
    def own(self) -> float:
        """The ratio in own units."""
        return self.means[1] / self.means[0]

    @property
    def value(self) -> float:
        """The ratio of means, candidate to baseline, in the unit of the values."""
        return self.own * self.scale

    @cached_property
    def residuals(self) -> Floats:
        """What each unit adds to the ratio's error, (G,): candidate minus ratio times baseline; rounding is 0."""
        residuals = self.candidate - self.own * self.baseline
        size = np.abs(self.candidate) + self.own * np.abs(self.baseline)
        return np.where(np.abs(residuals) <= 1e-12 * size, 0.0, residuals)

    @property
    def log_error(self) -> float:
        """Linearized standard error of the log ratio; needs two units and a candidate above 0."""
        g = len(self.sizes)
        return math.sqrt(g / (g - 1) * float(self.residuals @ self.residuals)) / float(self.candidate.sum())

    @cached_property
    def spread(self) -> Spread:
        """CR2 of both means with Satterthwaite's degrees of freedom; of single items the usual covariance of means.

        Source: Bell & McCaffrey (2002), Surv Methodol 28:169.
        """
        n, sizes = float(self.sizes.sum()), self.sizes
        share = sizes / n
        before, after = (
            sums - sizes * mean
            for sums, mean in zip((self.baseline, self.candidate), self.means, strict=True)
        )
        weight = 1 / (n * n * (1 - share))
        return Spread(
            float((weight * before * before).sum()),
            float((weight * before * after).sum()),
            float((weight * after * after).sum()),
            float(satterthwaite(weight, sizes)),
        )

    def statistic(self, null: float) -> float | None:
        """Return t of a ratio of `null`; None where nothing varies."""
        ratio = null / self.scale
        error = math.sqrt(self.spread.of(ratio))
        gap = self.means[1] - ratio * self.means[0]
        return gap / error if error > 1e-12 * (self.means[1] + ratio * self.means[0]) else None

    def least_against(self, null: float) -> float | None:
        """The t nearest to 0 of all ratios of 0 or more that lie as far on `null`'s side, or further; None: flat.

        Ratios further off are no less likely where the baseline is hardly told apart from 0 (or the candidate, on the
        side of 0): the set is two rays then, and the interval that holds both goes on. |t| has one more turning point
        beside its zero, so that the nearest is `null`'s or the one at the far end.
        """
        statistic = self.statistic(null)
        if statistic is None:
            return None
        before, after = self.means
        if statistic > 0:
            spread = self.spread.candidate
            return min(statistic, after / math.sqrt(spread)) if spread > 0 else statistic
        spread = self.spread.baseline
        return max(statistic, -before / math.sqrt(spread)) if spread > 0 else statistic

    def fieller(self, quantile: float) -> tuple[float, float | None]:
        """The ratios of 0 or more whose |t| is at most `quantile`, as the interval that holds them; None: no upper end.

        Where the baseline's mean is not told apart from 0 the set has no upper end: two rays, or every ratio.
        """
        before, after = self.means
        square = quantile * quantile
        a = before * before - square * self.spread.baseline
        b = before * after - square * self.spread.both
        c = after * after - square * self.spread.candidate
        low, high = _at_most_zero(a, b, c)
        return low * self.scale, None if high is None else high * self.scale


def _at_most_zero(a: float, b: float, c: float) -> tuple[float, float | None]:
    """Return the hull of {r >= 0: a r^2 - 2 b r + c <= 0}, which holds after / before."""
    root = math.sqrt(max(b * b - a * c, 0.0))
    if a > 0:
        high = (b + root) / a
        low = c / (b + root) if b + root > 0 else 0.0
        return max(low, 0.0), max(high, 0.0)
    if c <= 0 or b * b <= a * c:
        return 0.0, None
    # one root is negative: what is left is a ray
    return c / (b + root), None


def pivots(pairs: PairedRatio, draws: int, seed: int) -> Floats:
    """Return (log r* - log r) / SE* of resamples of whole units, (draws,); NaN where a resample has none.

    Blocks of resamples have generators of their own. O(draws G), with at most `CHUNK` weights in memory at a time
    or a block's.
    """
    g, r = len(pairs.sizes), pairs.own
    columns = np.stack(
        [
            pairs.baseline,
            pairs.residuals,
            pairs.residuals**2,
            pairs.residuals * pairs.baseline,
            pairs.baseline**2,
        ],
        axis=1,
    )
    blocks = [_draw_block(columns, g, r, seed, block) for block in range(block_count(draws))]
    return np.concatenate(blocks)[:draws]


def _draw_block(columns: Floats, g: int, r: float, seed: int, block: int) -> Floats:
    """Draw one block of studentized ratios, shape (BLOCK,).

    Weights are made `step` draws at a time: no more than CHUNK numbers.
    """
    rng, step = generator(seed, block), max(min(CHUNK // g, BLOCK), 1)
    parts = []
    for start in range(0, BLOCK, step):
        weights = np.array(
            [np.bincount(picks(rng, g, g), minlength=g) for _ in range(min(step, BLOCK - start))],
            dtype=np.float64,
        )
        parts.append(studentize(weights @ columns, g, r))
    return np.concatenate(parts)


def studentize(sums: Floats, g: int, ratio: Floats | float) -> Floats:
    """Pivots of resamples from their sums (..., 5): baseline, residual, its square, its product, baseline squared."""
    before, error, squares, product, base = (sums[..., column] for column in range(5))
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = error / before
        after = ratio * before + error
        # a resample's ratio is `moved` further, and its residuals so many baselines less: their squares, written out
        left = squares - 2 * moved * product + moved * moved * base
        left = np.where(left <= ROUNDING * (squares + moved * moved * base), 0.0, left)
        se = np.sqrt(g / (g - 1) * left) / after
        pivot = np.log1p(moved / ratio) / se
    return np.where((before > 0) & (after > 0) & (se > 0), pivot, np.nan)
