"""The bootstrap of a mean, or of the difference of two independent means.

Exact where possible: values on a lattice by FFT, few values by listing every multiset. Otherwise
drawn in the blocks of `streams`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels import lattice, multisets
from service.kernels.bootstrap_draws import batches, drawn_sums
from service.kernels.streams import block_count

SMALLEST_UNIT = 1e-300
MAX_PAIRS = 1_000_000
LISTED_ERROR = 1e-12
SLACK = 1e-11
"""Two resampled means this close, relative to the spread of the data, are one value."""


class Bootstrap(Protocol):
    """A bootstrap distribution of an estimate."""

    @property
    def exact(self) -> bool:
        """Computed, not drawn."""
        ...

    @property
    def error(self) -> float:
        """Absolute error bound of a computed probability."""
        ...

    @property
    def n_resamples(self) -> int | None:
        """Draws; None when computed."""
        ...

    @property
    def least(self) -> float:
        """Least probability the distribution can give."""
        ...

    def quantile(self, q: float) -> float:
        """The q-quantile."""
        ...

    def at_most(self, x: float) -> float:
        """P(estimate* <= x), the whole atom at x included; (1 + count) / (B + 1) when drawn."""
        ...

    def at_least(self, x: float) -> float:
        """P(estimate* >= x), as `at_most`."""
        ...

    def standard_error(self) -> float:
        """Standard deviation of the distribution."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class OnLattice:
    """estimate* = origin + unit S, S an exact lattice sum."""

    groups: Sequence[lattice.Group]
    sums: lattice.Distribution
    origin: float
    unit: float
    least: float
    exact: bool = True
    n_resamples: None = None

    @property
    def error(self) -> float:
        """Absolute error bound of a probability."""
        return self.sums.error

    def quantile(self, q: float) -> float:
        """The smallest x with F(x) >= q - 1e-12."""
        return self.origin + self.unit * self.sums.quantile(q)

    def at_most(self, x: float) -> float:
        """P(estimate* <= x)."""
        return lattice.at_most(self.groups, self.sums, math.floor((x - self.origin) / self.unit + 1e-7))

    def at_least(self, x: float) -> float:
        """P(estimate* >= x)."""
        return lattice.at_least(self.groups, self.sums, math.ceil((x - self.origin) / self.unit - 1e-7))

    def standard_error(self) -> float:
        """Standard deviation of the distribution."""
        return self.unit * self.sums.standard_deviation()


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """Every resample listed: ascending values (k,) with probabilities (k,)."""

    values: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    slack: float
    least: float
    error: float
    exact: bool = True
    n_resamples: None = None

    def quantile(self, q: float) -> float:
        """The smallest x with F(x) >= q - 1e-12."""
        index = int(np.searchsorted(np.cumsum(self.probabilities), q - lattice.QUANTILE_SLACK))
        return float(self.values[min(index, self.values.size - 1)])

    def at_most(self, x: float) -> float:
        """P(estimate* <= x)."""
        inside = self.probabilities[: np.searchsorted(self.values, x + self.slack, side="right")]
        return min(float(inside.sum()), 1.0)

    def at_least(self, x: float) -> float:
        """P(estimate* >= x)."""
        return min(float(self.probabilities[np.searchsorted(self.values, x - self.slack) :].sum()), 1.0)

    def standard_error(self) -> float:
        """Standard deviation of the distribution."""
        mean = self.probabilities @ self.values
        return math.sqrt(float(self.probabilities @ (self.values - mean) ** 2))


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Monte-Carlo draws in ascending order (B,)."""

    values: NDArray[np.float64]
    slack: float
    error: float = 0.0
    exact: bool = False

    @property
    def n_resamples(self) -> int:
        """Draws."""
        return int(self.values.size)

    @property
    def least(self) -> float:
        """Least probability the draws can give."""
        return 1 / (self.values.size + 1)

    def quantile(self, q: float) -> float:
        """Linear interpolation between the draws."""
        return float(np.quantile(self.values, q))

    def at_most(self, x: float) -> float:
        """(1 + count) / (B + 1)."""
        count = int(np.searchsorted(self.values, x + self.slack, side="right"))
        return (1 + count) / (self.values.size + 1)

    def at_least(self, x: float) -> float:
        """(1 + count) / (B + 1)."""
        count = self.values.size - int(np.searchsorted(self.values, x - self.slack))
        return (1 + count) / (self.values.size + 1)

    def standard_error(self) -> float:
        """Standard deviation of the draws (ddof 1)."""
        return float(self.values.std(ddof=1))


def exact_bootstrap(samples: Sequence[NDArray[np.float64]]) -> OnLattice | Listed | None:
    """Exact distribution of the mean of `samples[0]`, or of mean(samples[1]) - mean(samples[0]).

    None when the values fit no lattice and have too many multisets to list: more than 12 different values
    have, or a million of both samples together.
    """
    signs = _signs(samples)
    # the least atom: one and the same rare value in every draw
    least = math.exp(-sum(s.size * math.log(s.size) for s in samples))
    least = max(least, 1e-300)
    found = _on_lattice(samples, signs, least)
    return found or _listed(samples, signs, least)


def draw(samples: Sequence[NDArray[np.float64]], n_resamples: int, seed: int) -> Drawn:
    """`n_resamples` draws, whole blocks cut to length. Memory O(n_resamples)."""
    return in_order(samples, estimate_blocks(samples, seed, range(block_count(n_resamples)))[:n_resamples])


def estimate_blocks(samples: Sequence[NDArray[np.float64]], seed: int, blocks: range) -> NDArray[np.float64]:
    """The estimate in every replicate of these blocks, in the order drawn."""
    found = [np.zeros(0)]
    for generators in batches(seed, blocks, max(len(sample) for sample in samples)):
        means = [drawn_sums(sample, generators) / sample.size for sample in samples]
        found.append(means[1] - means[0] if len(means) == 2 else means[0])
    return np.concatenate(found)


def in_order(samples: Sequence[NDArray[np.float64]], estimates: NDArray[np.float64]) -> Drawn:
    """Drawn estimates as a distribution."""
    return Drawn(np.sort(estimates), _slack(samples))


def bca_constants(samples: Sequence[NDArray[np.float64]], distribution: Bootstrap) -> tuple[float, float]:
    """Bias z0 and acceleration a, from the influence of every value within its own sample."""
    estimate = sum(sign * float(s.mean()) for sign, s in zip(_signs(samples), samples, strict=True))
    at_most, at_least = distribution.at_most(estimate), distribution.at_least(estimate)
    # P(<) + P(=) / 2 by symmetry of the two tails that share the atom
    z0 = float(special.ndtri(min(max(0.5 + (at_most - at_least) / 2, 1e-300), 1 - 1e-16)))
    scale = max(float(np.ptp(s)) for s in samples)
    cubes = squares = 0.0
    for sign, sample in zip(_signs(samples), samples, strict=True):
        influence = sign * (sample - sample.mean()) / scale
        cubes += float(np.sum(influence**3)) / sample.size**3
        squares += float(np.sum(influence**2)) / sample.size**2
    return z0, cubes / (6 * squares**1.5)


def _signs(samples: Sequence[NDArray[np.float64]]) -> tuple[int, ...]:
    return (1,) if len(samples) == 1 else (-1, 1)


def _slack(samples: Sequence[NDArray[np.float64]]) -> float:
    return SLACK * max(float(s.max()) for s in samples) - SLACK * min(float(s.min()) for s in samples)


def _on_lattice(
    samples: Sequence[NDArray[np.float64]], signs: tuple[int, ...], least: float
) -> OnLattice | None:
    start = min(float(s.min()) for s in samples)
    grid = lattice.integer_grid(np.concatenate([s - start for s in samples]), most=2**20)
    if grid is None:
        return None
    multiples, unit = grid
    common = math.lcm(*(s.size for s in samples))
    if unit / common < SMALLEST_UNIT:
        return None
    groups = []
    for sign, part in zip(signs, np.split(multiples, [samples[0].size]), strict=False):
        groups += lattice.resampled(sign * (common // part.size) * part)
    try:
        sums = lattice.distribution(groups, most=2**20)
    except lattice.WindowTooLong:
        return None
    return OnLattice(groups, sums, start if len(samples) == 1 else 0.0, unit / common, least)


def _listed(samples: Sequence[NDArray[np.float64]], signs: tuple[int, ...], least: float) -> Listed | None:
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
    return Listed(values[order], probabilities[order], _slack(samples), least, error)


def resamples(samples: Sequence[Sequence[float] | NDArray[np.float64]]) -> float:
    """Multisets of resampled values, of both samples together; infinite where a sample is too long to list."""
    if any(len(sample) > multisets.MOST_DRAWS for sample in samples):
        return math.inf
    return math.prod(multisets.number(np.unique(sample).size, len(sample)) for sample in samples)
