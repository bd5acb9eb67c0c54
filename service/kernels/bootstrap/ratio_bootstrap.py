"""The bootstrap distribution of a ratio of sums, sum(D) / sum(N), over resampled clusters: no drawing.

G clusters with difference sums D (G,) and sizes N (G,) are drawn G times with replacement. Items
are clusters of size 1. Three routes, each with a stated error:

- `enumeration`: every multiset with its multinomial weight, where there are at most as many as 12 different
  clusters have (1,352,078, about 100 MB at the peak); up to 9 clusters from tables that are kept.
- `lattice`, sums on a lattice: with equal sizes the FFT of `lattice.py`, else the joint distribution of both
  sums (`ratio_lattice.py`).
- `inversion`: one transform per ratio asked for (`ratio_inversion.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from service.kernels.bootstrap.ratio_inversion import TIE, Inverted
from service.kernels.bootstrap.ratio_lattice import joint_ratios
from service.kernels.exact import lattice, multisets
from service.kernels.numeric.moments import binary_unit

Floats = NDArray[np.float64]
Route = Literal["enumeration", "lattice", "inversion"]

ENUMERATED_UP_TO = 12
"""Clusters up to which all multisets are listed without asking how many are alike."""
KEPT_UP_TO = 9
"""Clusters whose 24,310 multisets are kept as a table of 1.7 MB."""

GRID_POINTS, GRID_TIE = 2**16, 1e-9
"""Sums that are multiples of a unit but for rounding, and how close their ratios are when they tie."""

QUICK_POINTS, MOST_POINTS = 2**20, 2**21
"""Windows of a joint distribution: one taken before inversion, one where inversion would not be exact."""


@dataclass(frozen=True, eq=False)
class Atoms:
    """A discrete distribution: `ratios` ascending and their probabilities, both (m,)."""

    ratios: Floats
    probabilities: Floats
    route: Route
    error: float
    near: float = TIE
    """Ratios this close, relative to the largest, are one value."""

    @cached_property
    def cdf(self) -> Floats:
        """P(ratio <= ratios[i]) for every i, shape (m,)."""
        return np.cumsum(self.probabilities)

    @property
    def _tie(self) -> float:
        return self.near * float(max(abs(self.ratios[0]), abs(self.ratios[-1])))

    def at_most(self, r: float, *, strict: bool = False) -> float:
        """Return P(ratio <= r), or P(ratio < r) when strict; an atom at r belongs wholly to the first."""
        edge = r - self._tie if strict else r + self._tie
        index = int(np.searchsorted(self.ratios, edge, side="left" if strict else "right"))
        return min(float(self.cdf[index - 1]), 1.0) if index else 0.0

    def at_least(self, r: float, *, strict: bool = False) -> float:
        """Return P(ratio >= r), or P(ratio > r) when strict; summed from the far end."""
        edge = r + self._tie if strict else r - self._tie
        index = int(np.searchsorted(self.ratios, edge, side="right" if strict else "left"))
        return min(float(self.probabilities[index:].sum()), 1.0)

    def quantile(self, q: float) -> float:
        """Return the smallest attainable ratio x with P(ratio <= x) >= q - 1e-12."""
        index = int(np.searchsorted(self.cdf, q - lattice.QUANTILE_SLACK))
        return float(self.ratios[min(index, len(self.ratios) - 1)])

    def moments(self) -> tuple[float, float]:
        """Return the mean and standard deviation of the ratio."""
        mean, unit = float(self.probabilities @ self.ratios), binary_unit(self.ratios)
        return mean, unit * math.sqrt(float(self.probabilities @ ((self.ratios - mean) / unit) ** 2))


RatioDistribution = Atoms | Inverted


def ratio_bootstrap(sums: Floats, sizes: Floats) -> RatioDistribution:
    """Return the bootstrap distribution of sum(D) / sum(N), by the first route that fits."""
    if len(sums) <= ENUMERATED_UP_TO:
        return enumerate_resamples(sums, sizes)
    evenly = _resample_evenly_sized(sums, sizes) if np.all(sizes == sizes[0]) else None
    if evenly is not None:
        return evenly
    if multisets.kinds(np.stack([sums, sizes], axis=1)) is not None:
        return enumerate_resamples(sums, sizes)
    return on_grid(sums, sizes, QUICK_POINTS) or Inverted(sums, sizes)


def on_grid(sums: Floats, sizes: Floats, most: int = MOST_POINTS) -> Atoms | None:
    """Return the sums on a lattice, by their joint distribution with the sizes; None where it takes too many points."""
    joint = joint_ratios(sums, sizes, most)
    return None if joint is None else Atoms(joint[0], joint[1], "lattice", joint[2])


def _resample_evenly_sized(sums: Floats, sizes: Floats) -> Atoms | None:
    """Compute the exact law of the mean of clusters of one size on a lattice; None where there is none."""
    # two values are evenly spaced whatever they are, and so is every resampled sum
    for origin in (0.0, float(sums.min())):
        grid = lattice.integer_grid(sums - origin)
        if grid is None:
            continue
        try:
            total = lattice.distribution(lattice.resample_groups(grid[0]))
        except lattice.WindowTooLong:
            break
        k = total.first + total.step * np.arange(len(total.pmf))
        unit = grid[1] / (len(sums) * float(sizes[0]))
        ratios = origin / float(sizes[0]) + np.multiply(k, unit, dtype=np.float64)
        return Atoms(ratios, total.pmf, "lattice", total.error)
    return None


def enumerate_resamples(sums: Floats, sizes: Floats) -> Atoms:
    """Return every multiset of G clusters, equal ones being one kind."""
    g, rows = len(sums), np.stack([sums, sizes], axis=1)
    if g <= KEPT_UP_TO:
        counts, probabilities = _multisets(g)
        total, error = counts @ rows, 1e-13
    else:
        different, copies = np.unique(rows, axis=0, return_counts=True)
        total, probabilities = multisets.totals(different, copies)
        error = multisets.error_of(g)
    ratios = total[:, 0] / total[:, 1]
    order = np.argsort(ratios, kind="stable")
    near = TIE if lattice.integer_grid(sums, most=GRID_POINTS) is None else GRID_TIE
    return Atoms(ratios[order], probabilities[order], "enumeration", error, near)


@cache
def _multisets(g: int) -> tuple[Floats, Floats]:
    """Return how often each of g clusters is drawn, one row per multiset (C(2g-1, g), g), and their probabilities."""
    rows = [np.zeros((1, 0))]  # rows[u]: ways to have drawn u of the clusters so far
    rows += [np.zeros((0, 0)) for _ in range(g)]
    for index in range(g):
        wanted = range(g, g + 1) if index == g - 1 else range(g + 1)
        rows = [
            np.vstack(
                [
                    np.hstack([rows[u - k], np.full((len(rows[u - k]), 1), float(k))])
                    for k in range(u + 1)
                    if len(rows[u - k])
                ]
            )
            if u in wanted
            else rows[u]
            for u in range(g + 1)
        ]
    # a multiset of counts k comes from g! / (k_1! ... k_g!) of the g^g ways to draw
    counts = rows[g]
    factorials = np.array([math.factorial(k) for k in range(g + 1)], dtype=np.float64)
    return counts, math.factorial(g) / factorials[counts.astype(np.int64)].prod(axis=1) / float(g) ** g
