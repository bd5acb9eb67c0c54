"""Tango's score test and interval of a paired difference of proportions, for one table and for arrays of tables.

Throughout: `b` items are answered correctly by the candidate alone and `c` by the baseline alone, of `n`; the
estimate is (b - c) / n and `z` is the normal quantile of the wanted two-sided level. One table goes through
`math`: as an array it would take forty times as long.

Source: Tango (1998), Stat Med 17:891, eq. 6.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64] | Floats

CLOSE = 1e-8
"""A step this small, relative to the distance from the estimate, is the last: Newton's next would be 1e-16."""


def score(b: int, c: int, n: int, difference: float) -> float:
    """T(D) for H0: true difference = D; positive when the estimate is above D.

    At the ends of [-1, 1], or wherever the restricted variance is zero, the statistic is
    an infinity of the right sign, or 0 where the estimate equals D.
    """
    if difference < 0:  # the mirror image, in which nothing below cancels
        return 0.0 - score(c, b, n, -difference)
    numerator = b - c - n * difference
    # q, below: the share that the baseline alone answers, by maximum likelihood under H0; it solves
    # 2 n q^2 + linear q + product = 0, and the candidate's is q + D
    linear = -b - c + (2 * n - b + c) * difference
    product = -c * difference * (1 - difference)
    # the root sqrt(B^2 - 4AC) - B cancels badly for B > 0: use the conjugate form there
    root = math.hypot(linear, math.sqrt(-8 * n * product))  # a square would underflow
    q = (root - linear) / (4 * n) if linear <= 0 else -2 * product / (root + linear)
    variance = n * (2 * max(q, 0.0) + difference * (1 - difference))
    if variance <= 0:
        return 0.0 if numerator == 0 else math.copysign(math.inf, numerator)
    return numerator / math.sqrt(variance)


def scores(b: Counts, c: Counts, n: int, difference: float) -> Floats:
    """T(D) for arrays of discordant counts."""
    if difference < 0:
        return 0.0 - scores(c, b, n, -difference)
    # as in `score`, in the same order of operations
    numerator = np.asarray(b - c - n * difference, dtype=np.float64)
    linear = (2 * n - b + c) * difference - b - c
    product = -c * difference * (1 - difference)
    root = np.hypot(linear, np.sqrt(-8 * n * product))
    with np.errstate(invalid="ignore", divide="ignore"):
        q = np.where(linear <= 0, (root - linear) / (4 * n), -2 * product / (root + linear))
        variance = n * (2 * np.maximum(np.nan_to_num(q), 0.0) + difference * (1 - difference))
        z = numerator / np.sqrt(variance)
    return np.where(variance > 0, z, np.where(numerator == 0, 0.0, np.copysign(np.inf, numerator)))


def interval(b: int, c: int, n: int, z: float) -> tuple[float, float]:
    """Score interval: every D with |T(D)| <= z. T falls in D, so each end is one bracketed root."""
    return -_upper_end(c, b, n, z), _upper_end(b, c, n, z)


def intervals(b: Floats, c: Floats, n: Floats, z: float) -> tuple[Floats, Floats]:
    """Return the intervals of many tables (k,), bit for bit those of `interval`."""
    return -_upper_ends(c, b, n, z), _upper_ends(b, c, n, z)


def _upper_end(b: int, c: int, n: int, z: float) -> float:
    """Return the D above the estimate with T(D) = -z; 1 when 1 is not rejected.

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
        if abs(step) <= CLOSE * (point - estimate):
            return point
        point = point if low < point < high else 0.5 * (low + high)
    return point


def _upper_ends(b: Floats, c: Floats, n: Floats, z: float) -> Floats:
    """Return the ends of all tables (k,) by the steps of `_upper_end`, taken together; tables that have ended leave."""
    m, wins, whole = b + c, b - c, n + z * z
    estimate = wins / n
    centre, spread, fixed = wins / whole, z / whole, wins * estimate
    point = np.minimum(centre + spread * np.sqrt((m + z * z / 2) / n * whole - fixed), 0.5 * (estimate + 1))
    ends = np.where(b == n, 1.0, point)
    rows = np.flatnonzero((b < n) & (estimate < point) & (point < 1))
    # the last three are the bracket and the point, which move; all shrink alike when tables leave
    tables = [b, c, n, m, wins, whole, estimate, centre, spread, fixed, estimate, np.ones(len(n)), point]
    tables = [table[rows] for table in tables]
    while len(rows):
        b, c, n, m, wins, whole, estimate, centre, spread, fixed, low, high, point = tables
        above, size = point >= 0, np.abs(point)
        other, slope = np.where(above, c, b), 2 * n - np.where(above, wins, -wins)
        linear, product = slope * size - m, other * size * (1 - size)
        root = np.sqrt(linear * linear + 8 * n * product)
        with np.errstate(divide="ignore", invalid="ignore"):
            q = np.where(linear <= 0, (root - linear) / (4 * n), 2 * product / (root + linear))
            inside = np.maximum(whole * (size + 2 * q) - fixed, 0.0)
            half = spread * np.sqrt(inside)
            missing = centre + half - point
            growth = 1 + 2 * (other * (1 - 2 * size) - slope * q) / root
            rate = np.copysign(0.5, point) * half * whole * growth / inside
            rate = np.where((root > 0) & (inside > 0), rate, np.inf)
            step = np.where(rate < 1, missing / (1 - rate), np.inf)
        low, high = np.where(missing > 0, point, low), np.where(missing > 0, high, point)
        point = point + step
        last = np.abs(step) <= CLOSE * (point - estimate)
        point = np.where(last | ((low < point) & (point < high)), point, 0.5 * (low + high))
        ends[rows] = point
        going = ~last & (low < point) & (point < high)
        rows, tables = rows[going], [table[going] for table in (*tables[:-3], low, high, point)]
    return ends
