"""Intervals for the difference of two proportions on the same items. Counts in, (low, high) out.

Throughout: `only_candidate` (b) and `only_baseline` (c) are the discordant counts of `n` items,
the estimate is (b - c) / n and `z` is the normal quantile of the wanted two-sided level.
"""

from __future__ import annotations

import math

from service.kernels.numeric.binomial import wilson


def wald_interval(only_candidate: int, only_baseline: int, n: int, z: float) -> tuple[float, float]:
    """Wald interval, for comparison: too short for small n, and zero width without discordant items."""
    estimate = (only_candidate - only_baseline) / n
    variance = (only_candidate + only_baseline) / n - estimate**2
    half = z * math.sqrt(max(variance, 0.0) / n)
    return max(estimate - half, -1.0), min(estimate + half, 1.0)


def newcombe_interval(
    both_correct: int, only_baseline: int, only_candidate: int, both_wrong: int, z: float
) -> tuple[float, float]:
    """Return Newcombe's hybrid score interval with the corrected phi (his method 10).

    Source: Newcombe (1998), Stat Med 17:2635.
    """
    n = both_correct + only_baseline + only_candidate + both_wrong
    baseline, candidate = both_correct + only_baseline, both_correct + only_candidate
    p1, p2 = candidate / n, baseline / n
    l1, u1 = wilson(candidate, n, z)
    l2, u2 = wilson(baseline, n, z)
    margins = candidate * (n - candidate) * baseline * (n - baseline)
    cross = both_correct * both_wrong - only_baseline * only_candidate
    # The continuity correction n / 2 is taken off a positive phi alone, and does not turn its sign.
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
