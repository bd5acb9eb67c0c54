"""Monte-Carlo bootstrap of the difference of any metric of sums, with studentized pivots on request.

Units are drawn with replacement and their statistics summed. Units with equal statistics are one cell,
and what matters is how often each cell is drawn: a multinomial count where cells repeat a lot, else
the counts of drawn indices. Either way the sums are a product of weights and statistics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.bootstrap.bootstrap_draws import Draws
from service.kernels.bootstrap.bootstrap_intervals import bca_level
from service.kernels.numeric.distributions import BootstrapDistribution
from service.kernels.numeric.metrics import PairedSums, in_single
from service.kernels.numeric.streams import BLOCK, generator, picks

Floats = NDArray[np.float64]

CELLS = 2**17
"""Weights held at a time: with the indices they are counted from they fit the cache. Part of the version."""

REPEATED = 16
"""Cells are drawn instead of units when units are this many times as many. Part of the version."""

NO_SPREAD = 1e-12
"""A resample's standard error below this share of the data's own is zero but for rounding."""


@dataclass(frozen=True, eq=False)
class MetricDraws(Draws):
    """Sorted differences (B,), and sorted pivots (difference* - difference) / se* when asked for."""

    pivots: Floats | None = None
    without_spread: float = 0.0
    undefined: float = 0.0


@dataclass(frozen=True, eq=False)
class Replicates:
    """Differences (B,) in the order drawn, whether an arm's metric is 0 by convention (B,), and the
    standard errors (B,), empty when not asked for."""

    differences: Floats
    undefined: NDArray[np.bool_]
    errors: Floats

    def sort_into_draws(self, units: PairedSums, n_resamples: int) -> MetricDraws:
        """Return the first `n_resamples`. `without_spread` is the share whose standard error is zero; they have
        no pivot."""
        differences, undefined = self.differences[:n_resamples], self.undefined[:n_resamples]
        pivots, without = None, 0.0
        if self.errors.size:
            errors = self.errors[:n_resamples]
            spread = errors > NO_SPREAD * (units.standard_error() or 0.0)
            without = 1 - float(spread.mean())
            pivots = np.sort((differences[spread] - units.delta) / errors[spread])
        return MetricDraws(
            np.sort(differences), pivots=pivots, without_spread=without, undefined=float(undefined.mean())
        )


def difference_blocks(units: PairedSums, seed: int, blocks: range, *, studentize: bool = False) -> Replicates:
    """Return the difference in every replicate of these blocks. Memory O(replicates + units + `CELLS`)."""
    cells = units.distinct
    if len(cells.copies) * REPEATED > units.n_units:
        cells = units.apart
    g, width = units.n_units, units.metric.width
    both: NDArray[Any] = in_single(np.hstack([cells.baseline, cells.candidate]), g)
    differences = np.empty(len(blocks) * BLOCK)
    undefined, errors = (
        np.empty(differences.size, dtype=np.bool_),
        np.empty(differences.size if studentize else 0),
    )
    at_once = max(1, CELLS // len(cells.copies))
    value, zero = units.metric.value, units.metric.is_undefined
    for place, block in enumerate(blocks):
        rng = generator(seed, block)
        for row in range(0, BLOCK, at_once):
            many = min(at_once, BLOCK - row)
            rows = slice(place * BLOCK + row, place * BLOCK + row + many)
            weights = _weights(rng, cells, g, many)
            sums = (weights.astype(both.dtype) @ both).astype(np.float64)
            baseline, candidate = sums[:, :width], sums[:, width:]
            differences[rows] = value(candidate) - value(baseline)
            undefined[rows] = zero(candidate) | zero(baseline)
            if studentize:
                errors[rows] = _standard_errors(cells, weights, baseline, candidate, g)
    return Replicates(differences, undefined, errors)


def seed_differences(units: PairedSums, n_resamples: int, seed: int) -> MetricDraws:
    """Return the literal recipe for any metric: `default_rng(seed)`, one `choice` of units per resample."""
    rng = np.random.default_rng(seed)
    g = units.n_units
    differences, undefined = np.empty(n_resamples), 0
    for row in range(n_resamples):
        chosen = rng.choice(g, g, replace=True)
        resampled = PairedSums(units.metric, units.baseline[chosen], units.candidate[chosen], np.ones(g))
        differences[row] = resampled.delta
        undefined += resampled.undefined
    differences.sort()
    return MetricDraws(differences, route="seed", undefined=undefined / n_resamples)


def _weights(rng: np.random.Generator, cells: PairedSums, g: int, rows: int) -> NDArray[np.int64]:
    """Return how often each cell is drawn in each of `rows` resamples of `g` units."""
    n_cells = len(cells.copies)
    # few different units: how often each is drawn is one multinomial count, else every unit is picked
    if n_cells < g or not np.all(cells.copies == 1):
        return rng.multinomial(g, cells.copies / g, size=rows)
    places = picks(rng, g, rows * g).reshape(rows, g)
    places += g * np.arange(rows)[:, None]
    return np.bincount(places.ravel(), minlength=rows * g).reshape(rows, g)


def _standard_errors(
    cells: PairedSums, weights: NDArray[np.int64], baseline: Floats, candidate: Floats, g: int
) -> Floats:
    """CR1 linearized standard error of every resample, as `PairedSums.standard_error`."""
    gradient = cells.metric.gradient
    parts = gradient(candidate) @ cells.candidate.T - gradient(baseline) @ cells.baseline.T
    return np.asarray(np.sqrt(g / max(g - 1, 1) * (weights * parts * parts).sum(axis=1)))


Ends = tuple[float | None, float | None]


def middle_of(distribution: BootstrapDistribution, delta: float) -> float:
    """Return P(delta* < delta) and half of P(delta* = delta): what BCa's bias z0 is the normal quantile of."""
    return (distribution.at_most(delta, strict=True) + distribution.at_most(delta)) / 2


def bca_ends(
    distribution: BootstrapDistribution, delta: float, acceleration: float | None, tail: float
) -> Ends:
    """Return quantiles at levels that the bias z0 and the acceleration move; None where they have no meaning.

    Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap, 14.3.
    """
    middle = middle_of(distribution, delta)
    if acceleration is None or not 0 < middle < 1:
        return None, None
    levels = [bca_level(q, float(special.ndtri(middle)), acceleration) for q in (tail, 1 - tail)]
    low, high = (None if level is None else distribution.quantile(level) for level in levels)
    return low, high


def studentized_ends(
    distribution: BootstrapDistribution, delta: float, se: float | None, tail: float
) -> Ends:
    """Return delta less the quantiles of the pivots times its standard error; None without either."""
    if not isinstance(distribution, MetricDraws) or distribution.pivots is None or not se:
        return None, None
    steep, flat = np.quantile(distribution.pivots, [1 - tail, tail]).tolist()
    return delta - steep * se, delta - flat * se
