"""The bootstrap of a mean, or of the difference of two independent means.

Exact where possible: values on a lattice by FFT, few values by listing every multiset. Otherwise
drawn in the blocks of `streams`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.bootstrap.bootstrap_draws import batches, sum_draws
from service.kernels.exact import lattice, multisets
from service.kernels.numeric.distributions import BootstrapDistribution
from service.kernels.numeric.moments import binary_unit

SMALLEST_UNIT = 1e-300
"""A lattice with a finer step leaves the range of normal floats: its values cannot be told apart."""

MAX_PAIRS = 1_000_000
"""Most resamples of two samples together that are listed: they are all sums of one of each, an outer product."""

LISTED_ERROR = 1e-12
"""The least error that is claimed for a probability summed over a list of up to a million."""

ON_POINT = 1e-7
"""This close to a point of the lattice, in its units, is on it."""
SLACK = 1e-11
"""Two resampled means this close, relative to the spread of the data, are one value."""


@dataclass(frozen=True, slots=True, eq=False)
class OnLattice:
    """estimate* = origin + unit S, S an exact lattice sum."""

    groups: Sequence[lattice.Group]
    sums: lattice.Distribution
    origin: float
    unit: float
    mean: float
    route: str = "fft"

    @property
    def error(self) -> float:
        """Absolute error of a probability."""
        return self.sums.error

    def quantile(self, q: float) -> float:
        """Return the smallest x with F(x) >= q - 1e-12."""
        return self.origin + self.unit * self.sums.quantile(q)

    def at_most(self, r: float, *, strict: bool = False) -> float:
        """Return P(estimate* <= r), or < r."""
        at = (r - self.origin) / self.unit
        k = math.ceil(at - ON_POINT) - 1 if strict else math.floor(at + ON_POINT)
        return lattice.at_most(self.groups, self.sums, k)

    def at_least(self, r: float, *, strict: bool = False) -> float:
        """Return P(estimate* >= r), or > r."""
        at = (r - self.origin) / self.unit
        k = math.floor(at + ON_POINT) + 1 if strict else math.ceil(at - ON_POINT)
        return lattice.at_least(self.groups, self.sums, k)

    def moments(self) -> tuple[float, float]:
        """Return the mean and standard deviation of the estimate over resamples."""
        return self.mean, self.unit * self.sums.standard_deviation()


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """Every resample listed: ascending values (k,) with probabilities (k,)."""

    values: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    slack: float
    error: float
    route: str = "enumeration"

    def quantile(self, q: float) -> float:
        """Return the smallest x with F(x) >= q - 1e-12."""
        index = int(np.searchsorted(np.cumsum(self.probabilities), q - lattice.QUANTILE_SLACK))
        return float(self.values[min(index, self.values.size - 1)])

    def at_most(self, r: float, *, strict: bool = False) -> float:
        """Return P(estimate* <= r), or < r."""
        return min(float(self.probabilities[: _place(self, r, after=not strict)].sum()), 1.0)

    def at_least(self, r: float, *, strict: bool = False) -> float:
        """Return P(estimate* >= r), or > r."""
        return min(float(self.probabilities[_place(self, r, after=strict) :].sum()), 1.0)

    def moments(self) -> tuple[float, float]:
        """Return the mean and standard deviation of the estimate over resamples."""
        mean, unit = float(self.probabilities @ self.values), binary_unit(self.values)
        return mean, unit * math.sqrt(float(self.probabilities @ ((self.values - mean) / unit) ** 2))


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Monte-Carlo draws in ascending order (B,). The data count as one draw more, on either side."""

    values: NDArray[np.float64]
    slack: float
    error: None = None
    route: str = "monte_carlo"

    def quantile(self, q: float) -> float:
        """Linear interpolation between the draws."""
        return float(np.quantile(self.values, q))

    def at_most(self, r: float, *, strict: bool = False) -> float:
        """Return (1 + count) / (B + 1)."""
        return (1 + _place(self, r, after=not strict)) / (self.values.size + 1)

    def at_least(self, r: float, *, strict: bool = False) -> float:
        """Return (1 + count) / (B + 1)."""
        return (1 + self.values.size - _place(self, r, after=strict)) / (self.values.size + 1)

    def moments(self) -> tuple[float, float]:
        """Return the mean and standard deviation (ddof 1) of the draws."""
        unit = binary_unit(self.values)
        return float(self.values.mean()), unit * float((self.values / unit).std(ddof=1))


def _place(distribution: Listed | Drawn, r: float, *, after: bool) -> int:
    """Return how many values lie below r, those that tie with it included when `after`."""
    if after:
        return int(np.searchsorted(distribution.values, r + distribution.slack, side="right"))
    return int(np.searchsorted(distribution.values, r - distribution.slack))


def exact_bootstrap(samples: Sequence[NDArray[np.float64]]) -> OnLattice | Listed | None:
    """Return the exact distribution of the mean of `samples[0]`, or of mean(samples[1]) - mean(samples[0]).

    None when the values fit no lattice and have too many multisets to list: more than 12 different values
    have, or a million of both samples together.
    """
    signs = _signs(samples)
    return _find_on_lattice(samples, signs) or _list_all(samples, signs)


def least_probability(samples: Sequence[NDArray[np.float64]], distribution: BootstrapDistribution) -> float:
    """The least probability the distribution can give: one draw, or one and the same rare value in every draw."""
    if isinstance(distribution, Drawn):
        return 1 / (distribution.values.size + 1)
    return max(math.exp(-sum(s.size * math.log(s.size) for s in samples)), 1e-300)


def estimate_blocks(samples: Sequence[NDArray[np.float64]], seed: int, blocks: range) -> NDArray[np.float64]:
    """Return the estimate in every replicate of these blocks, in the order drawn."""
    estimates = [np.zeros(0)]
    for generators in batches(seed, blocks, max(len(sample) for sample in samples)):
        means = [sum_draws(sample, generators) / sample.size for sample in samples]
        estimates.append(means[1] - means[0] if len(means) == 2 else means[0])
    return np.concatenate(estimates)


def in_order(samples: Sequence[NDArray[np.float64]], estimates: NDArray[np.float64]) -> Drawn:
    """Drawn estimates as a distribution."""
    return Drawn(np.sort(estimates), slack_of(samples))


def bca_constants(
    samples: Sequence[NDArray[np.float64]], distribution: BootstrapDistribution
) -> tuple[float, float]:
    """Return the bias z0 and acceleration a, from the influence of every value within its own sample."""
    estimate = sum(sign * float(s.mean()) for sign, s in zip(_signs(samples), samples, strict=True))
    at_most, at_least = distribution.at_most(estimate), distribution.at_least(estimate)
    # P(<) + P(=) / 2 by symmetry of the two tails that share the atom
    z0 = float(special.ndtri(min(max(0.5 + (at_most - at_least) / 2, 1e-300), 1 - 1e-16)))
    scale = max(float(np.ptp(s)) for s in samples)
    cubes = squares = 0.0
    # a = sum l^3 / n^3 over 6 (sum l^2 / n^2)^(3/2), of the influence l of every value within its sample of n
    for sign, sample in zip(_signs(samples), samples, strict=True):
        influence = sign * (sample - sample.mean()) / scale
        cubes += float(np.sum(influence**3)) / sample.size**3
        squares += float(np.sum(influence**2)) / sample.size**2
    return z0, cubes / (6 * squares**1.5)


def _signs(samples: Sequence[NDArray[np.float64]]) -> tuple[int, ...]:
    return (1,) if len(samples) == 1 else (-1, 1)


def slack_of(samples: Sequence[NDArray[np.float64]]) -> float:
    """Two resampled means this close are one value: `SLACK` of the spread of all samples."""
    return SLACK * max(float(s.max()) for s in samples) - SLACK * min(float(s.min()) for s in samples)


def _find_on_lattice(samples: Sequence[NDArray[np.float64]], signs: tuple[int, ...]) -> OnLattice | None:
    """Find the exact law of a signed sum of resampled means on a lattice; None where values share no unit."""
    start = min(float(s.min()) for s in samples)
    grid = lattice.integer_grid(np.concatenate([s - start for s in samples]), most=2**20)
    if grid is None:
        return None
    multiples, unit = grid
    common = math.lcm(*(s.size for s in samples))
    if unit / common < SMALLEST_UNIT:
        return None
    groups = []
    # split at the end of the only sample, an empty rest is left without a sign: hence not strict
    for sign, part in zip(signs, np.split(multiples, [samples[0].size]), strict=False):
        groups += lattice.resample_groups(sign * (common // part.size) * part)
    try:
        sums = lattice.distribution(groups, most=2**20)
    except lattice.WindowTooLong:
        return None
    mean = sum(sign * float(sample.mean()) for sign, sample in zip(signs, samples, strict=True))
    return OnLattice(groups, sums, start if len(samples) == 1 else 0.0, unit / common, mean)


def _list_all(samples: Sequence[NDArray[np.float64]], signs: tuple[int, ...]) -> Listed | None:
    """List what every resample comes to, in ascending order, with its probability.

    None where there are too many to list.
    """
    if resamples(samples) > (multisets.MOST if len(samples) == 1 else MAX_PAIRS):
        return None
    values, probabilities = np.zeros(1), np.ones(1)
    for sign, sample in zip(signs, samples, strict=True):
        different, copies = np.unique(sample, return_counts=True)
        totals, weights = multisets.totals(different[:, None], copies)
        values = np.add.outer(values, sign * totals[:, 0] / sample.size).ravel()
        probabilities = np.multiply.outer(probabilities, weights).ravel()
    order = np.argsort(values, kind="stable")
    error = max(sum(multisets.error_of(sample.size) for sample in samples), LISTED_ERROR)
    return Listed(values[order], probabilities[order], slack_of(samples), error)


def resamples(samples: Sequence[Sequence[float] | NDArray[np.float64]]) -> float:
    """Return multisets of resampled values, of both samples together; infinite where a sample is too long to list."""
    if any(len(sample) > multisets.MOST_DRAWS for sample in samples):
        return math.inf
    return math.prod(multisets.number(np.unique(sample).size, len(sample)) for sample in samples)
