"""A confidence sequence for a bounded mean difference: valid at every n at once, whatever stops it.

Hedged capital with predictable plug-in bets, c = 1/2 and theta = 1/2 (Waudby-Smith & Ramdas 2024,
JRSS B 86:1, theorem 3). For y = (d + 1)/2 and m = (1 + D)/2 the capital against a true difference D
grows by 1 + lambda (y - m); D is excluded once half of either capital reaches 1/alpha.

Clusters: `sums` (G,) and `sizes` (G,) are divided by a cap on the size, fixed beforehand, and the
game is about E[d_g - D n_g] = 0, so y - m becomes (d_g - D n_g) / (2 cap). Items are clusters of
size 1 with cap 1. All arrays are in the order in which the data came.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.kernels.numeric.roots import rising_root

Floats = NDArray[np.float64]

SHARE = 0.5
"""c: a bet may lose at most this share of the capital."""

CELLS = 20_000_000
"""Candidate differences times items that a curve may cost."""

MOST_CANDIDATES, LEAST_CANDIDATES = 1000, 160
"""Differences that a curve is read off at: as many as `CELLS` allows, within these."""

BLOCK = 2048
"""Items that are played at a time, so that differences already excluded leave the game early."""


def plug_in_bets(sums: Floats, alpha: float) -> Floats:
    """Return lambda_t = sqrt(2 ln(2/alpha) / (s_{t-1}^2 t ln(t + 1))), s the running SD of y, shape (G,)."""
    t = np.arange(1, len(sums) + 1)
    y = (sums + 1) / 2
    mean = (0.5 + np.cumsum(y)) / (t + 1)
    variance = (0.25 + np.cumsum((y - mean) ** 2)) / (t + 1)
    # a bet knows what came before it alone; the first knows the prior y of 1/2 with its variance of 1/4
    before = np.concatenate(([0.25], variance[:-1]))
    return np.sqrt(2 * math.log(2 / alpha) / (before * t * np.log1p(t)))


def lower_limit(sums: Floats, sizes: Floats, bets: Floats, alpha: float) -> float:
    """Return the running lower end after all data: the largest difference excluded so far, to 1e-12."""

    def compute_gap(difference: float) -> float:
        return math.log(2 / alpha) - float(_log_capital(sums, sizes, bets, np.array([difference])).max())

    bottom = -1 + 1e-12
    return -1.0 if compute_gap(bottom) > 0 else rising_root(compute_gap, bottom, 1.0, 1e-12)


@dataclass(frozen=True, eq=False)
class Curve:
    """Running ends (G,) after 1 .. G; all but the last are rounded outward by at most `resolution`."""

    low: Floats
    high: Floats
    resolution: float


def curve(sums: Floats, sizes: Floats, alpha: float) -> Curve:
    """Return the sequence after every cluster. Time and memory are bounded by `CELLS`."""
    bets = plug_in_bets(sums, alpha)
    low, below = _lower_curve(sums, sizes, bets, alpha)
    minus_high, above = _lower_curve(-sums, sizes, bets, alpha)
    return Curve(low, -minus_high, max(below, above))


def limits(sums: Floats, sizes: Floats, alpha: float) -> tuple[float, float]:
    """Return the running intersection after all data; low > high when it is empty."""
    bets = plug_in_bets(sums, alpha)
    return lower_limit(sums, sizes, bets, alpha), -lower_limit(-sums, sizes, bets, alpha)


def first_exclusion(sums: Floats, sizes: Floats, alpha: float, difference: float) -> int | None:
    """Say after how many clusters `difference` is first excluded; None when it never is."""
    bets = plug_in_bets(sums, alpha)
    firsts = [
        int(np.argmax(gone)) + 1
        for side in (1, -1)
        if (
            gone := _log_capital(side * sums, sizes, bets, np.array([side * difference]))[:, 0]
            >= math.log(2 / alpha)
        ).any()
    ]
    return min(firsts, default=None)


def _log_capital(sums: Floats, sizes: Floats, bets: Floats, differences: Floats) -> Floats:
    """Log of the upward capital against each difference: (G, k), falling in the difference."""
    cap = 2 * SHARE / (1 + differences)
    gain = sums[:, None] - sizes[:, None] * differences
    gain *= np.minimum(bets[:, None], cap) / 2
    return np.cumsum(np.log1p(gain, out=gain), axis=0)


def _lower_curve(sums: Floats, sizes: Floats, bets: Floats, alpha: float) -> tuple[Floats, float]:
    """Running lower end after every cluster, and how far it may lie below the true one."""
    n = len(sums)
    last = lower_limit(sums, sizes, bets, alpha)
    curve = np.full(n, -1.0)
    if last <= -1:
        return curve, 0.0
    count = int(np.clip(CELLS / n, LEAST_CANDIDATES, MOST_CANDIDATES))
    # dense near the last end, where most n have theirs
    candidates = last - (last + 1) * np.linspace(0, 1, count + 1)[:-1] ** 2
    threshold = math.log(2 / alpha)
    crossed = np.full(count, n)
    alive, capital = np.arange(count), np.zeros(count)
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        path = _log_capital(sums[start:stop], sizes[start:stop], bets[start:stop], candidates[alive])
        path += capital
        gone = path >= threshold
        done = gone.any(axis=0)
        crossed[alive[done]] = start + np.argmax(gone[:, done], axis=0)
        alive, capital = alive[~done], path[-1, ~done]
        if len(alive) == 0:
            break
    # candidates fall; the largest that was excluded by t counts
    reached = crossed < n
    np.maximum.at(curve, crossed[reached], candidates[reached])
    curve = np.maximum.accumulate(curve)
    curve[-1] = last
    ascending = np.append(candidates[::-1], last)
    above = np.searchsorted(ascending, curve, side="right")
    gaps = ascending[np.minimum(above, count)] - curve
    return curve, float(gaps[:-1].max(initial=0.0))
