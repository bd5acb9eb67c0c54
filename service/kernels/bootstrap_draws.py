"""Monte-Carlo bootstrap of a mean or of a ratio of sums, and the literal code of a published recipe.

Replicates come in fixed blocks, each with a generator of its own, so that the numbers depend on
the seed alone: not on how many blocks one worker takes, nor on how large an array is at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BLOCK = 256
"""Replicates per generator; part of the version, since it decides the numbers."""

CELLS = 2**20
"""Indices held at a time: 4 MB."""

BIT_GENERATOR = "PCG64"


@dataclass(frozen=True, eq=False)
class Draws:
    """Sorted bootstrap estimates (B,), `scale` times the difference. Shares are plain counts over B."""

    estimates: Floats
    route: str = "monte_carlo"
    scale: float = 1.0
    error: float | None = None

    def at_most(self, r: float, *, strict: bool = False) -> float:
        """Share of estimates <= r, or < r; those within 1e-12 of the largest are ties."""
        return self._below(r, inclusive=not strict) / len(self.estimates)

    def at_least(self, r: float, *, strict: bool = False) -> float:
        """Share of estimates >= r, or > r."""
        return (len(self.estimates) - self._below(r, inclusive=strict)) / len(self.estimates)

    def _below(self, r: float, *, inclusive: bool) -> int:
        tie = 1e-12 * float(max(abs(self.estimates[0]), abs(self.estimates[-1])))
        edge = r * self.scale + (tie if inclusive else -tie)
        return int(np.searchsorted(self.estimates, edge, side="right" if inclusive else "left"))

    def quantile(self, q: float) -> float:
        """Linear interpolation between order statistics, numpy's default."""
        return float(np.percentile(self.estimates, q * 100)) / self.scale

    def moments(self) -> tuple[float, float]:
        """Mean and standard deviation (ddof 1) of the estimates."""
        return float(self.estimates.mean()) / self.scale, float(self.estimates.std(ddof=1)) / self.scale


def draw_means(values: Floats, n_resamples: int, seed: int) -> Draws:
    """Means of `n_resamples` resamples of `values` (n,), sorted. Memory O(B + n + `CELLS`)."""
    return draw_ratios(values, np.ones(len(values)), n_resamples, seed)


def draw_ratios(sums: Floats, sizes: Floats, n_resamples: int, seed: int) -> Draws:
    """sum(D) / sum(N) over `n_resamples` resamples of clusters with `sums` and `sizes` (G,), sorted."""
    g = len(sums)
    equal = bool(np.all(sizes == sizes[0]))
    ratios = np.empty(n_resamples)
    rows_at_a_time = max(1, CELLS // g)
    for start in range(0, n_resamples, BLOCK):
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(start // BLOCK,))))
        stop = min(start + BLOCK, n_resamples)
        for row in range(start, stop, rows_at_a_time):
            rows = min(rows_at_a_time, stop - row)
            picked = rng.integers(0, g, (rows, g), dtype=np.int32)
            total = sizes[0] * g if equal else sizes[picked].sum(axis=1)
            ratios[row : row + rows] = sums[picked].sum(axis=1) / total
    ratios.sort()
    return Draws(ratios)


def seed_means(values: Floats, n_resamples: int, seed: int) -> Draws:
    """The literal recipe: `default_rng(seed)`, one `choice` per resample, means in percentage points.

    Whole numbers of points are averaged as integers, as that code does with 0/1 columns.
    """
    points = values * 100
    arr = points.astype(np.int64) if np.array_equal(points, np.rint(points)) else points
    rng = np.random.default_rng(seed)
    n = len(arr)
    boots = [arr[rng.choice(n, n, replace=True)].mean() for _ in range(n_resamples)]
    return Draws(np.sort(np.array(boots)), route="seed", scale=100.0)


def seed_cluster_means(sums: Floats, sizes: Floats, n_resamples: int, seed: int) -> Draws:
    """The literal clustered recipe: clusters chosen by `default_rng(seed)`, all their items averaged."""
    rng = np.random.default_rng(seed)
    g = len(sums)
    boots = np.empty(n_resamples)
    for row in range(n_resamples):
        chosen = rng.choice(g, g, replace=True)
        boots[row] = sums[chosen].sum() / sizes[chosen].sum() * 100
    return Draws(np.sort(boots), route="seed", scale=100.0)
