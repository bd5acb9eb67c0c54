"""Monte-Carlo bootstrap of the difference of any metric of sums, with studentized pivots on request.

Units are drawn with replacement and their statistics summed. Units with equal statistics are one cell,
and what matters is how often each cell is drawn: a multinomial count where cells repeat a lot, else
the counts of drawn indices. Either way the sums are a product of weights and statistics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.bootstrap_draws import CELLS, Draws
from service.kernels.bootstrap_intervals import bca_level
from service.kernels.metrics import PairedSums

Floats = NDArray[np.float64]

BLOCK = 500
"""Resamples per generator, whole blocks of the usual 10,000; part of the version: it decides the numbers."""

REPEATED = 16
"""Cells are drawn instead of units when units are this many times as many."""

NO_SPREAD = 1e-12
"""A resample's standard error below this share of the data's own is zero but for rounding."""


@dataclass(frozen=True, eq=False)
class MetricDraws(Draws):
    """Sorted differences (B,), and sorted pivots (difference* - difference) / se* when asked for."""

    pivots: Floats | None = None
    without_spread: float = 0.0
    undefined: float = 0.0


def draw_differences(
    units: PairedSums, n_resamples: int, seed: int, *, studentize: bool = False
) -> MetricDraws:
    """Differences of `n_resamples` resamples of the units. Memory O(B + units + `CELLS`).

    `without_spread` is the share of resamples whose standard error is zero; they have no pivot.
    `undefined` is the share in which an arm's metric is 0 by convention.
    """
    cells = units.distinct
    if len(cells.copies) * REPEATED > units.n_units:
        cells = units
    g, n_cells = units.n_units, len(cells.copies)
    found, errors, undefined = np.empty(n_resamples), np.empty(n_resamples), 0
    rows_at_a_time = max(1, CELLS // n_cells)
    for block, start in enumerate(range(0, n_resamples, BLOCK)):
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(block,))))
        stop = min(start + BLOCK, n_resamples)
        for row in range(start, stop, rows_at_a_time):
            rows = slice(row, min(row + rows_at_a_time, stop))
            weights = _weights(rng, cells, g, rows.stop - rows.start)
            baseline, candidate = weights @ cells.baseline, weights @ cells.candidate
            value, zero = units.metric.value, units.metric.undefined
            found[rows] = value(candidate) - value(baseline)
            undefined += int((zero(candidate) | zero(baseline)).sum())
            if studentize:
                errors[rows] = _standard_errors(cells, weights, baseline, candidate, g)
    pivots, without = None, 0.0
    if studentize:
        spread = errors > NO_SPREAD * (units.standard_error() or 0.0)
        without = 1 - float(spread.mean())
        pivots = np.sort((found[spread] - units.delta) / errors[spread])
    found.sort()
    return MetricDraws(found, pivots=pivots, without_spread=without, undefined=undefined / n_resamples)


def seed_differences(units: PairedSums, n_resamples: int, seed: int) -> MetricDraws:
    """The literal recipe for any metric: `default_rng(seed)`, one `choice` of units per resample."""
    rng = np.random.default_rng(seed)
    g = units.n_units
    found, undefined = np.empty(n_resamples), 0
    for row in range(n_resamples):
        chosen = rng.choice(g, g, replace=True)
        resampled = PairedSums(units.metric, units.baseline[chosen], units.candidate[chosen], np.ones(g))
        found[row] = resampled.delta
        undefined += resampled.undefined
    found.sort()
    return MetricDraws(found, route="seed", undefined=undefined / n_resamples)


def _weights(rng: np.random.Generator, cells: PairedSums, g: int, rows: int) -> Floats:
    """How often each cell is drawn in each of `rows` resamples of `g` units."""
    n_cells = len(cells.copies)
    if n_cells < g:
        return rng.multinomial(g, cells.copies / g, size=rows).astype(np.float64)
    drawn = rng.integers(0, g, (rows, g), dtype=np.int32)
    places = drawn + g * np.arange(rows, dtype=np.int64)[:, None]
    return np.bincount(places.ravel(), minlength=rows * g).reshape(rows, g).astype(np.float64)


def _standard_errors(
    cells: PairedSums, weights: Floats, baseline: Floats, candidate: Floats, g: int
) -> Floats:
    """CR1 linearized standard error of every resample, as `PairedSums.standard_error`."""
    gradient = cells.metric.gradient
    parts = gradient(candidate) @ cells.candidate.T - gradient(baseline) @ cells.baseline.T
    return np.asarray(np.sqrt(g / (g - 1) * (weights * parts * parts).sum(axis=1)))


Ends = tuple[float | None, float | None]


class Resampled(Protocol):
    """What an interval needs of a bootstrap distribution."""

    def at_most(self, r: float, *, strict: bool = False) -> float:
        """P(delta* <= r), or < r."""

    def quantile(self, q: float) -> float:
        """The q-quantile."""


def bca_ends(found: Resampled, delta: float, acceleration: float | None, tail: float) -> Ends:
    """Quantiles at levels that the bias z0 and the acceleration move; None where they have no meaning.

    Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap, 14.3.
    """
    middle = (found.at_most(delta, strict=True) + found.at_most(delta)) / 2
    if acceleration is None or not 0 < middle < 1:
        return None, None
    levels = [bca_level(q, float(special.ndtri(middle)), acceleration) for q in (tail, 1 - tail)]
    low, high = (None if level is None else found.quantile(level) for level in levels)
    return low, high


def studentized_ends(found: Resampled, delta: float, se: float | None, tail: float) -> Ends:
    """delta less the quantiles of the pivots times its standard error; None without either."""
    if not isinstance(found, MetricDraws) or found.pivots is None or not se:
        return None, None
    steep, flat = np.quantile(found.pivots, [1 - tail, tail]).tolist()
    return delta - steep * se, delta - flat * se
