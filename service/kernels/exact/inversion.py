"""Distributions of sums of continuous data by inverting their characteristic function, in milliseconds.

Inversion returns the middle of an atom, so it is used only where atoms are negligible: 30 values or
more, none with a share above one half, on no lattice of 2^20 points, and a transform that vanishes.
A transform can come back: values close to a few evenly spaced points, such as two tight groups, are
nearly a lattice. So the rest of it is bounded (`returns.py`), and what it could add is part of the error.
Where that is too much the answer is None.

Error: 1e-9 for the sum, what can return, and half the atom of a lattice too fine to be seen; together 1e-6
to 1e-5, in `error`. Memory: O(n), or 2^20 points where the bound needs a scan. Time: 30 passes over the values.

Source: Gil-Pelaez (1951), Biometrika 38:481; Davies (1973), Biometrika 60:415 (the error of the sum).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.exact import lattice
from service.kernels.exact.characteristic import Complexes, power_of_mean, product_of_cosines
from service.kernels.exact.returns import TOLERATED, beyond, scan_all
from service.kernels.numeric.moments import norm
from service.kernels.numeric.roots import rising_root

Floats = NDArray[np.float64]

LEAST_VALUES = 30
"""Values from which on atoms may be negligible."""
LARGEST_SHARE = 0.5
"""Of one value among all; a larger one is an atom of the sum."""
BANDS = (32, 64, 128, 256, 512)
FLIP_BANDS = (48, *BANDS[1:])
"""Frequencies tried; the last quarter of them must have vanished. What is just beyond a short band is bounded
too coarsely, the more so for signs."""

TRIES = 2
"""Bands whose beyond is looked at: what returns early is summed by the next band."""

VANISHED = 1e-10
"""Size that a transform must stay below over the last quarter of its band; `returns` bounds what lies beyond."""

TAIL = 1e-11
"""Mass beyond the reach that the step is chosen for."""

ERROR = 1e-9
"""Absolute error of a probability by the sum and its truncation."""

NEWTON_STEPS = 12
"""More than a quantile takes where Newton converges; beyond, it is bracketed."""
CLOSE = 1e-9
"""How close a quantile is found, in standard deviations."""


@dataclass(frozen=True, eq=False)
class Inverted:
    """A sum with mean 0 and variance 1, from its transform at (k + 1/2) pi / reach.

    `skewness` only starts the search for quantiles.
    """

    reach: float
    transform: Complexes
    error: float
    skewness: float = 0.0

    @cached_property
    def _turns(self) -> Complexes:
        return np.asarray(-1j * math.pi / self.reach * (np.arange(len(self.transform)) + 0.5))

    @cached_property
    def _weighted(self) -> Complexes:
        return np.asarray(self.transform / (math.pi * (np.arange(len(self.transform)) + 0.5)))

    def at_most(self, x: float) -> float:
        """Return P(T <= x), to an absolute error of `error`."""
        if abs(x) >= self.reach:
            return float(x > 0)
        return min(max(0.5 - float((self._weighted @ np.exp(self._turns * x)).imag), 0.0), 1.0)

    def with_density(self, x: float) -> tuple[float, float]:
        """Return P(T <= x) and the density at x, for |x| below the reach."""
        turned = np.exp(self._turns * x)
        density = float((self.transform @ turned).real) / self.reach
        return 0.5 - float((self._weighted @ turned).imag), density

    def quantile(self, q: float) -> float:
        """Return the x with P(T <= x) = q, to 1e-9: Newton's steps within a bracket, or the bracket alone."""
        z = float(special.ndtri(min(max(q, 1e-12), 1 - 1e-12)))
        x, low, high = z + (z * z - 1) * self.skewness / 6, -self.reach, self.reach
        for _ in range(NEWTON_STEPS):
            if not low < x < high:
                break
            value, density = self.with_density(x)
            low, high = (x, high) if value < q else (low, x)
            if density <= 0:
                break
            step = (q - value) / density
            x += step
            if abs(step) < CLOSE:
                return x
        return rising_root(lambda x: self.at_most(x) - q, low, high, CLOSE)


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
        """Return P(mean* <= r), or < r."""
        return self.sum.at_most((r - self.mean) / self.se)

    def at_least(self, r: float, *, strict: bool = False) -> float:  # noqa: ARG002 - no atom to tell apart
        """Return P(mean* >= r), or > r."""
        return 1 - self.at_most(r)

    def quantile(self, q: float) -> float:
        """Return the r with P(mean* <= r) = q."""
        return self.mean + self.se * self.sum.quantile(q)

    def moments(self) -> tuple[float, float]:
        """Return the mean and standard deviation of mean*."""
        return self.mean, self.se


def smooth_mean(values: Floats) -> SmoothMean | None:
    """Return the bootstrap of the mean of `values` (n,); None where inversion would not be exact."""
    if not continuous(values):
        return None
    mean = float(values.mean())
    away = values - mean
    se = norm(away) / len(values)
    total = resampled_sum(away / (len(values) * se))
    return None if total is None else SmoothMean(total, mean, se)


def resampled_sum(steps: Floats, *, scan: bool = True) -> Inverted | None:
    """Return the sum of n draws from `steps` (n,), whose mean is 0 and whose squares add up to 1.

    None where its transform does not vanish, or may return; without `scan`, as far as a quick look tells.
    """
    tries = TRIES
    for vanishing, last in _vanishing(steps):
        tries -= 1
        thorough = scan and (tries == 0 or len(vanishing.transform) == BANDS[-1])
        returns, unseen = beyond(steps, last, _power(len(steps)), scan=thorough)
        if returns <= TOLERATED:
            return replace(vanishing, error=ERROR + returns + unseen)
        if tries == 0:
            break
    return None


def coarse_sum(steps: Floats, unseen: float | None) -> Inverted | None:
    """The sum of n draws as `resampled_sum` has it, whatever its error: atoms up to twice `unseen` pass for continuous.

    None where the transform does not vanish. Without `unseen` the error is left open.
    """
    # what is just beyond a short band is bounded too coarsely
    for inverted, last in _vanishing(steps, BANDS[1:]):
        if unseen is None:
            return inverted
        return replace(inverted, error=ERROR + sum(scan_all(steps, last, _power(len(steps)), unseen)))
    return None


def _vanishing(steps: Floats, bands: tuple[int, ...] = BANDS) -> Iterator[tuple[Inverted, float]]:
    """Sums whose transform vanishes within a band, with the end of that band; the error is not known yet."""
    widest = max(float(steps.max()), -float(steps.min()))
    reach = _reach(widest)
    skewness = float((steps * steps) @ steps)
    for length in bands:
        last = length * math.pi / reach
        transform = power_of_mean(steps, last, length)
        if _has_vanished(transform):
            yield Inverted(reach, transform, math.inf, skewness), last


def _power(n: int) -> Callable[[Floats], Floats]:
    # the power itself takes six times as long
    return lambda size: np.asarray(np.exp(n * np.log(size)))


def smooth_flips(values: Floats) -> tuple[Inverted, float] | None:
    """Return the sum of `values` (n,) with random signs, and its standard deviation; None as `smooth_mean`."""
    sizes = np.abs(values)
    if not continuous(sizes):
        return None
    spread = norm(values)
    steps = sizes / spread
    reach = _reach(float(steps.max()))

    def at_most(size: Floats) -> Floats:
        # |cos a| = sqrt((1 + cos 2a) / 2), and a product is at most the power of the mean
        return np.asarray(np.exp(len(values) / 2 * np.log((1 + size) / 2)))

    tries = TRIES
    for length in FLIP_BANDS:
        last = length * math.pi / reach
        transform = product_of_cosines(steps, last, length)
        if not _has_vanished(transform):
            continue
        tries -= 1
        returns, unseen = beyond(2 * steps, last, at_most, scan=tries == 0 or length == BANDS[-1])
        if returns <= TOLERATED:
            return Inverted(reach, transform.astype(np.complex128), ERROR + returns + unseen), spread
        if tries == 0:
            break
    return None


def continuous(values: Floats) -> bool:
    """Tell whether there are 30 values or more, none with a share above one half, on no lattice of 2^20 points."""
    if not spread_out(values):
        return False
    away = values - values.min()
    # multiples of a unit, of either sign, have differences of up to twice as many
    if lattice.integer_grid(away, 2 * lattice.MOST_MULTIPLES) is None:
        return True
    return lattice.integer_grid(away) is None and lattice.integer_grid(values) is None


def spread_out(values: Floats) -> bool:
    """Tell whether there are 30 values or more, none with a share above one half."""
    n = len(values)
    if n < LEAST_VALUES:
        return False
    # a value with more than half of the shares is the median
    middle = np.partition(values, n // 2)[n // 2]
    return int(np.count_nonzero(values == middle)) <= LARGEST_SHARE * n


def _reach(widest: float) -> float:
    """Beyond it lies less than `TAIL` of a sum with variance 1 and steps up to `widest` (Bernstein)."""
    # P(|T| >= x) <= 2 exp(-x^2 / 2(1 + widest x / 3))
    nats = math.log(2 / TAIL)
    return widest * nats / 3 + math.sqrt((widest * nats / 3) ** 2 + 2 * nats)


def _has_vanished(transform: NDArray[np.generic]) -> bool:
    return float(np.abs(transform[-len(transform) // 4 :]).max()) < VANISHED
