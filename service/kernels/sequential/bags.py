"""How low the latest of several runs is, when every block's values might as well have come in any other order.

A block is an item, or a cluster of items; its bag holds its values in all runs so far. Where nothing has changed, the
latest value of a block is a uniform draw from its bag, and blocks draw independently. The chance that draws sum to no
more than the latest run does is a conformal p-value: those of successive runs dominate independent uniform numbers
(Vovk, Nouretdinov & Gammerman 2003, ICML; Vovk 2021, Stat Sci 36:595), so they may be multiplied and added up over runs
although all of them look back at the same reference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.kernels.exact import lattice

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

RISK = 1e-12
"""Added to every chance: more than the transform's error, and all that rounding may hide."""

GRID = 2**14
"""Points of the window that values off any lattice are rounded to."""

LONGEST = 2**17
"""Points up to which a lattice is taken as it is."""

AT_ONCE = 2**21
"""Transformed numbers that are held at a time, 32 MB."""


@dataclass(frozen=True, slots=True)
class Chance:
    """P(sum of draws <= the latest run's sum), and whether it is that, or a bound above it."""

    p: float
    exact: bool


CERTAIN = Chance(1.0, exact=True)


def chance_of_so_low(history: Floats, allowed: float = 0.0) -> Chance:
    """Return the chance of a sum as low as the latest run's raised by `allowed`, ties counted in full.

    `history` (T, B): a row per run, the latest last; NaN where a block has no value in a run. Blocks that the latest
    run lacks have no say, nor have those that never varied.

    Memory: `AT_ONCE` complex numbers besides the bags. Values on a lattice (0 and 1, halves, sums of these) have the
    chance to within `RISK`; others are rounded to a grid, and Hoeffding (1963, JASA 58:13) bounds what that moves the
    sum by.

    >>> round(chance_of_so_low(np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 1.0]])).p, 9)  # two losses: (1/2)^2
    0.25
    """
    bags = history[:, ~np.isnan(history[-1])]
    bags = bags[:, np.nanmax(bags, axis=0, initial=-np.inf) > np.nanmin(bags, axis=0, initial=np.inf)]
    if bags.shape[1] == 0:
        return CERTAIN
    there = ~np.isnan(bags)
    grid = lattice.integer_grid(bags[there], LONGEST)
    if grid is None:
        return _round_off(bags, there, allowed)
    cells = np.rint(bags / grid[1])
    try:
        p = _at_most(cells, there, _floor(cells[-1].sum() + allowed / grid[1]), LONGEST)
    except lattice.WindowTooLong:
        return _round_off(bags, there, allowed)
    return Chance(p, exact=True)


def chance_of_coins(ones: Floats, sizes: Floats, latest: float, allowed: float) -> Chance:
    """Return what `chance_of_so_low` tells, of blocks of 0 and 1.

    `ones` (B,) of the `sizes` (B,) values in each bag are 1, and `latest` of the latest run's values.
    """
    certain = ones == sizes
    shares = (ones / sizes)[(ones > 0) & ~certain]
    if len(shares) == 0:
        return CERTAIN
    mean, variance = float(shares.sum()), float(shares @ (1 - shares))
    low, length = lattice.window(mean, variance, 1, len(shares))
    k = _floor(latest + allowed) - int(certain.sum())
    return Chance(_tail(_of_coins(shares, length), low, length, k), exact=True)


def _floor(total: float) -> int:
    """1e-9: a margin of 2 pp of 150 items is 3 items, whatever its product is in floats."""
    return math.floor(total + 1e-9)


def _at_most(cells: Floats, there: NDArray[np.bool_], k: int, most: int) -> float:
    """P(sum <= k), raised by `RISK`, of independent uniform draws from the columns of whole numbers `cells`."""
    sizes, least = there.sum(axis=0), np.nanmin(cells, axis=0)
    steps = np.where(there, cells - least, 0.0)
    mean = steps.sum(axis=0) / sizes
    variance = np.maximum((steps**2).sum(axis=0) / sizes - mean**2, 0.0)
    widths = steps.max(axis=0)
    low, length = lattice.window(
        float(mean.sum()), float(variance.sum()), int(widths.max()), int(widths.sum()), most
    )
    coins = widths == 1
    whole = _of_coins(mean[coins], length)
    whole *= _of_bags(steps[:, ~coins].astype(np.int64), there[:, ~coins], length)
    return _tail(whole, low, length, k - int(least.sum()))


def _tail(transform: Complexes, low: int, length: int, k: int) -> float:
    """P(sum <= k), raised by `RISK`, from the transform of a sum that lies in the window."""
    if k < low:
        return RISK
    if k >= low + length - 1:
        return 1.0
    # The transform knows sums modulo its length alone: place `low` of the window is turned to the front.
    pmf = np.roll(np.fft.irfft(transform, length), -(low % length))
    return min(max(float(pmf[: k - low + 1].sum()), 0.0) + RISK, 1.0)


def _of_coins(shares: Floats, length: int) -> Complexes:
    """The product of the transforms of coins that are 1 with chances `shares`, at `length` // 2 + 1 frequencies."""
    turn = np.exp(-2j * math.pi / length * np.arange(length // 2 + 1)) - 1
    whole = np.ones(len(turn), dtype=np.complex128)
    several = max(1, AT_ONCE // length)
    for start in range(0, len(shares), several):
        whole *= np.prod(1 + shares[start : start + several, None] * turn, axis=0)
    return whole


def _of_bags(steps: NDArray[np.int64], there: NDArray[np.bool_], length: int) -> Complexes:
    """Return the product of the transforms of draws from the columns of `steps` (T, B), at the same frequencies."""
    whole = np.ones(length // 2 + 1, dtype=np.complex128)
    several = max(1, AT_ONCE // length)
    for start in range(0, steps.shape[1], several):
        held = there[:, start : start + several]
        bags = held.shape[1]
        place = (steps[:, start : start + several] % length + length * np.arange(bags))[held]
        weights = np.broadcast_to(1 / held.sum(axis=0), held.shape)[held]
        counts = np.bincount(place, weights=weights, minlength=length * bags)
        whole *= np.prod(np.fft.rfft(counts.reshape(bags, length), axis=1), axis=0)
    return whole


def _round_off(bags: Floats, there: NDArray[np.bool_], allowed: float) -> Chance:
    """A bound: values rounded to a grid, and the sum allowed what that moves it by but for a chance of `RISK`."""
    sizes = there.sum(axis=0)
    low, high = np.nanmin(bags, axis=0), np.nanmax(bags, axis=0)
    spread, widest = math.sqrt(float(np.nanvar(bags, axis=0).sum())), float((high - low).max())
    # Bernstein's inequality solved for the distance: beyond w L / 3 + sqrt((w L / 3)^2 + 2 L s^2) lies exp(-L).
    nats = math.log(2 / lattice.TINY_MASS)
    reach = 2 * (widest * nats / 3 + math.sqrt((widest * nats / 3) ** 2 + 2 * nats * spread**2))
    unit = min(reach, float((high - low).sum())) / GRID
    cells = np.rint(bags / unit)
    left = np.where(there, bags - cells * unit, 0.0)
    mean = left.sum(axis=0) / sizes
    extent = np.ptp(np.where(there, left, mean), axis=0)
    # Hoeffding: the rounded-off parts add up to t above their mean with chance exp(-2 t^2 / sum of extents^2).
    slip = math.sqrt(float(extent @ extent) * math.log(1 / RISK) / 2)
    k = _floor((float(bags[-1].sum()) + allowed - float(mean.sum()) + slip) / unit)
    return Chance(min(_at_most(cells, there, k, 4 * GRID) + RISK, 1.0), exact=False)
