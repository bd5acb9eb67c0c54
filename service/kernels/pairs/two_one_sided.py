"""Two one-sided tests of a difference against -margin and +margin, and the 1 - 2 alpha interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.numeric.moments import difference_noise, moments
from service.kernels.numeric.t_distribution import t_quantile, t_tail
from service.kernels.pairs import tango
from service.kernels.pairs.paired_exact import exact_p_below


@dataclass(frozen=True, slots=True)
class TwoOneSided:
    """Interval, p of H0 delta <= -margin and of H0 delta >= margin, and the two statistics."""

    low: float
    high: float
    p_lower: float
    p_upper: float
    lower: float
    upper: float


def by_t(delta: float, se: float, df: float, margin: float, alpha: float) -> TwoOneSided:
    """Return both t-tests from a difference, its standard error above 0 and its degrees of freedom."""
    half = t_quantile(1 - alpha, df) * se
    lower, upper = (delta + margin) / se, (delta - margin) / se
    return TwoOneSided(
        delta - half, delta + half, t_tail(lower, df, "greater"), t_tail(upper, df, "less"), lower, upper
    )


def by_tango(
    only_candidate: int, only_baseline: int, n: int, margin: float, alpha: float, *, exact: bool
) -> TwoOneSided:
    """Score tests of a paired binary difference, `margin` in (0, 1).

    `exact`: each p is the larger of the score test's and the exact unconditional one.
    """
    b, c = only_candidate, only_baseline
    lower, upper = tango.score(b, c, n, -margin), tango.score(b, c, n, margin)
    p_lower, p_upper = float(special.ndtr(-lower)), float(special.ndtr(upper))
    if exact:
        p_lower = max(p_lower, exact_p_below(c, b, n, margin))
        p_upper = max(p_upper, exact_p_below(b, c, n, margin))
    low, high = tango.interval(b, c, n, float(special.ndtri(1 - alpha)))
    return TwoOneSided(low, high, p_lower, p_upper, lower, upper)


def error_of_pairs(difference: NDArray[np.float64], noise: float) -> tuple[float, float]:
    """Return the standard error of the mean of `difference` (n,) and its df; (0, 0) when nothing varies or n is 1."""
    se = moments(difference, noise).se
    return (se, len(difference) - 1) if se else (0.0, 0.0)


def error_of_counts(only_candidate: int, only_baseline: int, n: int) -> tuple[float, float]:
    """Standard error and df of the mean difference of n binary pairs, from their discordant counts; (0, 0) likewise."""
    delta = (only_candidate - only_baseline) / n
    spread = (only_candidate + only_baseline) / n - delta * delta
    return (math.sqrt(spread / (n - 1)), n - 1) if n > 1 and spread > 1e-15 else (0.0, 0.0)


def independent_error(
    baseline: NDArray[np.float64], candidate: NDArray[np.float64], *, pooled: bool
) -> tuple[float, float]:
    """Standard error and df of a difference of two means, Student's (pooled) or Welch's; (0, 0) where undefined."""
    a, b = moments(baseline, difference_noise(baseline)), moments(candidate, difference_noise(candidate))
    if a.se is None or b.se is None or (a.se == 0 and b.se == 0):
        return 0.0, 0.0
    unit = max(a.se, b.se)  # powers of small errors would underflow
    va, vb = (a.se / unit) ** 2, (b.se / unit) ** 2
    if pooled:
        df = a.n + b.n - 2
        variance = ((a.n - 1) * a.n * va + (b.n - 1) * b.n * vb) / df
        return unit * math.sqrt(variance * (1 / a.n + 1 / b.n)), df
    # Welch (1947), Biometrika 34:28. The common unit cancels in the df.
    total = va + vb
    return unit * math.sqrt(total), total**2 / (va**2 / (a.n - 1) + vb**2 / (b.n - 1))
