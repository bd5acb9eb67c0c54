"""Intervals for the difference of two proportions on the same items. Counts in, (low, high) out.

Throughout: `only_candidate` (b) and `only_baseline` (c) are the discordant counts of `n` items,
the estimate is (b - c) / n and `z` is the normal quantile of the wanted two-sided level.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64] | Floats


def tango_score(only_candidate: int, only_baseline: int, n: int, difference: float) -> float:
    """Tango's score statistic T(D) for H0: true difference = D; positive when the estimate is above D.

    At the ends of [-1, 1], or wherever the restricted variance is zero, the statistic is
    an infinity of the right sign, or 0 where the estimate equals D.

    Source: Tango (1998), Stat Med 17:891, eq. 6.
    """
    b, c = only_candidate, only_baseline
    if difference < 0:  # the mirror image, in which nothing below cancels
        return 0.0 - tango_score(c, b, n, -difference)
    numerator = b - c - n * difference
    linear = -b - c + (2 * n - b + c) * difference
    product = -c * difference * (1 - difference)
    # the root sqrt(B^2 - 4AC) - B cancels badly for B > 0: use the conjugate form there
    root = math.hypot(linear, math.sqrt(-8 * n * product))  # a square would underflow
    q = (root - linear) / (4 * n) if linear <= 0 else -2 * product / (root + linear)
    variance = n * (2 * max(q, 0.0) + difference * (1 - difference))
    if variance <= 0:
        return 0.0 if numerator == 0 else math.copysign(math.inf, numerator)
    return numerator / math.sqrt(variance)


def tango_scores(only_candidate: Counts, only_baseline: Counts, n: int, difference: float) -> Floats:
    """The same for arrays of discordant counts."""
    if difference < 0:
        return 0.0 - tango_scores(only_baseline, only_candidate, n, -difference)
    b, c = only_candidate, only_baseline
    numerator = np.asarray(b - c - n * difference, dtype=np.float64)
    linear = (2 * n - b + c) * difference - b - c
    product = -c * difference * (1 - difference)
    root = np.hypot(linear, np.sqrt(-8 * n * product))
    with np.errstate(invalid="ignore", divide="ignore"):
        q = np.where(linear <= 0, (root - linear) / (4 * n), -2 * product / (root + linear))
        variance = n * (2 * np.maximum(np.nan_to_num(q), 0.0) + difference * (1 - difference))
        score = numerator / np.sqrt(variance)
    return np.where(variance > 0, score, np.where(numerator == 0, 0.0, np.copysign(np.inf, numerator)))


def tango_interval(only_candidate: int, only_baseline: int, n: int, z: float) -> tuple[float, float]:
    """Score interval: every D with |T(D)| <= z. T falls in D, so each end is one bracketed root."""
    return (
        -_upper_end(only_baseline, only_candidate, n, z),
        _upper_end(only_candidate, only_baseline, n, z),
    )


def _upper_end(b: int, c: int, n: int, z: float) -> float:
    """The D above the estimate with T(D) = -z; 1 when 1 is not rejected.

    Once the discordant share s of H0 is known T(D) = -z is a quadratic in D, and s hardly depends on D.
    So Newton's method for "the root of the quadratic minus D" ends within six steps, to the last digits;
    the bracket is for what rounding may do.
    """
    m, wins, whole = b + c, b - c, n + z * z
    estimate = wins / n
    if b == n:
        return 1.0
    centre, spread, fixed = wins / whole, z / whole, wins * estimate
    low, high = estimate, 1.0
    # Wald's end, widened a little, is close
    point = min(centre + spread * math.sqrt((m + z * z / 2) / n * whole - fixed), 0.5 * (estimate + 1))
    while low < point < high:
        # for D < 0 the mirror image, in which nothing cancels
        size, other, slope = (point, c, 2 * n - wins) if point >= 0 else (-point, b, 2 * n + wins)
        linear, product = slope * size - m, other * size * (1 - size)
        root = math.sqrt(linear * linear + 8 * n * product)
        q = (root - linear) / (4 * n) if linear <= 0 else 2 * product / (root + linear)
        inside = max(whole * (size + 2 * q) - fixed, 0.0)
        half = spread * math.sqrt(inside)
        missing = centre + half - point
        low, high = (point, high) if missing > 0 else (low, point)
        rate = math.inf  # of the quadratic's root in D
        if root and inside:
            growth = 1 + 2 * (other * (1 - 2 * size) - slope * q) / root
            rate = math.copysign(0.5, point) * half * whole * growth / inside
        step = missing / (1 - rate) if rate < 1 else math.inf
        point += step
        if abs(step) <= 1e-8 * (point - estimate):
            return point
        point = point if low < point < high else 0.5 * (low + high)
    return point


def wald_interval(only_candidate: int, only_baseline: int, n: int, z: float) -> tuple[float, float]:
    """Wald interval, for comparison: too short for small n, and zero width without discordant items."""
    estimate = (only_candidate - only_baseline) / n
    variance = (only_candidate + only_baseline) / n - estimate**2
    half = z * math.sqrt(max(variance, 0.0) / n)
    return max(estimate - half, -1.0), min(estimate + half, 1.0)


def wilson_interval(successes: int, n: int, z: float) -> tuple[float, float]:
    """Wilson score interval of a single proportion."""
    p, z2 = successes / n, z * z
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = z * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(centre - half, 0.0), min(centre + half, 1.0)


def newcombe_interval(
    both_correct: int, only_baseline: int, only_candidate: int, both_wrong: int, z: float
) -> tuple[float, float]:
    """Newcombe's hybrid score interval with the corrected phi (his method 10).

    Source: Newcombe (1998), Stat Med 17:2635.
    """
    n = both_correct + only_baseline + only_candidate + both_wrong
    baseline, candidate = both_correct + only_baseline, both_correct + only_candidate
    p1, p2 = candidate / n, baseline / n
    l1, u1 = wilson_interval(candidate, n, z)
    l2, u2 = wilson_interval(baseline, n, z)
    margins = candidate * (n - candidate) * baseline * (n - baseline)
    cross = both_correct * both_wrong - only_baseline * only_candidate
    if margins == 0:
        phi = 0.0
    elif cross > n / 2:
        phi = (cross - n / 2) / math.sqrt(margins)
    elif cross >= 0:
        phi = 0.0
    else:
        phi = cross / math.sqrt(margins)
    delta = p1 - p2
    low = (p1 - l1) ** 2 - 2 * phi * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2
    high = (u1 - p1) ** 2 - 2 * phi * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2
    return max(delta - math.sqrt(max(low, 0.0)), -1.0), min(delta + math.sqrt(max(high, 0.0)), 1.0)
