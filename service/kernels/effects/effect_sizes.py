"""Standardized mean differences with noncentral-t intervals."""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy import special

from service.kernels.numeric.moments import Moments
from service.kernels.numeric.t_distribution import noncentrality_interval

LARGEST_EFFECT = 1e100
"""Beyond this the spread is nothing beside the difference, and d would soon overflow."""


class Effect(NamedTuple):
    """An estimate and its interval."""

    estimate: float
    low: float
    high: float


def small_sample_factor(df: float) -> float | None:
    """Return Hedges' exact J = gamma(df / 2) / (sqrt(df / 2) gamma((df - 1) / 2)); None below 2 df."""
    if df < 2:
        return None
    if df > 1e4:  # differences of huge log gammas lose digits, the series does not
        return 1 - 3 / (4 * df) - 7 / (32 * df * df)
    return math.exp(special.gammaln(df / 2) - special.gammaln((df - 1) / 2)) / math.sqrt(df / 2)


def pooled_sd(first: Moments, second: Moments) -> float | None:
    """Return the pooled SD with ddof 1; None when both samples hold a single value."""
    df = first.n + second.n - 2
    if df < 1:
        return None
    scale = max(first.sd or 0.0, second.sd or 0.0)
    if scale == 0:
        return 0.0
    squares = sum((m.n - 1) * ((m.sd or 0.0) / scale) ** 2 for m in (first, second))
    return scale * math.sqrt(squares / df)


def standardize(difference: float, sd: float, n_effective: float, df: float, level: float) -> Effect | None:
    """difference / sd, where t = d sqrt(n_effective) is noncentral t on df; None where it overflows.

    `n_effective` is n1 n2 / (n1 + n2) for two samples and n for one sample of differences.
    """
    d, root = difference / sd, math.sqrt(n_effective)
    if abs(d) > LARGEST_EFFECT:
        return None
    low, high = noncentrality_interval(d * root, df, level)
    return Effect(d, low / root, high / root)


def standard_error_of_d(d: float, n1: int, n2: int) -> float:
    """Return the large-sample SE of d (Hedges & Olkin 1985)."""
    return math.sqrt((n1 + n2) / (n1 * n2) + d * d / (2 * (n1 + n2)))
