"""How much a characteristic function can come back beyond the frequencies that an inversion sums.

The transform of continuous data vanishes, but data close to evenly spaced points are nearly a lattice,
and the transform of a lattice returns to 1. Two bounds on |mean of exp(i t y)|:

- By gaps: sort the values, pair neighbours at a distance, and |e^(i t y) + e^(i t z)| = 2 |cos(t (z - y) / 2)|
  bounds the mean by the transform of the gaps alone: by Jensen's inequality |mean| <= sqrt((1 + |gaps'|) / 2).
  Gaps are short, so few frequencies reach far. One or two levels of gaps from at most 2,048 values suffice: of
  the n values a part of m cannot return without bounding the whole by 1 - m/n (1 - |mean of the part|).
- By a scan: one FFT of the values' histogram, where the gaps do not suffice, with a closer look at doubtful
  frequencies. O(2^20).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.kernels.exact.characteristic import parts

Floats = NDArray[np.float64]
Bound = Callable[[Floats], Floats]

TOLERATED = 1e-6
"""What a transform that comes back may add."""

SAMPLED = 2048
"""Values whose gaps are looked at: O(1) however many there are."""

LEAST_SAMPLE, AMPLE_SAMPLE = 64, 512
"""Below the first gaps tell too little; below the second frequencies lie twice as close, to bound peaks as well."""

FREQUENCIES = 512
"""How many frequencies the transform is looked at in each level of the search."""

OVERSAMPLING = 16
"""Bins per frequency of a scan."""

JUMPS, NEGLIGIBLE = ((6, 0.92), (3, 0.85)), 1e-8
"""How many times shorter the next gaps may be where a transform of this size adds nothing, as a high power."""

LONG_GAP = 8
"""Gaps beyond this many medians are left out of the bound, as if they were 0."""

SCANNED, LEAST_SCANNED = 2**16, 2**8
"""The most and the fewest frequencies that a scan looks at."""

BETWEEN, BETWEEN_DENSE = 1 / 32 + 0.01, 1 / 128 + 0.01
"""How much higher a transform can be between two scanned frequencies, and what the bins take off it."""

CLOSER, MOST_CLOSER, QUICK_CLOSER = 16, 2**25, 2**19
"""Points around a frequency in doubt, and the most work spent on them in a full scan and in a short one."""


def beyond(values: Floats, band: float, at_most: Bound, *, scan: bool = True) -> tuple[float, float]:
    """Return what the transform beyond the frequency `band` adds to a probability at most, and half the atom of a
    lattice too fine to be seen.

    `at_most` bounds the transform at t by the size of the mean of exp(i t y) over `values` (n,). Without
    `scan` the first figure is infinite where the gaps do not suffice. Memory: 2^20 points at most.
    """
    if len(values) >= LEAST_SAMPLE:
        returns, unseen = _by_gaps(values, band, at_most)
        if returns <= TOLERATED:
            return returns, unseen
    return scan_all(values, band, at_most) if scan else (math.inf, 0.0)


def _by_gaps(values: Floats, band: float, at_most: Bound) -> tuple[float, float]:
    """Return what `beyond` answers, from the gaps between at most `SAMPLED` values."""
    sample = np.sort(values[:: -(-len(values) // SAMPLED)])
    m = len(sample)
    share = m / len(values)
    broken = at_most(np.array([1 - share * (1 - size) for _, size in JUMPS]))
    jump = next((jump for (jump, _), left in zip(JUMPS, broken, strict=True) if left < NEGLIGIBLE), 1)
    fine = 8 if jump == 1 else 4
    wide = 2 * math.pi if m >= AMPLE_SAMPLE else 4 * math.pi
    sample -= sample[0]
    deviation = _deviation(sample)
    period = max(float(sample[-1]) * (1 + 1e-9), wide * deviation)
    sizes = _sizes(sample, period, deviation, FREQUENCIES, fine)
    # the transform has vanished at the band's end, so it is the peaks that count
    returns, reached = _bound_rest(1 - share * (1 - sizes), period, band + math.pi / period, at_most)
    gap = _typical(sample[1:] - sample[:-1])
    while gap > 0:
        stride = max(1, min(round(period / FREQUENCIES / gap / jump), m // 4))
        gaps, deviation, period = _gaps(sample, stride, wide)
        while 2 * math.pi / period > reached and stride < m // 4:
            # where they begin, the transform of so short gaps has not come down
            stride = min(2 * stride, m // 4)
            gaps, deviation, period = _gaps(sample, stride, wide)
        weight = share * 2 * len(gaps) / m
        sizes = _sizes(gaps, period, deviation, FREQUENCIES, fine)
        more, reached = _bound_rest(1 - weight * (1 - np.sqrt((1 + sizes) / 2)), period, reached, at_most)
        returns += more
        if stride == 1 or returns > TOLERATED:
            break
    return returns, _unseen(reached)


def _deviation(values: Floats) -> float:
    n = len(values)
    away = values - float(values.sum()) / n
    return math.sqrt(float(away @ away) / n)


def _gaps(ascending: Floats, stride: int, wide: float) -> tuple[Floats, float, float]:
    """Gaps of pairs `stride` apart, without the longest; their standard deviation, and a period that holds them."""
    blocks = len(ascending) // (2 * stride)
    pairs = ascending[: blocks * 2 * stride].reshape(blocks, 2, stride)
    gaps = (pairs[:, 1] - pairs[:, 0]).ravel()
    gaps = gaps[gaps <= LONG_GAP * _typical(gaps)]
    deviation = _deviation(gaps)
    return gaps, deviation, max(float(gaps.max()) * (1 + 1e-9), wide * deviation)


def _typical(gaps: Floats) -> float:
    """Return the median, or the mean of tied data."""
    middle = float(np.partition(gaps, len(gaps) // 2)[len(gaps) // 2])
    return middle or float(gaps.sum()) / len(gaps)


def _sizes(values: Floats, period: float, deviation: float, most: int, fine: int) -> Floats:
    """Bounds on |mean of exp(i t y)| for t within half a step of 2 pi k / period, k = 0 .. most.

    Every value from 0 to `period` is shared by the two of `fine * most` places next to it. The second
    derivative of the squared size is at most twice the variance, which bounds a peak between two frequencies.
    """
    bins = fine * most
    places = values * (bins / period)
    below = places.astype(np.int64)
    places -= below
    shared = np.bincount(below, minlength=bins) + _move(np.bincount(below, places, bins))
    scale, slip = _interpolation(most, fine)
    sizes = np.abs(np.fft.rfft(shared)[: most + 1]) * (scale / len(values)) + slip
    return np.sqrt(np.minimum(sizes * sizes + (deviation * math.pi / period) ** 2, 1.0))


def _move(weights: NDArray[Any]) -> Floats:
    """Return what moves a weight from a place to the next, which may be the first."""
    moved = -weights
    moved[1:] += weights[:-1]
    moved[0] += weights[-1]
    return moved


@lru_cache(maxsize=8)  # a length comes from the data
def _interpolation(most: int, fine: int) -> tuple[Floats, Floats]:
    """Return what exp(i t y) is c times the mean of its two places but for, and c, for k = 0 .. most.

    With c = 2 / (1 + cos(a / 2)), a the angle between two places, it is off by tan(a / 4)^2 at most.
    """
    angle = np.arange(most + 1) * (2 * math.pi / (fine * most))
    return 2 / (1 + np.cos(angle / 2)), np.tan(angle / 4) ** 2


def _bound_rest(sizes: Floats, period: float, band: float, at_most: Bound) -> tuple[float, float]:
    """Return what the frequencies from `band` on add at most, and the last of them."""
    step = 2 * math.pi / period
    k = np.arange(max(int(band / step), 1), len(sizes))
    added = 2 * float((at_most(sizes[k]) / k).sum()) / math.pi
    return added, max(step * (len(sizes) - 1), band)


def _unseen(reached: float) -> float:
    """Half the atom of a lattice whose transform returns beyond `reached`; the sum has variance 1."""
    return math.sqrt(math.pi / 2) / reached


def scan_all(values: Floats, band: float, at_most: Bound, unseen: float | None = None) -> tuple[float, float]:
    """What `beyond` answers, by the scan alone: up to where lattices of half an atom above `unseen` show, or all."""
    low, spread = float(values.min()), float(values.std())
    # the transform's second derivative is at most spread^2: two scans per unit of 1 / spread see every peak
    period = max((float(values.max()) - low) * (1 + 1e-9), 4 * math.pi * spread)
    step, most, between = 2 * math.pi / period, SCANNED, BETWEEN
    if unseen is not None:
        # twice as dense: a quarter of the slack
        period, step, between = 2 * period, step / 2, BETWEEN_DENSE
        needed = math.ceil(max(math.sqrt(math.pi / 2) / unseen, 2 * band) / step)
        most = min(1 << max(needed - 1, LEAST_SCANNED - 1).bit_length(), SCANNED)
    bins = OVERSAMPLING * most
    places = np.minimum(((values - low) * (bins / period)).astype(np.int64), bins - 1)
    sizes = np.abs(np.fft.rfft(np.bincount(places, minlength=bins))[: most + 1]) / len(values)
    k = np.arange(max(int(band / step), 1), most + 1)
    bounds = np.minimum(sizes[k] + between, 1.0)
    allowed = TOLERATED if unseen is None else unseen / 4
    doubtful = np.flatnonzero(at_most(bounds) > allowed * math.pi * k / len(k) / 4)
    if len(doubtful) * CLOSER * len(values) <= (MOST_CLOSER if unseen is None else QUICK_CLOSER):
        bounds[doubtful] = _closer(values, k[doubtful], step)
    return 2 * float((at_most(bounds) / (math.pi * k)).sum()), _unseen(step * most)


def _closer(values: Floats, k: NDArray[np.int64], step: float) -> Floats:
    """Return the largest size within half a step of the frequencies k steps, from `CLOSER` points around each."""
    t = (k[:, None] + (np.arange(CLOSER) + 0.5) / CLOSER - 0.5).ravel() * step
    sizes = np.zeros(len(t), dtype=np.complex128)
    for part in parts(values, max(len(t), 1)):
        sizes += np.exp(1j * np.outer(t, part)).sum(axis=1)
    # Between points 1 / CLOSER of a step apart a peak is higher by the second derivative's bound, 1 / (32 CLOSER^2).
    closest = np.abs(sizes).reshape(-1, CLOSER).max(axis=1) / len(values)
    return np.asarray(np.minimum(closest + 1 / (32 * CLOSER**2), 1.0))
