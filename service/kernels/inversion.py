"""Distributions of sums of continuous data by inverting their characteristic function, in milliseconds.

Inversion returns the middle of an atom, so it is used only where atoms are negligible: 30 values or
more, none with a share above one half, on no lattice of 2^20 points, and a transform that vanishes.
A transform can come back: values close to a few evenly spaced points, such as two tight groups, are
nearly a lattice. So the rest of it is scanned by one FFT of the values' histogram, and what it could
add is part of the error. Where that is too much the answer is None.

Source: Gil-Pelaez (1951), Biometrika 38:481; Davies (1973), Biometrika 60:415 (the error of the sum).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.kernels import lattice
from service.kernels.roots import rising_root

Floats = NDArray[np.float64]

LEAST_VALUES = 30
LARGEST_SHARE = 0.5
BANDS = (64, 128, 256, 512)
"""Frequencies tried; the last half of them must have vanished."""

VANISHED = 1e-10
TAIL = 1e-11
"""Mass beyond the reach that the step is chosen for."""

ERROR = 1e-9
"""Of the sum and its truncation."""

TOLERATED = 1e-6
"""What a transform that comes back may add."""

BINS = 2**20
SCANNED = BINS // 16
BETWEEN = 1 / 32 + 0.01
"""How much higher a transform can be between two scanned frequencies, and what the bins take off it."""

CLOSER, MOST_CLOSER = 16, 2**25
"""Points around a frequency in doubt, and the most work spent on them."""

CELLS = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Inverted:
    """A sum with mean 0 and variance 1, from its transform at (k + 1/2) pi / reach."""

    reach: float
    transform: NDArray[np.complex128]
    error: float

    def at_most(self, x: float) -> float:
        """P(T <= x), to an absolute error of `error`."""
        if abs(x) >= self.reach:
            return float(x > 0)
        k = np.arange(len(self.transform)) + 0.5
        turned = self.transform * np.exp(-1j * (k * (math.pi * x / self.reach)))
        return min(max(0.5 - float((turned.imag / k).sum()) / math.pi, 0.0), 1.0)

    def quantile(self, q: float) -> float:
        """The x with P(T <= x) = q, to 1e-9 of it."""
        return rising_root(lambda x: self.at_most(x) - q, -self.reach, self.reach, 1e-9)


@dataclass(frozen=True, slots=True, eq=False)
class SmoothMean:
    """The bootstrap distribution of a mean of continuous values."""

    sum: Inverted
    mean: float
    se: float
    route: str = "inversion"

    @property
    def error(self) -> float:
        """Absolute error of a probability."""
        return self.sum.error

    def at_most(self, r: float, *, strict: bool = False) -> float:  # noqa: ARG002 - no atom to tell apart
        """P(mean* <= r), or < r."""
        return self.sum.at_most((r - self.mean) / self.se)

    def at_least(self, r: float, *, strict: bool = False) -> float:  # noqa: ARG002 - no atom to tell apart
        """P(mean* >= r), or > r."""
        return 1 - self.at_most(r)

    def quantile(self, q: float) -> float:
        """The r with P(mean* <= r) = q."""
        return self.mean + self.se * self.sum.quantile(q)

    def moments(self) -> tuple[float, float]:
        """Mean and standard deviation of mean*."""
        return self.mean, self.se


def smooth_mean(values: Floats) -> SmoothMean | None:
    """The bootstrap of the mean of `values` (n,); None where inversion would not be exact. O(100 n)."""
    n = len(values)
    if not continuous(values):
        return None
    mean = float(values.mean())
    away = values - mean
    se = math.sqrt(float(away @ away)) / n
    steps = away / (n * se)  # one draw of the standardized sum; the sum's variance is 1

    def transform(t: Floats) -> NDArray[np.complex128]:
        below_one, odd = np.zeros(len(t)), np.zeros(len(t))
        for part in _parts(steps, len(t)):
            angles = np.outer(t, part)
            half = np.sin(0.5 * angles)
            below_one -= 2 * (half * half).sum(axis=1) / n
            odd += np.sin(angles).sum(axis=1) / n
        log_size = 0.5 * n * np.log1p(np.maximum(2 * below_one + below_one**2 + odd**2, -1 + 1e-300))
        return np.exp(log_size + 1j * (n * np.arctan2(odd, 1 + below_one)))

    def at_most(size: Floats) -> Floats:
        return np.asarray(size**n)

    found = _inverted(transform, float(np.abs(steps).max()), steps, at_most)
    return None if found is None else SmoothMean(found, mean, se)


def smooth_flips(values: Floats) -> tuple[Inverted, float] | None:
    """The sum of `values` (n,) with random signs, and its standard deviation; None as `smooth_mean`."""
    if not continuous(np.abs(values)):
        return None
    spread = math.sqrt(float(values @ values))
    steps = values / spread

    def transform(t: Floats) -> NDArray[np.complex128]:
        product = np.ones(len(t))
        for part in _parts(steps, len(t)):
            product *= np.cos(np.outer(t, part)).prod(axis=1)
        return product.astype(np.complex128)

    def at_most(size: Floats) -> Floats:
        # |cos a| = sqrt((1 + cos 2a) / 2) <= exp(-(1 - cos 2a) / 4)
        return np.asarray(np.exp(-len(values) / 4 * (1 - size)))

    found = _inverted(transform, float(np.abs(steps).max()), 2 * np.abs(steps), at_most)
    return None if found is None else (found, spread)


def continuous(values: Floats) -> bool:
    """30 values or more, none with a share above one half, on no lattice of 2^20 points."""
    if len(values) < LEAST_VALUES:
        return False
    _, counts = np.unique(values, return_counts=True)
    if counts.max() > LARGEST_SHARE * len(values):
        return False
    return lattice.integer_grid(values - values.min()) is None and lattice.integer_grid(values) is None


def _inverted(
    transform: Callable[[Floats], NDArray[np.complex128]],
    widest: float,
    scanned: Floats,
    at_most: Callable[[Floats], Floats],
) -> Inverted | None:
    """Invert where the transform vanishes and stays small.

    `widest` is the largest step of the sum, whose variance is 1; `at_most` bounds its transform at t by
    the size of the mean of exp(i t x) over `scanned` (n,).
    """
    # Bernstein: P(|T| >= x) <= 2 exp(-x^2 / 2(1 + widest x / 3))
    nats = math.log(2 / TAIL)
    reach = widest * nats / 3 + math.sqrt((widest * nats / 3) ** 2 + 2 * nats)
    for length in BANDS:
        found = transform(np.asarray((np.arange(length) + 0.5) * (math.pi / reach), dtype=np.float64))
        if float(np.abs(found[length // 2 :]).max()) < VANISHED:
            returns, atom = _beyond(scanned, length * math.pi / reach, at_most)
            return Inverted(reach, found, ERROR + returns + atom) if returns <= TOLERATED else None
    return None


def _beyond(steps: Floats, band: float, at_most: Callable[[Floats], Floats]) -> tuple[float, float]:
    """What the transform beyond the band can add, and half the atom of a lattice too fine to be seen."""
    low, spread = float(steps.min()), float(steps.std())
    # the transform's second derivative is at most spread^2: two scans per unit of 1 / spread see every peak
    period = max(float(np.ptp(steps)) * (1 + 1e-9), 4 * math.pi * spread)
    places = np.minimum((steps - low) * (BINS / period), BINS - 1).astype(np.int64)
    sizes = np.abs(np.fft.rfft(np.bincount(places, minlength=BINS))[: SCANNED + 1]) / len(steps)
    k = np.arange(max(int(band * period / (2 * math.pi)), 1), SCANNED + 1)
    bounds = np.minimum(sizes[k] + BETWEEN, 1.0)
    doubtful = np.flatnonzero(at_most(bounds) > TOLERATED * math.pi * k / len(k) / 4)
    if len(doubtful) * CLOSER * len(steps) <= MOST_CLOSER:
        bounds[doubtful] = _closer(steps, k[doubtful], 2 * math.pi / period)
    returns = 2 * float((at_most(bounds) / (math.pi * k)).sum())
    return returns, period / SCANNED / (2 * math.sqrt(2 * math.pi))


def _closer(steps: Floats, k: NDArray[np.int64], step: float) -> Floats:
    """The largest size within half a step of the frequencies k steps, from `CLOSER` points around each."""
    t = (k[:, None] + (np.arange(CLOSER) + 0.5) / CLOSER - 0.5).ravel() * step
    sizes = np.zeros(len(t), dtype=np.complex128)
    for part in _parts(steps, max(len(t), 1)):
        sizes += np.exp(1j * np.outer(t, part)).sum(axis=1)
    found = np.abs(sizes).reshape(-1, CLOSER).max(axis=1) / len(steps)
    return np.asarray(np.minimum(found + 1 / (32 * CLOSER**2), 1.0))


def _parts(steps: Floats, width: int) -> list[Floats]:
    """The steps in pieces that keep an outer product with `width` frequencies within `CELLS`."""
    size = max(1, CELLS // width)
    return [steps[start : start + size] for start in range(0, len(steps), size)]
