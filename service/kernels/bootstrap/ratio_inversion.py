"""The bootstrap of a ratio of sums by inversion: P(ratio <= r) = P(sum(D - r N) <= 0), one transform per r.

Three ways for the sum of the terms D - r N, the first that fits:

- on a lattice (r = 0 and other special ratios) the FFT of `lattice.py`, whose atoms are told apart;
- 30 clusters or more with terms on no lattice: the characteristic function (`inversion.py`), error below 1e-3,
  O(30 G) per ratio;
- else terms rounded to a grid of 2^18 points; the bound on what rounding does holds up to a probability of
  1e-9 (Bernstein's inequality). 40 MB.

`error` is the largest of what was asked for, or of two standard errors about the estimate before anything was.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.bootstrap.ratio_moments import ratio_moments
from service.kernels.exact import inversion, lattice
from service.kernels.exact.returns import LEAST_SAMPLE
from service.kernels.numeric.moments import binary_unit, norm
from service.kernels.numeric.roots import rising_root

Floats = NDArray[np.float64]

GRID = 2**18
"""Points of the grid that terms are rounded to, for the answer."""
COARSE_GRID = 2**13
"""Points of a first, quick look for a quantile."""
ATOM_POINTS = 2**18
"""The longest window in which the atoms of terms on a lattice are told apart."""
ROUNDING_RISK = 1e-9
"""The chance that rounding moves a resample further than its bound; it is added to the bounds of a probability."""

UNSEEN, TOLERATED = 5e-4, 1e-3
"""Atoms of ratios of counts are about as large; a sum with a larger error is rounded to a grid instead."""

NEWTON_STEPS = 20
"""More than a quantile takes where Newton converges; beyond, it is bracketed."""
CLOSE = 1e-9
"""How close a quantile is found, in standard deviations of the ratio."""

ON_POINT = 1e-7
"""A 0 this close to a point of the lattice, in its units, is on it."""

TIE = 1e-12
"""Ratios this close, relative to the largest, are the same attainable value."""


class Inverted:
    """The distribution by inversion, one transform per ratio asked for."""

    route: Literal["inversion"] = "inversion"

    def __init__(self, sums: Floats, sizes: Floats) -> None:
        """Sums and sizes of shape (G,)."""
        self.sums, self.sizes = sums, sizes
        self._exacts: dict[float, tuple[lattice.Distribution, float] | None] = {}
        self._bounds: dict[tuple[float, int], tuple[float, float, float]] = {}
        self._sums_at: dict[float, tuple[inversion.Inverted, float] | None] = {}
        self._best: dict[float, tuple[inversion.Inverted, float] | None] = {}
        self.estimate = float(sums.sum() / sizes.sum())
        self._residuals = sums - self.estimate * sizes
        self._total = float(sizes.sum())
        self.spread = norm(self._residuals) / self._total
        self._errors: list[float] = []

    @property
    def error(self) -> float:
        """The largest error of a probability so far; two standard errors about the estimate if nothing was asked."""
        if self.spread == 0:
            return 0.0
        if not self._errors:
            probes = [self._smooth(step) for step in (-2 * self.spread, 2 * self.spread)]
            if None in probes:
                self._errors.append(self._worst_gap())
        return max(self._errors)

    def error_at(self, r: float) -> float:
        """Return the absolute error of P(ratio <= r)."""
        if self.spread == 0:
            return 0.0
        exact = self._exact(r)
        if exact is not None:
            return exact[0].error
        smooth = self._thorough(r - self.estimate)
        if smooth is not None:
            return smooth[0].error
        return _farther(self._round_off(r, GRID))

    def _worst_gap(self) -> float:
        """Return the largest error of a probability over ratios near the estimate and halfway to the ends."""
        bottom, top = self._range()
        steps = [0.0, bottom / 2, top / 2]
        gaps = [self._round_off(self.estimate + min(max(step, bottom), top), GRID) for step in steps]
        return max(map(_farther, gaps))

    def at_most(self, r: float, *, strict: bool = False) -> float:
        """Return P(ratio <= r) or P(ratio < r): the whole atom is told apart when the terms lie on a lattice."""
        exact = self._exact(r)
        if exact is None:
            return self._below(r - self.estimate)
        total, zero = exact
        return total.at_most(math.ceil(zero - ON_POINT) - 1 if strict else math.floor(zero + ON_POINT))

    def at_least(self, r: float, *, strict: bool = False) -> float:
        """Return P(ratio >= r) or P(ratio > r), likewise."""
        exact = self._exact(r)
        if exact is None:
            return 1 - self._below(r - self.estimate)
        total, zero = exact
        return total.at_least(math.floor(zero + ON_POINT) + 1 if strict else math.ceil(zero - ON_POINT))

    def _below(self, step: float) -> float:
        """P(ratio <= estimate + step) where no atom is told apart."""
        smooth = self._thorough(step)
        if smooth is not None:
            return smooth[0].at_most(smooth[1])
        return self._round_off(self.estimate + step, GRID)[0]

    def _thorough(self, step: float) -> tuple[inversion.Inverted, float] | None:
        """The sum of the terms with the least error that can be told, for tails; ends of intervals take `_smooth`."""
        if step not in self._best:
            terms = self._residuals - step * self.sizes
            total, spread = _centre(terms)
            tail = None
            if spread > 0 and inversion.continuous(terms):
                tail = inversion.resampled_sum(terms / spread, scan=len(terms) < LEAST_SAMPLE)
            if tail is not None:
                self._errors.append(tail.error)
            self._best[step] = self._smooth(step) if tail is None else (tail, -total / spread)
        return self._best[step]

    def quantile(self, q: float) -> float:
        """Return the ratio with P(ratio <= x) = q, up to `error` in q."""
        if self.spread == 0:
            return self.estimate
        step = self._newton(q)
        if step is not None and self._smooth(step) is not None:
            return self.estimate + step
        return self.estimate + self._bracket(q)

    def _newton(self, q: float) -> float | None:
        """Return the root by Newton's steps on unchecked transforms; None where they do not settle."""
        if len(self.sums) < inversion.LEAST_VALUES:
            return None
        bottom, top = self._range()
        step = float(special.ndtri(q)) * self.spread
        for _ in range(NEWTON_STEPS):
            tail = self._invert(step, checked=False) if bottom < step < top else None
            if tail is None or abs(tail[1]) >= tail[0].reach:
                return None
            total, x, slope = tail
            value, density = total.with_density(x)
            if density <= 0:
                return None
            move = (q - value) / (density * slope)
            step += move
            if abs(move) < CLOSE * self.spread:
                return step
        return None

    def _bracket(self, q: float) -> float:
        """Return the root from rounded terms: coarsely first, then within a bracket."""

        def excess(points: int) -> Callable[[float], float]:
            return lambda step: self._round_off(self.estimate + step, points)[0] - q

        bottom, top = self._range()
        near = rising_root(excess(COARSE_GRID), bottom, top, 1e-3 * self.spread)
        # The fine grid's root need not lie where the coarse one's does: the bracket is widened until it holds it.
        low, high, width = near, near, 0.01 * self.spread
        while low > bottom and excess(GRID)(low) > 0:
            low, width = max(low - width, bottom), width * 4
        width = 0.01 * self.spread
        while high < top and excess(GRID)(high) < 0:
            high, width = min(high + width, top), width * 4
        return rising_root(excess(GRID), low, high, 1e-5 * self.spread)

    def moments(self) -> tuple[float, float]:
        """Return the mean and standard deviation of the ratio, exactly."""
        if self.spread == 0:
            return self.estimate, 0.0
        unit = binary_unit(self._residuals)
        mean, sd = ratio_moments(self._residuals / unit, self.sizes)
        return self.estimate + unit * mean, unit * sd

    def _smooth(self, step: float) -> tuple[inversion.Inverted, float] | None:
        """Return the standardized sum of the terms at estimate + step and its place of 0; None where not exact."""
        if step not in self._sums_at:
            tail = self._invert(step, checked=True)
            self._sums_at[step] = tail and tail[:2]
            if tail is not None:
                self._errors.append(tail[0].error)
        return self._sums_at[step]

    def _invert(self, step: float, *, checked: bool) -> tuple[inversion.Inverted, float, float] | None:
        """Return the sum, the place of 0, and how that moves with the step."""
        terms = self._residuals - step * self.sizes
        # a lattice is left to the bound on returns: unless it is too fine to matter, the bound refuses it
        if checked and not inversion.spread_out(terms):
            return None
        total, spread = _centre(terms)
        if spread == 0:
            return None
        terms /= spread
        inverted = inversion.coarse_sum(terms, UNSEEN if checked else None)
        if inverted is None or (checked and inverted.error > TOLERATED):
            return None
        return inverted, -total / spread, self._total / spread

    def _range(self) -> tuple[float, float]:
        """Least and largest attainable ratio, from the estimate."""
        ratios = self.sums / self.sizes
        return float(ratios.min()) - self.estimate, float(ratios.max()) - self.estimate

    def _exact(self, r: float) -> tuple[lattice.Distribution, float] | None:
        if r not in self._exacts:
            self._exacts[r] = self._on_lattice(r)
        return self._exacts[r]

    def _on_lattice(self, r: float) -> tuple[lattice.Distribution, float] | None:
        """Return the sum of the terms in units of their lattice, and where 0 lies among them; None off a lattice."""
        terms = self.sums - r * self.sizes
        terms[np.abs(terms) <= TIE * np.abs(self.sums)] = 0.0
        # evenly spaced terms need not pass through 0
        for origin in (0.0, float(terms.min())):
            grid = lattice.integer_grid(terms - origin)
            if grid is None:
                continue
            try:
                total = lattice.distribution(lattice.resample_groups(grid[0]), ATOM_POINTS)
            except lattice.WindowTooLong:
                return None
            return total, -origin * len(terms) / grid[1]
        return None

    def _round_off(self, r: float, points: int) -> tuple[float, float, float]:
        if (r, points) not in self._bounds:
            self._bounds[r, points] = bounded = self._bound(r, points)
            if points == GRID:
                self._errors.append(_farther(bounded))
        return self._bounds[r, points]

    def _bound(self, r: float, points: int) -> tuple[float, float, float]:
        """P(sum(D - r N) <= 0) with the bounds that rounding to the grid leaves: (middle, low, high)."""
        terms = self.sums - r * self.sizes
        g = len(terms)
        centred = terms - terms.mean()
        width = float(np.ptp(terms))
        if width == 0:
            inside = float(terms[0] <= 0)
            return inside, inside, inside
        # The window of the rounded sum is twice Bernstein's reach, of which a tenth is left for rounding.
        nats = math.log(2 / lattice.TINY_MASS)
        reach = 2 * (
            width * nats / 3 + math.sqrt((width * nats / 3) ** 2 + 2 * nats * float(centred @ centred))
        )
        unit = min(reach, g * width) / (points * 0.9)
        cells = np.rint(terms / unit)
        left = cells * unit - terms
        total = lattice.distribution(lattice.resample_groups(cells.astype(np.int64)))
        # What rounding adds to a resample is a sum of G draws from `left`: its mean is a shift that is taken off, and
        # around that Bernstein bounds it by `slip`, but for a chance of `ROUNDING_RISK`.
        nats = math.log(2 / ROUNDING_RISK)
        variance = float(((left - left.mean()) ** 2).sum())
        slip = unit * nats / 3 + math.sqrt((unit * nats / 3) ** 2 + 2 * nats * variance)
        shift = float(left.sum())
        edges = total.first + total.step * (np.arange(len(total.cdf)) + 0.5)
        middle = float(np.interp(shift / unit, edges, total.cdf, left=0.0, right=1.0))
        low = total.at_most(math.floor((shift - slip) / unit)) - ROUNDING_RISK
        high = total.at_most(math.floor((shift + slip) / unit)) + ROUNDING_RISK
        return min(max(middle, 0.0), 1.0), max(low, 0.0), min(high, 1.0)


def _farther(bounds: tuple[float, float, float]) -> float:
    """Return how far the value lies from the farther of its bounds: at an atom it is one of them."""
    value, low, high = bounds
    return max(high - value, value - low)


def _centre(terms: Floats) -> tuple[float, float]:
    """Centre the terms in place; their total before, and the root of the sum of their squares after."""
    total = float(terms.sum())
    terms -= total / len(terms)
    return total, norm(terms)
