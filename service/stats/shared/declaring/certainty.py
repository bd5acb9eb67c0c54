"""How closely a drawn number is known, and which numbers may decide nothing.

A number that was drawn lies within `SURE` Monte-Carlo standard errors of what more and more draws would give,
all but 6 times in 100,000. An analysis tells that range in `within`, and in `undecided` what no rule may rest on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

if TYPE_CHECKING:
    from service.kernels.bootstrap.bootstrap_draws import Draws

SURE = 4.0
"""How many Monte-Carlo standard errors from a threshold make its side sure."""

DRAWN = (
    "it is drawn, and lies within four Monte-Carlo standard errors of the threshold: draw more (`n_resamples`) "
    "to tell on which side"
)
FLAT = "the resamples do not vary, which is no certainty"
BEYOND = (
    "no resample reaches twice the difference, so p is a bound on the resamples and no evidence, and signs so uneven "
    "are by themselves not rarer than the threshold: ask an exact test, or the interval"
)
SO_FEW = (
    "so few items or clusters differ that a test that knows it (of signs, or Student's t of scores) does not get below "
    "the threshold: ask an exact test"
)
POINT = "no item differs from another, so Wald's interval is a single point, which is no certainty"

SIGNS = 1e-6
"""Signs rarer than this are not told as the range of a p beyond the resamples: thresholds are larger."""
FEW_UNITS = 88
"""Of more items or clusters a p of resamples is hardly below what the signs of those that differ allow."""

Range = tuple[float, float]
Quantile = Callable[[float], float]


def of_share(share: float, draws: int) -> Range:
    """Return the probabilities that a share of so many draws goes with: Wilson's interval."""
    square = SURE * SURE / draws
    centre = (share + square / 2) / (1 + square)
    half = math.sqrt(square * (share * (1 - share) + square / 4)) / (1 + square)
    return max(centre - half, 0.0), min(centre + half, 1.0)


def draws_below(threshold: float) -> int:
    """Return how many draws tell a p of half a threshold from it: fewer leave most that lies below in doubt.

    >>> draws_below(0.05)
    1300
    """
    # Wilson's interval of p0 ends at P where (P - p0)^2 = SURE^2 P (1 - P) / draws, and p0 is P / 2.
    return 100 * math.ceil(4 * _draws_at(threshold) / 100 - 1e-9)


def draws_beyond(tail: float) -> int:
    """Return how many draws tell where an end that so much lies beyond is: of fewer `of_quantile` has no range.

    >>> draws_beyond(0.025)
    700
    """
    return 100 * (math.floor(_draws_at(tail) / 100 + 1e-9) + 1)


def _draws_at(share: float) -> float:
    """So many draws that a share lies `SURE` of its own Monte-Carlo standard errors from 0."""
    return SURE * SURE * (1 - share) / share


def of_quantile(quantile: Quantile, draws: int, low: float, high: float | None = None) -> Range | None:
    """Return the order statistics between which the `low`-quantile lies (or from the `low` to the `high`-quantile).

    None where fewer than `SURE` squared draws are beyond it: they cannot tell.
    """
    high = low if high is None else high
    down = low - SURE * math.sqrt(low * (1 - low) / draws)
    up = high + SURE * math.sqrt(high * (1 - high) / draws)
    return (quantile(down), quantile(up)) if down > 0 and up < 1 else None


def of_ends(
    drawn: Draws, delta: float, method: str, tail: float, acceleration: float | None, se: float | None
) -> tuple[Range | None, Range | None]:
    """Return the ranges of the low and the high end of an interval that was drawn; None where it cannot be told."""
    draws = len(drawn.estimates)
    if method == "bca":
        low, high = (_of_bca(drawn, draws, delta, acceleration, q) for q in (tail, 1 - tail))
        return low, high
    if method == "studentized":
        # Imported here: most tests draw nothing, and answer sooner without.
        from service.kernels.bootstrap.metric_bootstrap import MetricDraws

        if not isinstance(drawn, MetricDraws) or drawn.pivots is None or not se:
            return None, None
        pivots, error = drawn.pivots, se
        low, high = (
            of_quantile(lambda q: delta - error * float(np.quantile(pivots, q)), len(pivots), q)
            for q in (1 - tail, tail)
        )
        return _order(low), _order(high)
    low, high = (of_quantile(drawn.quantile, draws, q) for q in (tail, 1 - tail))
    if method == "basic":
        return _mirror(high, delta), _mirror(low, delta)
    return low, high


@dataclass(frozen=True, slots=True)
class Support:
    """Where delta* can lie, and how many units (items or clusters) differ each way."""

    low: float
    high: float
    down: int
    up: int
    units: int
    """Items or clusters in all."""
    evidence: float = 0.0
    """One-sided p, towards the side that was seen, of a test that knows how few differ: of signs where items are right
    or wrong, else Student's t of the units."""

    @classmethod
    def of_units(cls, sums: NDArray[np.float64], sizes: NDArray[np.float64]) -> Support:
        """Return the support of units whose difference is a ratio of sums: (G,) each."""
        means = sums / sizes
        down, up = int(np.count_nonzero(sums < 0)), int(np.count_nonzero(sums > 0))
        evidence = float(chances_of_t(sums[None], sizes)[0])
        return cls(float(means.min()), float(means.max()), down, up, len(sums), evidence)

    @classmethod
    def of_counts(cls, losses: int, wins: int, n: int) -> Support:
        """Return the support of n binary pairs, whose differences are -1, 0 and 1."""
        evidence = float(chance_of_signs(max(losses, wins), losses + wins))
        return cls(-1.0 if losses else 0.0, 1.0 if wins else 0.0, losses, wins, n, evidence)

    @property
    def flat(self) -> bool:
        """Whether nothing varies, which is told by itself."""
        return self.high - self.low <= 1e-9 * max(abs(self.high), abs(self.low))

    @property
    def least_p(self) -> float:
        """The least one-sided p that so few units are taken to show; 0 where it is not told.

        It is `evidence`, and never below the 2^-m of m units that differ: without a difference every sign is a fair
        coin's, so that a test of any kind that rejects below it rejects what comes up by chance that often.
        """
        least = float(2.0 ** -(self.down + self.up))
        resolved = least >= SIGNS and self.units <= FEW_UNITS and not self.flat
        return max(least, self.evidence) if resolved else 0.0

    def signs(self, delta: float, *, strict: bool) -> float | None:
        """Return the chance of signs so uneven, where no resample reaches 2 delta, if each is a fair coin's.

        None where a resample reaches 2 delta, or the chance is below `SIGNS`.
        """
        if self.flat:
            return None
        end, most = (self.high, self.up) if delta > 0 else (-self.low, self.down)
        slack = -1e-9 * end if strict else 1e-9 * end
        if delta == 0 or 2 * abs(delta) <= end + slack:
            return None
        chance = float(chance_of_signs(most, self.up + self.down))
        return chance if chance >= SIGNS else None


def chance_of_signs(most: ArrayLike, differ: ArrayLike) -> NDArray[np.float64]:
    """Return P(at least `most` of `differ` fair coins show heads), elementwise: how rare such signs are."""
    most, differ = np.asarray(most), np.asarray(differ)
    # bdtrc(k, n, 1/2) is P(X > k), so that k = most - 1.
    tail = special.bdtrc(np.maximum(most - 1.0, 0.0), np.maximum(differ, 1), 0.5)
    return np.where(most > 0, tail, 1.0)


def chances_of_t(sums: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the one-sided p (T,) of Student's t of units' differences `sums` (T, G) over `sizes` (G,), on their side.

    G - 1 degrees of freedom. 0 where nothing varies, or there is a single unit.
    """
    units, n = sums.shape[1], float(sizes.sum())
    delta = sums.sum(axis=1) / n
    residuals = sums - sizes * delta[:, None]
    # n se of the ratio delta, linearized: se^2 = G / (G - 1) sum (s_g - n_g delta)^2 / n^2.
    spread = np.sqrt((residuals**2).sum(axis=1) * units / max(units - 1, 1))
    varies = spread > 1e-12 * np.abs(sums).max(axis=1, initial=0.0)
    t = np.abs(delta) * n / np.where(varies, spread, 1.0)
    return np.where(varies, special.stdtr(max(units - 1, 1), -t), 0.0)


def open_up(p: float, chance: float, within: Range | None) -> Range:
    """Return the range of a p beyond every resample: up to the chance of such signs or ranks, if above `SIGNS`."""
    low, high = within or (p, p)
    return min(low, p), min(max(high, p, chance), 1.0)


def of_wald(n_discordant: int, delta: float, method: str) -> dict[str, str]:
    """Return what is undecided beside Wald's interval of n binary pairs: itself, where no item differs from another."""
    if n_discordant and abs(delta) < 1:
        return {}
    return dict.fromkeys(["intervals.wald", *(["ci"] if method == "wald" else [])], POINT)


def _of_bca(
    distribution: Draws, draws: int, delta: float, acceleration: float | None, q: float
) -> Range | None:
    """The bias is drawn too: a level for either end of its range."""
    from service.kernels.bootstrap.bootstrap_intervals import bca_level
    from service.kernels.bootstrap.metric_bootstrap import middle_of

    sides = of_share(middle_of(distribution, delta), draws)
    if acceleration is None or not 0 < sides[0] <= sides[1] < 1:
        return None
    levels = [bca_level(q, float(z0), acceleration) for z0 in special.ndtri(sides)]
    low, high = levels
    return None if low is None or high is None else of_quantile(distribution.quantile, draws, low, high)


def _mirror(range_: Range | None, delta: float) -> Range | None:
    return None if range_ is None else (2 * delta - range_[1], 2 * delta - range_[0])


def _order(range_: Range | None) -> Range | None:
    return None if range_ is None else (min(range_), max(range_))
