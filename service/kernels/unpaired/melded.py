"""Bounds of the difference of two independent means, from bounds of each that hold by themselves.

The lower bounds of a mean at all levels make a distribution, stochastically below the truth, and so do the upper
bounds. Melding (Fay, Proschan & Brittain 2015, Biometrics 71:146) draws the candidate's mean from its lower one and the
baseline's from its upper one: the alpha-quantile of their difference is the lower bound at level alpha. Of right and
wrong with Clopper and Pearson's bounds its test of no difference is Fisher's exact one; of bounded scores with Gaffke's
it knows of outcomes too rare to have been seen, in either arm.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.numeric.roots import rising_root
from service.kernels.pairs.mean_bounds import MeanBounds

if TYPE_CHECKING:
    from scipy.interpolate import PchipInterpolator

Floats = NDArray[np.float64]

FARTHEST = 1e-12
"""The tail beyond which neither distribution is followed: what lies there is counted against the claim."""
FIRST, ROUNDS = 17, 12
"""Points that a distribution is first asked at, and rounds of halving what lies too far apart."""
CLOSE, FAR_OUT, COARSE = 0.25, 4.0, 1.0
"""How far the normal quantiles of neighbouring points may lie apart, from where on they are in the tails, and how far
there."""
NODES = 1201
"""Of the trapezoidal rule from -8 to 8 standard deviations."""


@dataclass(frozen=True, eq=False)
class Melded:
    """Bounds of candidate minus baseline, independent of each other, from those of each (`MeanBounds`)."""

    baseline: MeanBounds
    candidate: MeanBounds

    def ends(self, tail: float) -> tuple[float, float]:
        """Lower and upper bound, each at level `tail`, a probability below .5."""
        aim = float(special.ndtri(tail))
        return _quantile(self._below, aim), -_quantile(self._above, aim)

    def p_above(self, difference: float) -> float:
        """Return the one-sided p of H0: the true difference is at most `difference`."""
        return self._below.chance(difference)

    def p_below(self, difference: float) -> float:
        """Return the one-sided p of H0: it is at least `difference`."""
        return self._above.chance(-difference)

    @cached_property
    def _below(self) -> _Drawn:
        """The candidate as low as its bounds leave it, the baseline as high."""
        return _Drawn(_lower(self.candidate), _mirror(self.baseline))

    @cached_property
    def _above(self) -> _Drawn:
        """The baseline as low as its bounds leave it, the candidate as high."""
        return _Drawn(_lower(self.baseline), _mirror(self.candidate))


@dataclass(frozen=True, eq=False)
class _Table:
    """A distribution by its points (m,), rising, and the normal quantiles (m,) of the chance at or below each."""

    points: Floats
    quantiles: Floats

    def at(self, z: Floats) -> Floats:
        """Return the points at these normal quantiles."""
        inside = self._points(np.clip(z, self.quantiles[0], self.quantiles[-1]))
        return np.asarray(np.ldexp(inside, self._exponent))

    def quantile(self, x: Floats) -> Floats:
        """Return the normal quantiles at these points; infinite beyond the table."""
        clipped = np.clip(x, self.points[0], self.points[-1])
        inside = self._quantiles(np.ldexp(clipped, -self._exponent))
        return np.where(x < self.points[0], -np.inf, np.where(x > self.points[-1], np.inf, inside))

    @cached_property
    def _exponent(self) -> int:
        """Of two, such that the points divided by this power lie from about .5 to 1 apart.

        Cubics are laid between the divided points, because the cubes of slopes of scores in a tiny unit overflow. A
        power of two changes no other bit.
        """
        return math.frexp(float(self.points[-1]) - float(self.points[0]))[1]

    @cached_property
    def _points(self) -> PchipInterpolator:
        return _rising(self.quantiles, np.ldexp(self.points, -self._exponent))

    @cached_property
    def _quantiles(self) -> PchipInterpolator:
        return _rising(np.ldexp(self.points, -self._exponent), self.quantiles)


def _rising(x: Floats, y: Floats) -> PchipInterpolator:
    """Between points (x, y) by cubics that rise where the points do."""
    from scipy.interpolate import PchipInterpolator  # loads scipy's optimizers, and few tests ask for it

    return PchipInterpolator(x, y)


@dataclass(frozen=True, eq=False)
class _Drawn:
    """The sum of two independent variables: one mean, and another with its sign turned."""

    one: _Table
    turned: _Table

    def chance(self, sum_: float) -> float:
        """Return P(one + turned <= sum_): the first's chance at sum_ - u, over the second's u.

        By the trapezoidal rule over the normal quantile of u, whose density leaves nothing beyond the ends.
        """
        z, weights = _NODES_AND_WEIGHTS
        chances = special.ndtr(self.one.quantile(sum_ - self.turned.at(z)))
        return min(float(weights @ chances), 1.0)

    @property
    def ends(self) -> tuple[float, float]:
        """Between what the sum lies."""
        low = float(self.one.points[0] + self.turned.points[0])
        return low, float(self.one.points[-1] + self.turned.points[-1])


def _nodes_and_weights() -> tuple[Floats, Floats]:
    z = np.linspace(-8.0, 8.0, NODES)
    weights = np.exp(-z * z / 2)
    return z, weights / weights.sum()


_NODES_AND_WEIGHTS = _nodes_and_weights()


def _quantile(drawn: _Drawn, aim: float) -> float:
    low, high = drawn.ends
    if high <= low:
        return low

    def beyond(point: float) -> float:
        return float(special.ndtri(min(max(drawn.chance(point), 1e-300), 1 - 1e-16))) - aim

    return low if beyond(low) >= 0 else rising_root(beyond, low, high, 1e-10 * (high - low))


def _lower(bounds: MeanBounds) -> _Table:
    """The distribution of the lower bounds: what lies at or below m has the p of H0 that the mean is at most m."""
    low, high = bounds.ends(FARTHEST)
    return _table(bounds.p_above, low, high)


def _mirror(bounds: MeanBounds) -> _Table:
    """Return the distribution of the upper bounds with their sign turned."""
    low, high = bounds.ends(FARTHEST)
    return _table(lambda turned: bounds.p_below(-turned), -high, -low)


def _table(chance: Callable[[float], float], low: float, high: float) -> _Table:
    """Asked where its normal quantiles lie close together; what has no width is one point.

    Points beyond 7 standard deviations are left out but for the ends, where the distribution is taken to end.
    """
    if high <= low:
        return _at_one_point(low, abs(low))
    middle, half = (low + high) / 2, (high - low) / 2
    # Chebyshev's points: closer together towards the ends, where the quantiles change fastest.
    points = [middle - half * math.cos(math.pi * at / (FIRST - 1)) for at in range(FIRST)]
    known = {point: _normal(chance(point)) for point in points}
    for _ in range(ROUNDS):
        points = sorted(known)
        wide = [
            (left + right) / 2
            for left, right in itertools.pairwise(points)
            if _too_wide(known[left], known[right])
        ]
        if not wide:
            break
        known |= {point: _normal(chance(point)) for point in wide}
    points = sorted(known)
    # Chances come from searches and may fall by their last digits: a distribution does not.
    quantiles = np.maximum.accumulate([known[point] for point in points])
    # rounding, and chances beyond the floats, leave quantiles that do not rise
    rises = np.concatenate([[True], np.diff(quantiles) > 1e-9])
    if np.count_nonzero(rises) < 2:
        return _at_one_point(low if quantiles[0] > 0 else high, high - low)
    return _Table(np.array(points)[rises], quantiles[rises])


def _at_one_point(point: float, size: float) -> _Table:
    """Return all of the distribution, as far as rounding tells points of that size apart."""
    return _Table(np.array([point, point + max(1e-14 * size, 1e-300)]), np.array([-40.0, 40.0]))


def _too_wide(left: float, right: float) -> bool:
    nearest = 0.0 if left < 0 < right else min(abs(left), abs(right))
    return nearest < 7 and right - left > (CLOSE if nearest < FAR_OUT else COARSE)


def _normal(chance: float) -> float:
    return float(special.ndtri(min(max(chance, 1e-16), 1 - 1e-16)))
