"""Monte-Carlo bootstrap of a mean or of a ratio of sums, and the literal code of a published recipe.

Replicates come in the blocks of `streams`. Items of equal size are drawn by groups of 256: how many draws
fall into each group is a multinomial count, and within a group one random word picks two items, whose
sum stands in a table.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.kernels.numeric.streams import BLOCK, generator, picks

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

CELLS = 2**15
"""Numbers drawn at a time: with what is looked up for them they fit the cache. Part of the version."""

GROUP = 256
"""Items whose pairs a table holds: half a megabyte. Part of the version."""

AT_ONCE, FEWER = 16, 4
"""Blocks that share the making of a group's table; fewer where their counts would fill the memory."""


@dataclass(frozen=True, eq=False)
class Draws:
    """Sorted bootstrap estimates (B,), `scale` times the difference. Shares are plain counts over B."""

    estimates: Floats
    route: str = "monte_carlo"
    scale: float = 1.0
    error: float | None = None

    def at_most(self, r: float, *, strict: bool = False) -> float:
        """Return the share of estimates <= r, or < r; those within 1e-12 of the largest are ties."""
        return self._below(r, inclusive=not strict) / len(self.estimates)

    def at_least(self, r: float, *, strict: bool = False) -> float:
        """Return the share of estimates >= r, or > r."""
        return (len(self.estimates) - self._below(r, inclusive=strict)) / len(self.estimates)

    def _below(self, r: float, *, inclusive: bool) -> int:
        # sums of the same items in another order differ by rounding
        tie = 1e-12 * float(max(abs(self.estimates[0]), abs(self.estimates[-1])))
        edge = r * self.scale + (tie if inclusive else -tie)
        return int(np.searchsorted(self.estimates, edge, side="right" if inclusive else "left"))

    def quantile(self, q: float) -> float:
        """Linear interpolation between order statistics, numpy's default."""
        return float(np.percentile(self.estimates, q * 100)) / self.scale

    def moments(self) -> tuple[float, float]:
        """Return the mean and standard deviation (ddof 1) of the estimates."""
        return float(self.estimates.mean()) / self.scale, float(self.estimates.std(ddof=1)) / self.scale


def ratio_blocks(sums: Floats, sizes: Floats, seed: int, blocks: range) -> Floats:
    """Return sum(D) / sum(N) of every replicate of these blocks, in the order drawn: (len(blocks) BLOCK,).

    Memory: the answer and a few megabytes, four bytes per group of 256 and replicate of `AT_ONCE` blocks.
    """
    if np.all(sizes == sizes[0]):
        return np.asarray(sum_blocks(sums, seed, blocks) / (sizes[0] * len(sizes)))
    ratios = [
        sums.take(picked).sum(axis=1) / sizes.take(picked).sum(axis=1)
        for block in blocks
        for picked in _indices(len(sums), generator(seed, block))
    ]
    return np.concatenate([np.zeros(0), *ratios])


def sum_blocks(values: Floats, seed: int, blocks: range) -> Floats:
    """Return the sums of n draws with replacement from `values` (n,), for every replicate of these blocks."""
    sums = [sum_draws(values, generators) for generators in batches(seed, blocks, len(values))]
    return np.concatenate([np.zeros(0), *sums])


def batches(seed: int, blocks: range, n: int) -> Iterator[list[np.random.Generator]]:
    """Yield the blocks' generators, as many at a time as share the making of tables for n values."""
    at_once = AT_ONCE if n <= GROUP**2 else FEWER
    for start in range(0, len(blocks), at_once):
        yield [generator(seed, block) for block in blocks[start : start + at_once]]


def sum_draws(values: Floats, generators: list[np.random.Generator]) -> Floats:
    """Return the sums of n draws with replacement from `values` (n,), `BLOCK` by each generator."""
    n = len(values)
    edges = [*range(0, n, GROUP), n]
    counts = [rng.multinomial(n, np.diff(edges) / n, size=BLOCK) for rng in generators]
    totals = np.zeros((len(generators), BLOCK))
    for group, (start, stop) in enumerate(itertools.pairwise(edges)):
        inside = values[start:stop]
        pairs = np.add.outer(inside, inside).ravel()
        for rng, count, total in zip(generators, counts, totals, strict=True):
            # a replicate's draws from this group, by twos from the table of pairs; an odd one alone
            twos = count[:, group] >> 1
            total += _runs(pairs.take(picks(rng, pairs.size, int(twos.sum()))), twos)
            odd = np.flatnonzero(count[:, group] & 1)
            total[odd] += inside.take(picks(rng, inside.size, odd.size))
    return totals.ravel()


def _runs(values: Floats, lengths: Counts) -> Floats:
    """Sums of consecutive runs of these lengths, 0 for an empty run."""
    starts = np.cumsum(lengths) - lengths
    if lengths.all():
        return np.asarray(np.add.reduceat(values, starts))
    # of an empty run reduceat gives the value at its start, which may lie beyond the last: hence a 0 more
    sums = np.add.reduceat(np.append(values, 0.0), starts)
    sums[lengths == 0] = 0.0
    return np.asarray(sums)


def _indices(n: int, rng: np.random.Generator) -> Iterator[NDArray[np.intp]]:
    """Yield a block's resamples of 0 .. n - 1 (rows, n), some rows at a time."""
    at_once = max(1, CELLS // n)
    for row in range(0, BLOCK, at_once):
        rows = min(at_once, BLOCK - row)
        yield picks(rng, n, rows * n).reshape(rows, n)


def seed_means(values: Floats, n_resamples: int, seed: int) -> Draws:
    """Return the literal recipe: `default_rng(seed)`, one `choice` per resample, means in percentage points.

    Whole numbers of points are averaged as integers, as that code does with 0/1 columns.
    """
    points = values * 100
    # from 2^53 on floats are whole numbers anyway, and may not fit an integer
    whole = np.array_equal(points, np.rint(points)) and float(np.abs(points).max()) < 2.0**53
    arr = points.astype(np.int64) if whole else points
    rng = np.random.default_rng(seed)
    n = len(arr)
    boots = [arr[rng.choice(n, n, replace=True)].mean() for _ in range(n_resamples)]
    return Draws(np.sort(np.array(boots)), route="seed", scale=100.0)


def seed_cluster_means(sums: Floats, sizes: Floats, n_resamples: int, seed: int) -> Draws:
    """Return the literal clustered recipe: clusters chosen by `default_rng(seed)`, all their items averaged."""
    rng = np.random.default_rng(seed)
    g = len(sums)
    boots = np.empty(n_resamples)
    for row in range(n_resamples):
        chosen = rng.choice(g, g, replace=True)
        boots[row] = sums[chosen].sum() / sizes[chosen].sum() * 100
    return Draws(np.sort(boots), route="seed", scale=100.0)
