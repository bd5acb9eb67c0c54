"""Approximate randomization of any metric of sums: swap the arms within units, re-sum, take the difference.

A swap moves a unit's row of differences D from the candidate to the baseline. Units with the same D, or
with its opposite, are one cell: what matters is how many of a cell are swapped, a binomial count.
"""

from __future__ import annotations

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
BLOCK = 500
"""Resamples per generator, whole blocks of the usual 10,000; part of the version: it decides the numbers."""

CELLS = 2**20
TIE = 1e-11
"""Differences this close, relative to the arms' own values, are the same."""

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
    tie: float

    def differences(self, moved: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Candidate minus baseline after `moved` (..., width) went to the baseline; and where undefined."""
        baseline = self.start + moved
        candidate = self.total - baseline
        value, undefined = self.metric.value, self.metric.undefined
        return value(candidate) - value(baseline), undefined(candidate) | undefined(baseline)

    def sides(self, found: Floats) -> tuple[NDArray[np.bool_], ...]:
        """Where a difference is at least the data's, at most it, and as far from 0."""
        delta, tie = self.delta, self.tie
        return found >= delta - tie, found <= delta + tie, np.abs(found) >= abs(delta) - tie


def metric_flips(sums: PairedSums, n_resamples: int, seed: int, *, listed: bool = True) -> Flips:
    """The randomization distribution at the observed difference: listed where possible, else drawn."""
    cells = _cells(sums)
    if listed and float(np.log2(cells.counts + 1.0).sum()) <= math.log2(MOST_PATTERNS):
        return _listed(cells)
    return _drawn(cells, n_resamples, seed)


def _cells(sums: PairedSums) -> _Cells:
    rows = sums.candidate - sums.baseline
    moves = (rows != 0).any(axis=1)
    rows, copies = rows[moves], sums.copies[moves]
    lead = rows[np.arange(len(rows)), (rows != 0).argmax(axis=1)] if len(rows) else np.zeros(0)
    mirrored = lead < 0
    distinct, place = np.unique(np.where(mirrored[:, None], -rows, rows), axis=0, return_inverse=True)
    counts = np.bincount(place.ravel(), weights=copies, minlength=len(distinct)).astype(np.int64)
    # a mirrored unit starts as if swapped, so that its cell counts in one direction
    baseline, candidate = sums.totals
    start = baseline + copies[mirrored] @ rows[mirrored]
    tie = TIE * max(map(abs, sums.values))
    return _Cells(sums.metric, distinct, counts, start, baseline + candidate, sums.delta, tie)


def _listed(cells: _Cells) -> Flips:
    """Every combination of counts, weighted by its binomial probabilities; one half looped over."""
    inner, outer = _split(cells.counts)
    moved, weights = _combinations(cells, inner)
    outer_moved, outer_weights = _combinations(cells, outer)
    shares = np.zeros(4)
    for extra, weight in zip(outer_moved, outer_weights, strict=True):
        found, undefined = cells.differences(moved + extra)
        shares += weight * np.array([float(weights[side].sum()) for side in (*cells.sides(found), undefined)])
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
                words = rng.integers(0, 2**32, (rows, -(-n_cells // 32)), dtype=np.uint32).astype("<u4")
                swapped = np.unpackbits(words.view(np.uint8), axis=1, count=n_cells).astype(np.float64)
            else:
                swapped = rng.binomial(cells.counts, 0.5, (rows, n_cells)).astype(np.float64)
            found[row : row + rows], zero = cells.differences(swapped @ cells.rows)
            undefined += int(zero.sum())
    at_least, at_most, two_sided = (float(side.mean()) for side in cells.sides(found))
    return Flips(at_least, at_most, two_sided, undefined / n_resamples, "monte_carlo", n_resamples, None)
