"""Power of tests of means and of paired proportions. Exact where the test is; alpha is strict (p < alpha)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels import binomial
from service.kernels.mcnemar import Method, p_values
from service.kernels.roots import rising_root
from service.kernels.t_distribution import Alternative, noncentral_t_cdf, noncentral_t_sf, t_quantile

Vector = NDArray[np.float64]
PowerCurve = Callable[[int], float]


def t_power(nc: float, df: float, alpha: float, alternative: Alternative) -> float:
    """Power of a t-test whose statistic has noncentrality `nc` = delta / se."""
    if alternative == "two-sided":
        critical = t_quantile(1 - alpha / 2, df)
        return noncentral_t_sf(critical, df, nc) + noncentral_t_cdf(-critical, df, nc)
    nc = nc if alternative == "greater" else -nc
    return noncentral_t_sf(t_quantile(1 - alpha, df), df, nc)


def detectable_nc(df: float, alpha: float, alternative: Alternative, target: float) -> float:
    """The noncentrality (in the direction of the alternative) at which power reaches `target` > alpha."""
    side: Alternative = "two-sided" if alternative == "two-sided" else "greater"
    high = 1.0
    while t_power(high, df, alpha, side) < target:
        high *= 2
    return rising_root(lambda nc: t_power(nc, df, alpha, side) - target, 0.0, high, 1e-10)


def welch_se_and_df(sd_baseline: float, sd_candidate: float, n: float) -> tuple[float, float]:
    """Standard error and Welch-Satterthwaite df for n runs per arm with these population SDs."""
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
    rejected = _conditional(high, p_only_candidate / discordant, alpha, method, alternative)
    return float(binomial.pmf(np.arange(low, high + 1), n, discordant) @ rejected[low : high + 1])


def mcnemar_critical(m: int, alpha: float, method: Method) -> int:
    """The largest smaller count that rejects two-sided with m discordant items; -1 when none does."""
    return int(_critical(m, alpha, method, True)[m])


def smallest_n(
    power_at: PowerCurve, target: float, least: int, most: int, ripple: Callable[[int], int]
) -> tuple[int | None, int]:
    """The smallest n from which power stays at `target` or above, and the largest n looked at.

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


@lru_cache(maxsize=8)  # up to 16 MiB each
def _critical(most: int, alpha: float, method: Method, two_sided: bool) -> NDArray[np.int64]:
    """For m = 0 .. most the largest smaller count (one-sided: baseline-only count) that rejects; -1: none."""
    m = np.arange(most + 1)
    side: Alternative = "two-sided" if two_sided else "greater"
    inside = np.full(most + 1, -1)
    outside = (m // 2 if two_sided else m) + 1
    while np.any(outside - inside > 1):
        k = np.maximum((inside + outside) // 2, 0)
        ok = (p_values(m - k, k, method, side) < alpha) & (outside - inside > 1)
        inside, outside = (
            np.where(ok, k, inside),
            np.where(ok | (outside - inside <= 1), outside, k),
        )
    return inside


@lru_cache(maxsize=8)  # up to 16 MiB each
def _conditional_to(
    most: int, share: float, alpha: float, method: Method, alternative: Alternative
) -> Vector:
    """P(reject | m discordant) for m = 0 .. most, `share` of the discordant won by the candidate."""
    m = np.arange(most + 1)
    k = _critical(most, alpha, method, alternative == "two-sided")
    candidate_wins, baseline_wins = binomial.cdf(k, m, 1 - share), binomial.cdf(k, m, share)
    if alternative == "two-sided":
        return np.asarray(candidate_wins + baseline_wins)
    return candidate_wins if alternative == "greater" else baseline_wins


def _conditional(most: int, share: float, alpha: float, method: Method, alternative: Alternative) -> Vector:
    # rounded up, so that neighbouring n share one table
    return _conditional_to(1 << max(most, 63).bit_length(), share, alpha, method, alternative)
