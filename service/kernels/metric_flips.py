"""Approximate randomization of any metric of sums: swap the arms within units, re-sum, take the difference.

A swap moves a unit's row of differences D from the candidate to the baseline. Units with the same D, or
with its opposite, are one cell: what matters is how many of a cell are swapped, a binomial count.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.metrics import Metric, PairedSums

Floats = NDArray[np.float64]

MOST_PATTERNS = 2**20
"""Patterns of swaps, or of counts per cell, that are listed: all of 20 different units."""

CHUNK_PATTERNS = 2**16
BLOCK = 256
"""Resamples per generator; part of the version, since it decides the numbers."""

CELLS = 2**20
TIE = 1e-11
"""Differences this close, relative to the largest, are the same."""

BIT_GENERATOR = "PCG64"


@dataclass(frozen=True, slots=True)
class Flips:
    """Shares of resamples at least as far as the data in each direction, the data's own value included."""

    at_least: float
    at_most: float
    two_sided: float
    undefined: float
    route: Literal["enumeration", "monte_carlo"]
    n_resamples: int | None
    error: float | None


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """Distinct rows (C, width), how many units have each (C,), and the baseline's sums before any swap."""

    metric: Metric
    rows: Floats
    counts: NDArray[np.int64]
    start: Floats
    total: Floats
    delta: float

    def differences(self, moved: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Candidate minus baseline after `moved` (..., width) went to the baseline; and where undefined."""
        # cancellation must not turn a count of 0 into -1e-16
        baseline = np.maximum(self.start + moved, 0.0) if self.start.min() >= 0 else self.start + moved
        candidate = self.total - baseline
        value, undefined = self.metric.value, self.metric.undefined
        return value(candidate) - value(baseline), undefined(candidate) | undefined(baseline)


def metric_flips(sums: PairedSums, n_resamples: int, seed: int, *, listed: bool = True) -> Flips:
    """The randomization distribution at the observed difference: listed where possible, else drawn."""
    cells = _cells(sums)
    if listed and math.prod(int(count) + 1 for count in cells.counts) <= MOST_PATTERNS:
        return _listed(cells)
    return _drawn(cells, n_resamples, seed)


def _cells(sums: PairedSums) -> _Cells:
    rows = sums.candidate - sums.baseline
    rows = rows[(rows != 0).any(axis=1)]
    lead = rows[np.arange(len(rows)), (rows != 0).argmax(axis=1)] if len(rows) else np.zeros(0)
    mirrored = lead < 0
    distinct, counts = np.unique(
        np.where(mirrored[:, None], -rows, rows), axis=0, return_counts=True
    )
    # a mirrored unit starts as if swapped, so that its cell counts in one direction
    start = sums.baseline.sum(axis=0) + rows[mirrored].sum(axis=0)
    total = sums.baseline.sum(axis=0) + sums.candidate.sum(axis=0)
    return _Cells(sums.metric, distinct, counts.astype(np.int64), start, total, sums.delta)


def _listed(cells: _Cells) -> Flips:
    """Every combination of counts, weighted by its binomial probabilities; one half looped over."""
    inner, outer = _split(cells.counts)
    moved, weights = _combinations(cells, inner)
    outer_moved, outer_weights = _combinations(cells, outer)
    shares, largest = np.zeros(4), abs(cells.delta)
    for _ in range(2):  # the tie needs the largest difference first
        shares = np.zeros(4)
        tie = TIE * largest
        for extra, weight in zip(outer_moved, outer_weights, strict=True):
            found, undefined = cells.differences(moved + extra)
            largest = max(largest, float(np.abs(found).max()))
            shares += weight * np.array(
                [float(weights[which].sum()) for which in (*_sides(found, cells.delta, tie), undefined)]
            )
        if tie == TIE * largest:
            break
    # 2^-52 per term of the two sums
    error = 2.0**-52 * (len(weights) + len(outer_weights))
    at_least, at_most, two_sided, undefined_share = np.minimum(shares, 1.0).tolist()
    return Flips(at_least, at_most, two_sided, undefined_share, "enumeration", None, error)


def _split(counts: NDArray[np.int64]) -> tuple[list[int], list[int]]:
    """Cells whose combinations fit one chunk, and the others."""
    inner: list[int] = []
    outer: list[int] = []
    size = 1
    for cell, count in enumerate(counts.tolist()):
        if size * (count + 1) <= CHUNK_PATTERNS:
            size *= count + 1
            inner.append(cell)
        else:
            outer.append(cell)
    return inner, outer


def _combinations(cells: _Cells, which: list[int]) -> tuple[Floats, Floats]:
    """What each combination of counts of these cells moves (m, width), and its probability (m,)."""
    moved, weights = np.zeros((1, cells.rows.shape[1])), np.ones(1)
    for cell in which:
        count = int(cells.counts[cell])
        k = np.arange(count + 1)
        log_share = (
            special.gammaln(count + 1) - special.gammaln(k + 1) - special.gammaln(count - k + 1)
            - count * math.log(2)
        )  # fmt: skip
        moved = (moved[:, None, :] + k[:, None] * cells.rows[cell]).reshape(-1, cells.rows.shape[1])
        weights = np.outer(weights, np.exp(log_share)).ravel()
    return moved, weights


def _drawn(cells: _Cells, n_resamples: int, seed: int) -> Flips:
    """Binomial counts per cell where cells repeat, else one random bit per unit."""
    found, undefined = np.empty(n_resamples), 0
    n_cells = len(cells.counts)
    alone = bool((cells.counts == 1).all())
    rows_at_a_time = max(1, CELLS // max(n_cells, 1))
    for block, start in enumerate(range(0, n_resamples, BLOCK)):
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(block,))))
        stop = min(start + BLOCK, n_resamples)
        for row in range(start, stop, rows_at_a_time):
            rows = min(rows_at_a_time, stop - row)
            if alone:
                bits = np.frombuffer(rng.bytes(rows * (-(-n_cells // 8))), dtype=np.uint8)
                swapped = np.unpackbits(bits.reshape(rows, -1), axis=1, count=n_cells)
            else:
                swapped = rng.binomial(cells.counts, 0.5, (rows, n_cells))
            found[row : row + rows], zero = cells.differences(swapped.astype(np.float64) @ cells.rows)
            undefined += int(zero.sum())
    tie = TIE * max(float(np.abs(found).max()), abs(cells.delta))
    shares = [float(side.mean()) for side in _sides(found, cells.delta, tie)]
    return Flips(*shares, undefined / n_resamples, "monte_carlo", n_resamples, None)


def _sides(found: Floats, delta: float, tie: float) -> tuple[NDArray[np.bool_], ...]:
    """Where a difference is at least the data's, at most it, and as far from 0."""
    return found >= delta - tie, found <= delta + tie, np.abs(found) >= abs(delta) - tie


def every_swap(sums: PairedSums) -> Floats:
    """The difference under each of the 2^G patterns of swaps, by definition; for checking small cases."""
    found = []
    for pattern in itertools.product([False, True], repeat=sums.n_units):
        swap = np.array(pattern)[:, None]
        baseline = np.where(swap, sums.candidate, sums.baseline)
        candidate = np.where(swap, sums.baseline, sums.candidate)
        found.append(PairedSums(sums.metric, baseline, candidate).delta)
    return np.array(found)
