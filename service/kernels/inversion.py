"""Distributions of sums of continuous data by inverting their characteristic function: milliseconds, error 1e-9.

Inversion returns the middle of an atom, so it is used only where atoms are negligible: 30 values or
more, none with a share above one half, on no lattice of 2^20 points, and a transform that has
vanished and stays so over the rest of the band. Otherwise the answer is None.

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
CELLS = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Inverted:
    """A sum with mean 0 and variance 1, from its transform at (k + 1/2) pi / reach."""

    reach: float
    transform: NDArray[np.complex128]

    def at_most(self, x: float) -> float:
        """P(T <= x), to an absolute error of 1e-9."""
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
    error: float = ERROR

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

    found = _inverted(transform, float(np.abs(steps).max()))
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

    found = _inverted(transform, float(np.abs(steps).max()))
    return None if found is None else (found, spread)


def continuous(values: Floats) -> bool:
    """30 values or more, none with a share above one half, on no lattice of 2^20 points."""
    if len(values) < LEAST_VALUES:
        return False
    _, counts = np.unique(values, return_counts=True)
    if counts.max() > LARGEST_SHARE * len(values):
        return False
    return lattice.integer_grid(values - values.min()) is None and lattice.integer_grid(values) is None


def _inverted(transform: Callable[[Floats], NDArray[np.complex128]], widest: float) -> Inverted | None:
    """Invert where the transform vanishes; `widest` is the largest step of a sum of variance 1."""
    # Bernstein: P(|T| >= x) <= 2 exp(-x^2 / 2(1 + widest x / 3))
    nats = math.log(2 / TAIL)
    reach = widest * nats / 3 + math.sqrt((widest * nats / 3) ** 2 + 2 * nats)
    for length in BANDS:
        found = transform(np.asarray((np.arange(length) + 0.5) * (math.pi / reach), dtype=np.float64))
        if float(np.abs(found[length // 2 :]).max()) < VANISHED:
            return Inverted(reach, found)
    return None


def _parts(steps: Floats, width: int) -> list[Floats]:
    """The steps in pieces that keep an outer product with `width` frequencies within `CELLS`."""
    size = max(1, CELLS // width)
    return [steps[start : start + size] for start in range(0, len(steps), size)]
