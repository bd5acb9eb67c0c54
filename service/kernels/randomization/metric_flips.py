"""Approximate randomization of any metric of sums: swap the arms within units, re-sum, take the difference.

A swap moves a unit's row of differences D from the candidate to the baseline. Units with the same D, or
with its opposite, are one cell: what matters is how many of a cell are swapped, a binomial count. Where
cells hardly repeat, every unit is swapped by a random bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from service.kernels.numeric.binomial import log_choose
from service.kernels.numeric.metrics import Metric, PairedSums, distinct_rows, in_single
from service.kernels.numeric.streams import BLOCK, generator, sum_chosen

Floats = NDArray[np.float64]

MOST_PATTERNS = 2**20
"""Patterns of swaps, or of counts per cell, that are listed: all of 20 different units."""

CHUNK_PATTERNS = 2**16
"""Patterns compared at a time."""

REPEATED = 16
"""Cells are drawn instead of units when units are this many times as many. Part of the version."""

TIE = 1e-11
"""Differences this close, relative to the arms' own values, are the same."""


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
        """Return candidate minus baseline after `moved` (..., width) went to the baseline; and where undefined."""
        baseline = self.start + moved
        candidate = self.total - baseline
        value, undefined = self.metric.value, self.metric.is_undefined
        return value(candidate) - value(baseline), undefined(candidate) | undefined(baseline)

    def sides(self, differences: Floats) -> tuple[NDArray[np.bool_], ...]:
        """Tell where a difference is at least the data's, at most it, and as far from 0."""
        delta, tie = self.delta, self.tie
        return differences >= delta - tie, differences <= delta + tie, np.abs(differences) >= abs(delta) - tie


def list_flips(sums: PairedSums) -> Flips | None:
    """Return every pattern of swaps, weighted; None where they are too many."""
    cells = _group_units(sums)
    return _list_all(cells) if _few(cells) else None


def flips_of(sums: PairedSums, differences: Floats, undefined: NDArray[np.bool_], n_resamples: int) -> Flips:
    """Return the first `n_resamples` of drawn swaps, compared with the observed difference."""
    sides = _group_units(sums).sides(differences[:n_resamples])
    at_least, at_most, two_sided = (float(side.mean()) for side in sides)
    zero = float(undefined[:n_resamples].mean())
    return Flips(at_least, at_most, two_sided, zero, "monte_carlo", n_resamples, None)


def flip_blocks(sums: PairedSums, seed: int, blocks: range) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the difference after the swaps in every replicate of these blocks, and whether it is 0 by convention.

    Memory O(replicates + units + `COINS`).
    """
    cells = _group_units(sums)
    few = len(cells.counts) * REPEATED <= cells.counts.sum()
    rows = cells.rows if few else np.repeat(cells.rows, cells.counts, axis=0)
    moves = in_single(rows, float(cells.counts.sum()))
    differences = np.empty(len(blocks) * BLOCK)
    undefined = np.empty(differences.size, dtype=np.bool_)
    for place, block in enumerate(blocks):
        rng = generator(seed, block)
        moved = _binomial(rng, cells, moves) if few else sum_chosen(rng, moves)
        one = slice(place * BLOCK, (place + 1) * BLOCK)
        differences[one], undefined[one] = cells.differences(moved)
    return differences, undefined


def _binomial(rng: np.random.Generator, cells: _Cells, moves: NDArray[Any]) -> Floats:
    """Return what a block of replicates moves, by the count of swaps in each cell: (BLOCK, width)."""
    swapped = rng.binomial(cells.counts, 0.5, (BLOCK, len(moves)))
    return np.asarray((swapped.astype(moves.dtype) @ moves).astype(np.float64))


def _few(cells: _Cells) -> bool:
    # of c units in a cell 0 to c can be swapped; logarithms, since the product of these overflows
    return float(np.log2(cells.counts + 1.0).sum()) <= math.log2(MOST_PATTERNS)


def _group_units(sums: PairedSums) -> _Cells:
    """Group the units whose differences are equal, or equal but for the sign, into cells.

    Units without a difference are left out.
    """
    rows = sums.candidate - sums.baseline
    moves = (rows != 0).any(axis=1)
    rows, copies = rows[moves], sums.copies[moves]
    lead = rows[np.arange(len(rows)), (rows != 0).argmax(axis=1)] if len(rows) else np.zeros(0)
    mirrored = lead < 0
    distinct, place = distinct_rows(np.where(mirrored[:, None], -rows, rows))
    counts = np.bincount(place, weights=copies, minlength=len(distinct)).astype(np.int64)
    # a mirrored unit starts as if swapped, so that its cell counts in one direction
    baseline, candidate = sums.totals
    start = baseline + copies[mirrored] @ rows[mirrored]
    tie = TIE * max(map(abs, sums.values))
    return _Cells(sums.metric, distinct, counts, start, baseline + candidate, sums.delta, tie)


def _list_all(cells: _Cells) -> Flips:
    """Return every combination of counts, weighted by its binomial probabilities; one half looped over."""
    inner, outer = _split(cells.counts)
    moved, weights = _combinations(cells, inner)
    outer_moved, outer_weights = _combinations(cells, outer)
    shares = np.zeros(4)
    for extra, weight in zip(outer_moved, outer_weights, strict=True):
        differences, undefined = cells.differences(moved + extra)
        shares += weight * np.array(
            [float(weights[side].sum()) for side in (*cells.sides(differences), undefined)]
        )
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
    """Return what each combination of counts of these cells moves (m, width), and its probability (m,)."""
    moved, weights = np.zeros((1, cells.rows.shape[1])), np.ones(1)
    for cell in which:
        count = int(cells.counts[cell])
        k = np.arange(count + 1)
        log_share = log_choose(k, np.asarray(count)) - count * math.log(2)
        moved = (moved[:, None, :] + k[:, None] * cells.rows[cell]).reshape(-1, cells.rows.shape[1])
        weights = np.outer(weights, np.exp(log_share)).ravel()
    return moved, weights
