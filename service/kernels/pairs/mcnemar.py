"""McNemar's p from discordant counts, of one table and of many.

`b` items are answered correctly by the candidate alone and `c` by the baseline alone. Given m = b + c each is a
fair coin under H0.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.numeric import binomial
from service.kernels.numeric.t_distribution import Alternative

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Method = Literal["exact", "midp", "asymptotic", "corrected"]

EXACT_SUMS = 60
"""Coins up to which the tail of one table is summed in whole numbers."""


def p_value(b: int, c: int, method: Method, alternative: Alternative) -> float:
    """Return the p-value of one table, correctly rounded for few coins; 1 without discordant items."""
    m = b + c
    if m == 0:
        return 1.0
    if alternative == "less":
        return p_value(c, b, method, "greater")
    two_sided = alternative == "two-sided"
    if method in ("exact", "midp"):
        # Mid-p counts the observed table by half. Where b = c both tails hold it, and p is 1 less that half once.
        half = _half_probability(b, m) if method == "midp" else 0.0
        if not two_sided:
            return _lower_tail(c, m) - half
        return 1.0 - half if b == c else min(1.0, 2 * _lower_tail(min(b, c), m)) - 2 * half
    if two_sided:
        return float(special.chdtrc(1, chi_square(b, c, method)))
    return float(special.ndtr(-(b - c - (method == "corrected")) / math.sqrt(m)))


def p_values(b: Ints, c: Ints, method: Method, alternative: Alternative) -> Floats:
    """Return the p-values of many tables, elementwise; relative error about 1e-12."""
    if alternative == "less":
        return p_values(c, b, method, "greater")
    m, two_sided = b + c, alternative == "two-sided"
    if method in ("exact", "midp"):
        tail = special.bdtr(np.minimum(b, c) if two_sided else c, m, 0.5)
        half = 0.5 * np.exp(binomial.log_choose(b, m) - m * math.log(2)) if method == "midp" else 0.0
        p = np.where(b == c, 1.0 - half, np.minimum(1.0, 2 * tail) - 2 * half) if two_sided else tail - half
    else:
        step = 1.0 if method == "corrected" else 0.0
        distance = np.maximum(np.abs(b - c) - step, 0.0) if two_sided else b - c - step
        p = (2 if two_sided else 1) * special.ndtr(-distance / np.sqrt(np.maximum(m, 1)))
    return np.where(m == 0, 1.0, p)


def chi_square(b: int, c: int, method: Method) -> float:
    """Chi-square on 1 df with b + c > 0, continuity corrected or plain."""
    distance = max(abs(b - c) - 1, 0) if method == "corrected" else abs(b - c)
    return distance**2 / (b + c)


def _lower_tail(k: int, m: int) -> float:
    """P(X <= k) for X ~ Binomial(m, 1/2)."""
    if m <= EXACT_SUMS:
        return sum(math.comb(m, i) for i in range(k + 1)) / (1 << m)
    return float(special.bdtr(k, m, 0.5))


def _half_probability(k: int, m: int) -> float:
    """P(X = k) / 2."""
    if m <= EXACT_SUMS:
        return math.comb(m, k) / (1 << (m + 1))
    return 0.5 * math.exp(binomial.log_choose(np.asarray(k), np.asarray(m)) - m * math.log(2))
