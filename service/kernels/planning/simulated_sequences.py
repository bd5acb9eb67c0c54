"""Sequential statistics along many simulated data sets at once: a data set is a row of T, in its locked order."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.planning.simulated_pairs import Floats, Ints, robust
from service.kernels.sequential.confidence_sequence import SHARE
from service.kernels.sequential.group_sequential import Walk

Bools = NDArray[np.bool_]


def looks_z(sums: Floats, sizes: Ints, looks: Sequence[int]) -> Floats:
    """Return z at each look (T, K): the CR2 t of the first units, carried to z by its tail; NaN without spread."""
    z_at_looks = np.full((len(sums), len(looks)), np.nan)
    for k, units in enumerate(looks):
        if units < 2:
            continue
        delta, se, df = robust("cr2", sums[:, :units], sizes[:units])
        known = (se > 1e-12 * np.abs(delta)) & (se > 0)
        t = np.abs(delta) / np.where(known, se, 1.0)
        # By the smaller tail, which keeps its digits far out; the sign is put back after.
        tail = np.maximum(special.stdtr(df, -t), 1e-300)
        z = np.where(delta == 0, 0.0, np.copysign(special.ndtri(tail), delta))
        z_at_looks[:, k] = np.where(known, z, np.where(delta == 0, 0.0, np.nan))
    return z_at_looks


def z_of_counts(won: Ints, lost: Ints) -> Floats:
    """Return (b - c) / sqrt(b + c) of counts up to each look, (T, K)."""
    total = won + lost
    return np.asarray(np.where(total > 0, (won - lost) / np.sqrt(np.maximum(total, 1)), 0.0))


def stagewise(
    information: Sequence[float], low: Sequence[float], high: Sequence[float], z: Floats
) -> tuple[Floats, Floats]:
    """Chances under H0 of at least as high and as low as z (T, K), were each look the one that ends the design."""
    above, below = np.full(z.shape, np.nan), np.full(z.shape, np.nan)
    walk, up, down = Walk(), 0.0, 0.0
    for k, t in enumerate(information):
        step = math.sqrt(t - walk.t)
        # The score at information t is z sqrt(t); from a point s of the walk it moves on by a normal step.
        gap = (walk.s[None, :] - z[:, k, None] * math.sqrt(t)) / step
        above[:, k] = up + special.ndtr(gap) @ walk.mass
        below[:, k] = down + special.ndtr(-gap) @ walk.mass
        up += walk.above(t, high[k])
        down += walk.below(t, low[k])
        if k + 1 < len(information):
            walk = walk.step(t, low[k], high[k], information[k + 1])
    return above, below


def plug_in_bets(scaled: Floats, alpha: float) -> Floats:
    """Return the bets of `confidence_sequence.plug_in_bets` for every row of scaled units, (T, n)."""
    t = np.arange(1, scaled.shape[1] + 1)
    y = (scaled + 1) / 2
    mean = (0.5 + np.cumsum(y, axis=1)) / (t + 1)
    variance = (0.25 + np.cumsum((y - mean) ** 2, axis=1)) / (t + 1)
    # A bet knows the spread of the units before it alone: the predictable plug-in.
    before = np.concatenate([np.full((len(y), 1), 0.25), variance[:, :-1]], axis=1)
    return np.asarray(np.sqrt(2 * math.log(2 / alpha) / (before * t * np.log1p(t))))


def both_bets(scaled: Floats, bets: Floats) -> tuple[Floats, Floats]:
    """Return the log winnings of `e_process.both_bets` for every row of scaled units, two arrays (T, n)."""
    stakes = np.minimum(bets, 1.0) / 2
    return np.cumsum(np.log1p(stakes * scaled), axis=1), np.cumsum(np.log1p(-stakes * scaled), axis=1)


def find_exclusion(
    scaled: Floats, sizes: Floats, bets: Floats, alpha: float, difference: float, side: int
) -> Ints:
    """Return the first unit, from 0, at which the confidence sequence lies above (1) or below (-1) a difference.

    As many as there are units where it never does. `difference` in units of the bound.
    """
    units = scaled.shape[1]
    difference *= side
    if difference <= -1:
        return np.zeros(len(scaled), dtype=np.int64)
    gain = side * scaled - sizes * difference
    gain *= np.minimum(bets, 2 * SHARE / (1 + difference)) / 2
    return first(np.cumsum(np.log1p(gain), axis=1) >= math.log(2 / alpha), units)


def first(reached: Bools, otherwise: int) -> Ints:
    """Return the first True of every row (T, n)."""
    return np.where(reached.any(axis=1), reached.argmax(axis=1), otherwise).astype(np.int64)
