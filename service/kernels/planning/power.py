"""Power of tests of means and of paired proportions. Exact where the test is; alpha is strict (p < alpha)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.numeric import binomial
from service.kernels.numeric.roots import rising_root
from service.kernels.numeric.t_distribution import Alternative, noncentral_t_cdf, noncentral_t_sf, t_quantile
from service.kernels.pairs.mcnemar import Method, p_values

Vector = NDArray[np.float64]
Counts = NDArray[np.int64]
PowerCurve = Callable[[int], float]
BLOCK = 512
"""Numbers of discordant items whose tests are worked out together."""
NEAR = 4
"""How far from the normal law's critical count the exact one mostly lies at most."""


def t_power(nc: float, df: float, alpha: float, alternative: Alternative) -> float:
    """Power of a t-test whose statistic has noncentrality `nc` = delta / se."""
    if alternative == "two-sided":
        # rejections on the wrong side count too: they are what makes power alpha at nc 0
        critical = t_quantile(1 - alpha / 2, df)
        return noncentral_t_sf(critical, df, nc) + noncentral_t_cdf(-critical, df, nc)
    nc = nc if alternative == "greater" else -nc
    return noncentral_t_sf(t_quantile(1 - alpha, df), df, nc)


def detectable_nc(df: float, alpha: float, alternative: Alternative, target: float) -> float:
    """Return the noncentrality (in the direction of the alternative) at which power reaches `target` > alpha."""
    side: Alternative = "two-sided" if alternative == "two-sided" else "greater"
    high = 1.0
    while t_power(high, df, alpha, side) < target:
        high *= 2
    return rising_root(lambda nc: t_power(nc, df, alpha, side) - target, 0.0, high, 1e-10)


def welch_se_and_df(sd_baseline: float, sd_candidate: float, n: float) -> tuple[float, float]:
    """Return the standard error and Welch-Satterthwaite df for n runs per arm with these population SDs."""
    scale = max(sd_baseline, sd_candidate)
    v0, v1 = (sd_baseline / scale) ** 2, (sd_candidate / scale) ** 2
    return scale * math.sqrt((v0 + v1) / n), (v0 + v1) ** 2 * (n - 1) / (v0 * v0 + v1 * v1)


def colas_beta(delta: float, sd_baseline: float, sd_candidate: float, n: float, alpha: float) -> float:
    """Type II error by the shifted central t with a one-tailed critical value.

    An approximation kept for comparison: the statistic is not a shifted central t, and the test
    it stands for is usually run two-tailed. Source: Colas, Sigaud & Oudeyer (2018), eq. 6.
    """
    se, df = welch_se_and_df(sd_baseline, sd_candidate, n)
    return float(special.stdtr(df, t_quantile(1 - alpha, df) - abs(delta) / se))


def upper_sd(sd: float, n: int, confidence: float) -> float:
    """Upper confidence bound of a normal SD estimated from n runs."""
    return sd * math.sqrt((n - 1) / float(special.chdtri(n - 1, confidence)))


def mcnemar_power(
    n: int, p_only_baseline: float, p_only_candidate: float, alpha: float, method: Method,
    alternative: Alternative,
) -> float:  # fmt: skip
    """Power of McNemar's test for n items, summed over the number of discordant items."""
    discordant = p_only_baseline + p_only_candidate
    if discordant == 0:
        return 0.0
    low, high = binomial.window(n, discordant)
    # Binomial(n, discordant) items are discordant, and given their number the wins are binomial as well
    rejected = _conditional(low, high, p_only_candidate / discordant, alpha, method, alternative)
    return float(binomial.pmf(np.arange(low, high + 1), n, discordant) @ rejected)


def mcnemar_critical(m: int, alpha: float, method: Method) -> int:
    """Return the largest smaller count that rejects two-sided with m discordant items; -1 when none does."""
    return int(critical_counts(np.array([m]), alpha, method, two_sided=True)[0])


def smallest_n(
    power_at: PowerCurve, target: float, least: int, most: int, ripple: Callable[[int], int]
) -> tuple[int | None, int]:
    """Return the smallest n from which power stays at `target` or above, and the largest n looked at.

    Doubling and bisection find the crossing; then every n within `ripple(n)` of it is looked at,
    because exact power saw-tooths. None when `most` does not reach the target.
    """
    high = least
    while power_at(high) < target:
        if high == most:
            return None, most
        high = min(2 * high, most)
    low = max(high // 2, least)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if power_at(middle) >= target else (middle + 1, high)
    reach = ripple(low)
    top = min(low + reach, most)
    for n in range(top, least - 1, -1):
        if n < low - reach:
            return n + 1, top
        if power_at(n) < target:
            if n + reach <= top or top == most:
                return (n + 1, top) if n < most else (None, top)
            wider, seen = smallest_n(power_at, target, n + 1, most, ripple)
            return wider, seen
    return least, top


def critical_counts(m: Counts, alpha: float, method: Method, *, two_sided: bool) -> Counts:
    """For each m the largest smaller count (one-sided: baseline-only count) that rejects; -1: none.

    A bisection that begins where the normal law puts the count, and anywhere where that is not so.
    """
    side: Alternative = "two-sided" if two_sided else "greater"
    top = (m // 2 if two_sided else m) + 1
    about = np.floor((m - special.ndtri(1 - alpha / (1 + two_sided)) * np.sqrt(m)) / 2).astype(np.int64)
    inside = np.clip(about - NEAR, -1, top - 1)
    outside = np.clip(about + NEAR, inside + 1, top)

    def rejects(k: Counts, at: slice | Counts = slice(None)) -> NDArray[np.bool_]:
        return p_values(m[at] - k, k, method, side) < alpha

    # where the bracket about the normal law's count does not hold the border, it begins at the end beyond it
    far = (inside >= 0) & ~rejects(np.maximum(inside, 0))
    inside, outside = np.where(far, -1, inside), np.where(far, inside, outside)
    beyond = (outside < top) & rejects(np.minimum(outside, m))
    inside, outside = np.where(beyond, outside, inside), np.where(beyond, top, outside)
    while (open_ := np.flatnonzero(outside - inside > 1)).size:
        k = (inside[open_] + outside[open_]) // 2
        ok = rejects(k, open_)
        inside[open_], outside[open_] = np.where(ok, k, inside[open_]), np.where(ok, outside[open_], k)
    return inside


@lru_cache(maxsize=4096)  # 4 KiB each
def _critical_block(block: int, alpha: float, method: Method, two_sided: bool) -> Counts:
    return critical_counts(_block(block), alpha, method, two_sided=two_sided)


@lru_cache(maxsize=4096)  # 4 KiB each
def _conditional_block(
    block: int, share: float, alpha: float, method: Method, alternative: Alternative
) -> Vector:
    m, k = _block(block), _critical_block(block, alpha, method, alternative == "two-sided")
    candidate_wins, baseline_wins = (
        binomial.cdf(k, m, chance) if alternative in ("two-sided", side) else 0.0
        for side, chance in (("greater", 1 - share), ("less", share))
    )
    return np.asarray(candidate_wins + baseline_wins)


def _conditional(
    low: int, high: int, share: float, alpha: float, method: Method, alternative: Alternative
) -> Vector:
    """P(reject | m discordant) for m = low .. high, `share` of them won by the candidate.

    In blocks that neighbouring n share.
    """
    first, last = low // BLOCK, high // BLOCK
    blocks = [
        _conditional_block(block, share, alpha, method, alternative) for block in range(first, last + 1)
    ]
    return np.concatenate(blocks)[low - first * BLOCK : high + 1 - first * BLOCK]


def _block(block: int) -> Counts:
    return np.arange(block * BLOCK, (block + 1) * BLOCK)
