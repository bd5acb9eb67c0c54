"""The score test of a difference of two independent shares, and its interval, for one table and for arrays of them.

Throughout: `right1` of `n1` items of the candidate are right and `right0` of `n0` of the baseline; the estimate is
right1 / n1 - right0 / n0, and `z` is the normal quantile of the wanted two-sided level.

Source: Miettinen & Nurminen (1985), Stat Med 4:213, eqs. 7, 8 and appendix I.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from service.kernels.numeric.binomial import wilson
from service.kernels.numeric.roots import rising_root

Floats = NDArray[np.float64]
Counts = NDArray[np.int64] | Floats

FAR = 1e6
"""A statistic beyond every quantile that is asked for."""
DUST = 1e-15
"""Differences, and variances of one item, this small are rounding."""


def scores(right1: Counts, n1: int, right0: Counts, n0: int, difference: float) -> Floats:
    """Return the statistic of H0: true difference = `difference`, for arrays of counts; positive above it.

    With the variance at the most likely shares that differ so, times N / (N - 1). Where that is zero it is far on the
    side of the estimate, or 0 where the estimate equals the difference.
    """
    share1, share0 = np.asarray(right1) / n1, np.asarray(right0) / n0
    restricted = restricted_shares(right1, n1, right0, n0, difference)
    other = np.clip(restricted + difference, 0.0, 1.0)
    n = n1 + n0
    variance = (other * (1 - other) / n1 + restricted * (1 - restricted) / n0) * n / (n - 1)
    distance = share1 - share0 - difference
    with np.errstate(divide="ignore", invalid="ignore"):
        z = distance / np.sqrt(variance)
    flat = np.where(np.abs(distance) <= 4 * DUST, 0.0, np.copysign(FAR, distance))
    return np.clip(np.where(variance > DUST / n, z, flat), -FAR, FAR)


def restricted_shares(right1: Counts, n1: int, right0: Counts, n0: int, difference: float) -> Floats:
    """Return the baseline's most likely share when the candidate's is larger by `difference`: a root of a cubic."""
    n, right = n1 + n0, np.asarray(right1) + np.asarray(right0)
    least, most = max(0.0, -difference), min(1.0, 1.0 - difference)
    if difference == 0:
        return np.asarray(right / n, dtype=np.float64)
    # L3 p^3 + L2 p^2 + L1 p + L0 = 0, divided by L3 = N
    # Of its three roots the middle one is a share, by Viete's cosine; p has the sign of q to name that one.
    b = ((n + n0) * difference - n - right) / n
    c = ((n0 * difference - n - 2 * np.asarray(right0)) * difference + right) / n
    d = np.asarray(right0) * difference * (1 - difference) / n
    q = b**3 / 27 - b * c / 6 + d / 2
    p = np.copysign(np.sqrt(np.maximum(b**2 / 9 - c / 3, 0.0)), q)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(np.abs(p) > 0, q / p**3, 1.0)
    angle = (math.pi + np.arccos(np.clip(ratio, -1.0, 1.0))) / 3
    return np.asarray(np.clip(2 * p * np.cos(angle) - b / 3, least, most))


def interval(right1: int, n1: int, right0: int, n0: int, z: float) -> tuple[float, float]:
    """Every difference whose statistic is within z. The statistic falls in it, so each end is one bracketed root."""
    one, other = np.array([right1]), np.array([right0])
    estimate = right1 / n1 - right0 / n0

    def beyond(difference: float) -> float:
        return -float(scores(one, n1, other, n0, difference)[0])

    low = -1.0 if estimate == -1 else rising_root(lambda d: beyond(d) + z, -1.0, estimate, 1e-12)
    high = 1.0 if estimate == 1 else rising_root(lambda d: beyond(d) - z, estimate, 1.0, 1e-12)
    return low, high


def newcombe(right1: int, n1: int, right0: int, n0: int, z: float) -> tuple[float, float]:
    """Return Newcombe's hybrid of two Wilson intervals (his method 10).

    Source: Newcombe (1998), Stat Med 17:873. Example: 56/70 and 48/80 at .95: .0524 to .3339.
    """
    share1, share0 = right1 / n1, right0 / n0
    (low1, high1), (low0, high0) = wilson(right1, n1, z), wilson(right0, n0, z)
    delta = share1 - share0
    return (
        delta - math.hypot(share1 - low1, high0 - share0),
        delta + math.hypot(high1 - share1, share0 - low0),
    )
