"""The bootstrap distribution of a ratio of sums, sum(D) / sum(N), over resampled clusters: no drawing.

G clusters with difference sums D (G,) and sizes N (G,) are drawn G times with replacement. Items
are clusters of size 1. Three routes, each with a stated error:

- `enumeration`, G <= 12: all C(2G-1, G) multisets with their multinomial weights (1,352,078 at
  G = 12, about 100 MB at the peak).
- `lattice`: equal sizes and sums on a lattice: the FFT of `lattice.py`.
- `inversion`: P(ratio <= r) = P(sum(D - r N) <= 0), the terms rounded to a grid of 2^18 points;
  the bound on what rounding does holds up to a probability of 1e-9 (Bernstein's inequality).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from service.kernels import lattice
from service.kernels.roots import rising_root

Floats = NDArray[np.float64]
Route = Literal["enumeration", "lattice", "inversion"]

ENUMERATED_UP_TO = 12
GRID = 2**18
COARSE_GRID = 2**13
ATOM_POINTS = 2**18
ROUNDING_RISK = 1e-9
MOMENT_POINTS, MOMENT_SLACK = 97, 0.3
"""Area between the bounds of the distribution function, in standard deviations, that moments tolerate."""

TIE = 1e-12
"""Ratios this close, relative to the largest, are the same attainable value."""


@dataclass(frozen=True, eq=False)
class Atoms:
    """A discrete distribution: `ratios` ascending and their probabilities, both (m,)."""

    ratios: Floats
    probabilities: Floats
    route: Route
    error: float

    @cached_property
    def cdf(self) -> Floats:
        """P(ratio <= ratios[i])."""
        return np.cumsum(self.probabilities)

    @property
    def _tie(self) -> float:
        return TIE * float(max(abs(self.ratios[0]), abs(self.ratios[-1])))

    def at_most(self, r: float, *, strict: bool = False) -> float:
        """P(ratio <= r), or P(ratio < r) when strict; an atom at r belongs wholly to the first."""
        edge = r - self._tie if strict else r + self._tie
        index = int(np.searchsorted(self.ratios, edge, side="left" if strict else "right"))
        return min(float(self.cdf[index - 1]), 1.0) if index else 0.0

    def at_least(self, r: float, *, strict: bool = False) -> float:
        """P(ratio >= r), or P(ratio > r) when strict; summed from the far end."""
        edge = r + self._tie if strict else r - self._tie
        index = int(np.searchsorted(self.ratios, edge, side="right" if strict else "left"))
        return min(float(self.probabilities[index:].sum()), 1.0)

    def quantile(self, q: float) -> float:
        """The smallest attainable ratio x with P(ratio <= x) >= q - 1e-12."""
        index = int(np.searchsorted(self.cdf, q - lattice.QUANTILE_SLACK))
        return float(self.ratios[min(index, len(self.ratios) - 1)])

    def moments(self) -> tuple[float, float]:
        """Mean and standard deviation of the ratio."""
        mean = float(self.probabilities @ self.ratios)
        return mean, math.sqrt(max(float(self.probabilities @ (self.ratios - mean) ** 2), 0.0))


class Inverted:
    """The distribution by inversion, one FFT per ratio asked for."""

    route: Route = "inversion"

    def __init__(self, sums: Floats, sizes: Floats) -> None:
        """Sums and sizes of shape (G,)."""
        self.sums, self.sizes = sums, sizes
        self._exacts: dict[float, lattice.Distribution | None] = {}
        self._bounds: dict[tuple[float, int], tuple[float, float, float]] = {}
        self.estimate = float(sums.sum() / sizes.sum())
        residuals = sums - self.estimate * sizes
        self.spread = math.sqrt(float(residuals @ residuals)) / float(sizes.sum())
        self.error = self._worst_gap() if self.spread > 0 else 0.0

    def _worst_gap(self) -> float:
        """The largest error of a probability over ratios near the estimate and halfway to the ends."""
        bottom, top = self._range()
        steps = [0.0, bottom / 2, top / 2]
        gaps = [self._rounded(self.estimate + min(max(step, bottom), top), GRID) for step in steps]
        return max(high - low for _, low, high in gaps) / 2

    def at_most(self, r: float, *, strict: bool = False) -> float:
        """P(ratio <= r) or P(ratio < r): the whole atom is told apart when the terms lie on a lattice."""
        exact = self._exact(r)
        if exact is None:
            return self._rounded(r, GRID)[0]
        return exact.at_most(-1 if strict else 0)

    def at_least(self, r: float, *, strict: bool = False) -> float:
        """P(ratio >= r) or P(ratio > r), likewise."""
        exact = self._exact(r)
        if exact is None:
            return 1 - self._rounded(r, GRID)[0]
        return exact.at_least(1 if strict else 0)

    def quantile(self, q: float) -> float:
        """The ratio with P(ratio <= x) = q, up to `error` in q."""
        if self.spread == 0:
            return self.estimate

        def excess(points: int) -> Callable[[float], float]:
            return lambda step: self._rounded(self.estimate + step, points)[0] - q

        bottom, top = self._range()
        near = rising_root(excess(COARSE_GRID), bottom, top, 1e-3 * self.spread)
        low, high, width = near, near, 0.01 * self.spread
        while low > bottom and excess(GRID)(low) > 0:
            low, width = max(low - width, bottom), width * 4
        width = 0.01 * self.spread
        while high < top and excess(GRID)(high) < 0:
            high, width = min(high + width, top), width * 4
        return self.estimate + rising_root(excess(GRID), low, high, 1e-5 * self.spread)

    def moments(self) -> tuple[float, float]:
        """Mean and standard deviation, integrated from the distribution function."""
        if self.spread == 0:
            return self.estimate, 0.0
        bottom, top = self._range()
        # dense near the estimate, logarithmic towards the ends
        grid = self.spread * np.sinh(
            np.linspace(math.asinh(bottom / self.spread), math.asinh(top / self.spread), MOMENT_POINTS)
        )
        for points in (COARSE_GRID, 8 * COARSE_GRID, GRID):
            cdf, low, high = np.array([self._rounded(self.estimate + float(step), points) for step in grid]).T
            mean = top - float(np.trapezoid(cdf, grid))
            second = (top - mean) ** 2 - 2 * float(np.trapezoid((grid - mean) * cdf, grid))
            sd = math.sqrt(max(second, 0.0))
            if float(np.trapezoid(high - low, grid)) <= MOMENT_SLACK * sd:
                break
        return self.estimate + mean, sd

    def _range(self) -> tuple[float, float]:
        """Least and largest attainable ratio, from the estimate."""
        ratios = self.sums / self.sizes
        return float(ratios.min()) - self.estimate, float(ratios.max()) - self.estimate

    def _exact(self, r: float) -> lattice.Distribution | None:
        if r not in self._exacts:
            self._exacts[r] = self._on_lattice(r)
        return self._exacts[r]

    def _on_lattice(self, r: float) -> lattice.Distribution | None:
        terms = self.sums - r * self.sizes
        terms[np.abs(terms) <= TIE * np.abs(self.sums)] = 0.0
        grid = lattice.integer_grid(terms)
        if grid is None:
            return None
        try:
            return lattice.distribution(lattice.resampled(grid[0]), ATOM_POINTS)
        except lattice.WindowTooLong:
            return None

    def _rounded(self, r: float, points: int) -> tuple[float, float, float]:
        if (r, points) not in self._bounds:
            self._bounds[r, points] = self._bounded(r, points)
        return self._bounds[r, points]

    def _bounded(self, r: float, points: int) -> tuple[float, float, float]:
        """P(sum(D - r N) <= 0) with the bounds that rounding to the grid leaves: (middle, low, high)."""
        terms = self.sums - r * self.sizes
        g = len(terms)
        centred = terms - terms.mean()
        width = float(np.ptp(terms))
        if width == 0:
            inside = float(terms[0] <= 0)
            return inside, inside, inside
        nats = math.log(2 / lattice.TINY_MASS)
        reach = 2 * (
            width * nats / 3 + math.sqrt((width * nats / 3) ** 2 + 2 * nats * float(centred @ centred))
        )
        unit = min(reach, g * width) / (points * 0.9)
        cells = np.rint(terms / unit)
        left = cells * unit - terms
        total = lattice.distribution(lattice.resampled(cells.astype(np.int64)))
        nats = math.log(2 / ROUNDING_RISK)
        variance = float(((left - left.mean()) ** 2).sum())
        slip = unit * nats / 3 + math.sqrt((unit * nats / 3) ** 2 + 2 * nats * variance)
        shift = float(left.sum())
        edges = total.first + total.step * (np.arange(len(total.cdf)) + 0.5)
        middle = float(np.interp(shift / unit, edges, total.cdf, left=0.0, right=1.0))
        low = total.at_most(math.floor((shift - slip) / unit)) - ROUNDING_RISK
        high = total.at_most(math.floor((shift + slip) / unit)) + ROUNDING_RISK
        return min(max(middle, 0.0), 1.0), max(low, 0.0), min(high, 1.0)


RatioDistribution = Atoms | Inverted


def ratio_bootstrap(sums: Floats, sizes: Floats) -> RatioDistribution:
    """The bootstrap distribution of sum(D) / sum(N), by the first route that fits."""
    if len(sums) <= ENUMERATED_UP_TO:
        return enumerated(sums, sizes)
    if np.all(sizes == sizes[0]):
        grid = lattice.integer_grid(sums)
        if grid is not None:
            try:
                found = lattice.distribution(lattice.resampled(grid[0]))
            except lattice.WindowTooLong:
                return Inverted(sums, sizes)
            k = found.first + found.step * np.arange(len(found.pmf))
            unit = grid[1] / (len(sums) * float(sizes[0]))
            return Atoms(np.multiply(k, unit, dtype=np.float64), found.pmf, "lattice", found.error)
    return Inverted(sums, sizes)


def enumerated(sums: Floats, sizes: Floats) -> Atoms:
    """Every multiset of G clusters. Probabilities are exact to rounding (1e-13)."""
    g = len(sums)
    weights = [1 / math.factorial(k) for k in range(g + 1)]
    # states[u]: (sum of D, sum of N, weight) of the ways to have drawn u clusters so far
    empty = (np.zeros(1), np.zeros(1), np.ones(1))
    states = [empty] + [tuple(np.zeros(0) for _ in range(3)) for _ in range(g)]
    for index, (d, n) in enumerate(zip(sums, sizes, strict=True)):
        wanted = [g] if index == g - 1 else range(g + 1)
        states = [
            tuple(
                np.concatenate(parts)
                for parts in zip(
                    *(
                        (states[u - k][0] + k * d, states[u - k][1] + k * n, states[u - k][2] * weights[k])
                        for k in range(u + 1)
                    ),
                    strict=True,
                )
            )
            if u in wanted
            else states[u]
            for u in range(g + 1)
        ]
    total, size, weight = states[g]
    ratios = total / size
    order = np.argsort(ratios, kind="stable")
    return Atoms(ratios[order], weight[order] * (math.factorial(g) / g**g), "enumeration", 1e-13)
