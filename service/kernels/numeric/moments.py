"""Mean and standard deviation that survive huge, tiny and constant data."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

EPS = float(np.finfo(np.float64).eps)


class Moments(NamedTuple):
    """Size, mean and sample SD (ddof 1; None for a single value) of one sample."""

    n: int
    mean: float
    sd: float | None

    @property
    def se(self) -> float | None:
        """Standard error of the mean."""
        return None if self.sd is None else self.sd / math.sqrt(self.n)


def moments(values: NDArray[np.float64], noise: float = 0.0) -> Moments:
    """Return moments of `values`, shape (n,). A range of at most `noise` counts as constant, with SD exactly 0."""
    low, high = float(values.min()), float(values.max())
    if high - low <= noise:
        mean = low if low == high else float(values.mean())
        return Moments(values.size, mean, 0.0 if values.size > 1 else None)
    mean = float(values.mean())
    deviations = values - mean
    # squares are taken near 1, so that neither 1e200 nor 1e-200 leaves the range of floats
    scale = float(np.abs(deviations).max())
    deviations /= scale
    return Moments(values.size, mean, scale * math.sqrt(float(deviations @ deviations) / (values.size - 1)))


def difference_noise(*columns: NDArray[np.float64]) -> float:
    """Largest rounding error of a difference of two decimals of this size: 0.3 - 0.1 is not 0.4 - 0.2."""
    return 4 * EPS * max(float(np.abs(column).max()) for column in columns)


def _item_noise(baseline: NDArray[np.float64], candidate: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(4 * EPS * np.maximum(np.abs(baseline), np.abs(candidate)))


def sum_noise(baseline: NDArray[np.float64], candidate: NDArray[np.float64]) -> float:
    """Largest rounding error of the sum of the differences of two columns of decimals; equal items have none."""
    return float(_item_noise(baseline, candidate)[baseline != candidate].sum())


def paired_differences(baseline: NDArray[np.float64], candidate: NDArray[np.float64]) -> NDArray[np.float64]:
    """candidate - baseline, (n,): 0 where rounding alone tells the arms of an item apart.

    Where it alone tells the differences apart, the middle one throughout.

    >>> paired_differences(np.array([0.1, 0.2, 0.7]), np.array([0.2, 0.3, 0.8]))
    array([0.1, 0.1, 0.1])
    """
    difference = candidate - baseline
    noise = _item_noise(baseline, candidate)
    difference[np.abs(difference) <= noise] = 0.0
    if len(difference) and float(np.ptp(difference)) <= float(noise.max()):
        return np.full_like(difference, np.sort(difference)[len(difference) // 2])
    return difference


def binary_unit(values: NDArray[np.float64]) -> float:
    """A power of two as large as the largest value: to divide by it changes no digit and keeps squares in range."""
    # below 2^-1022 a unit has lost digits, and what it divides may overflow
    return math.ldexp(1.0, max(min(math.frexp(float(np.abs(values).max(initial=0.0)))[1], 1023), -1021))


def norm(values: NDArray[np.float64]) -> float:
    """Return the root of the sum of the squares of `values` (n,), whose squares alone may leave the range of floats."""
    unit = binary_unit(values)
    scaled = values / unit
    return unit * math.sqrt(float(scaled @ scaled))
