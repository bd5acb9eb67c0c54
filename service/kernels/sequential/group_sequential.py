"""Group-sequential designs: error spending, boundaries and exit probabilities by numerical integration.

At information fraction t the statistic Z has S = Z sqrt(t) = Brownian motion with drift `drift` per
unit of information, so that Z at the end (t = 1) has mean `drift`. The density of Z among the paths
that still continue is carried from look to look (Armitage, McPherson & Rowe 1969, JRSS A 132:235)
on Gauss-Legendre panels a few kernel widths long: probabilities are right to about 1e-12.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.numeric.roots import rising_root

Floats = NDArray[np.float64]
Boundary = Literal["obrien_fleming_spending", "pocock_spending", "obrien_fleming", "pocock"]

REACH = 12.0
"""Half width of the density that is kept around its mean, in standard deviations."""

LEAST_SPENT = 1e-30
"""A look that may spend less cannot stop: its boundary is infinite."""

_X, _W = np.polynomial.legendre.leggauss(16)


def spend(boundary: Boundary, t: float, alpha: float) -> float:
    """Return the one-sided error that may be spent up to information fraction t, of `alpha` in all.

    Source: Lan & DeMets (1983), Biometrika 70:659.
    """
    if t >= 1:
        return alpha
    if boundary == "obrien_fleming_spending":
        return 2 * float(special.ndtr(special.ndtri(alpha / 2) / math.sqrt(t)))
    return alpha * math.log1p((math.e - 1) * t)


def boundaries(boundary: Boundary, information: Sequence[float], alpha: float, *, both: bool) -> list[float]:
    """Return the critical values of Z at each look, `alpha` on the upper side; inf where a look cannot stop.

    `both`: the mirrored lower boundary stops too, so that a path leaves once only. The classic
    shapes spend all of alpha by the last look given; spending functions only what is due by then.
    """
    if boundary in ("obrien_fleming", "pocock"):
        return _classic(boundary, information, alpha, both=both)
    walk, bounds, before = Walk(), [], 0.0
    for position, t in enumerate(information):
        due = spend(boundary, t, alpha) - before
        before += due
        critical = walk.critical(t, due) if due > LEAST_SPENT else math.inf
        bounds.append(critical)
        if position + 1 < len(information):
            walk = walk.step(t, -critical if both else -math.inf, critical, information[position + 1])
    return bounds


def _classic(shape: Boundary, information: Sequence[float], alpha: float, *, both: bool) -> list[float]:
    """Constant c (Pocock 1977), or c / sqrt(t) (O'Brien & Fleming 1979), with alpha spent in all."""
    ends = np.sqrt(np.asarray(information) / information[-1])
    factors = np.ones(len(ends)) if shape == "pocock" else 1 / ends

    def unspent(c: float) -> float:
        high = list(c * factors)
        return alpha - sum(exits(information, [-x if both else -math.inf for x in high], high).up)

    lowest = -float(special.ndtri(alpha))
    highest = -float(special.ndtri(alpha / len(ends)))
    return [float(c) for c in rising_root(unspent, lowest - 1e-9, highest + 1e-9, 1e-11) * factors]


class Exits(NamedTuple):
    """Probabilities of leaving for the first time at each look, above and below."""

    up: list[float]
    down: list[float]


def exits(
    information: Sequence[float], low: Sequence[float], high: Sequence[float], drift: float = 0.0
) -> Exits:
    """Return the first-exit probabilities at every look."""
    walk, up, down = Walk(drift=drift), [], []
    for position, t in enumerate(information):
        up.append(walk.above(t, high[position]))
        down.append(walk.below(t, low[position]))
        if position + 1 < len(information):
            walk = walk.step(t, low[position], high[position], information[position + 1])
    return Exits(up, down)


class Walk:
    """The paths that continue after a look: masses at values of Z, information t, the drift."""

    def __init__(
        self, t: float = 0.0, z: Floats | None = None, mass: Floats | None = None, drift: float = 0.0
    ) -> None:
        """Before the first look: all mass at S = 0."""
        self.t, self.drift = t, drift
        self.s = math.sqrt(t) * z if z is not None else np.zeros(1)
        self.mass = mass if mass is not None else np.ones(1)

    def above(self, t: float, z: float) -> float:
        """Return P(continuing so far, and Z >= z at information t)."""
        if z == math.inf:
            return 0.0
        gap = (self.s + self.drift * (t - self.t) - z * math.sqrt(t)) / math.sqrt(t - self.t)
        return float(self.mass @ special.ndtr(gap))

    def below(self, t: float, z: float) -> float:
        """Return P(continuing so far, and Z <= z at information t)."""
        if z == -math.inf:
            return 0.0
        gap = (z * math.sqrt(t) - self.s - self.drift * (t - self.t)) / math.sqrt(t - self.t)
        return float(self.mass @ special.ndtr(gap))

    def critical(self, t: float, due: float) -> float:
        """Return the z with P(continuing, Z >= z) = due."""
        if self.t == 0:
            return -float(special.ndtri(due))
        target = math.log(due)

        def shortfall(z: float) -> float:
            return target - math.log(max(self.above(t, z), 1e-300))

        if shortfall(-REACH) >= 0:
            return -REACH
        return rising_root(shortfall, -REACH, 3 * REACH, 1e-12)

    def step(self, t: float, low: float, high: float, following: float) -> Walk:
        """Return the paths that stay strictly between low and high at information t; `following`: the next t."""
        mean = self.drift * math.sqrt(t)
        low, high = max(low, mean - REACH), min(high, mean + REACH)
        if low >= high:
            return Walk(t, np.zeros(1), np.zeros(1), self.drift)
        # the narrower of both kernels, from the last look to this one and on to the next, in units of Z
        width = math.sqrt(min(t - self.t, following - t) / t)
        panels = max(2, math.ceil((high - low) / (4 * min(width, 1.0))))
        edges = np.linspace(low, high, panels + 1)
        half = 0.5 * (edges[1] - edges[0])
        z = (0.5 * (edges[1:] + edges[:-1])[:, None] + half * _X).ravel()
        weights = np.tile(half * _W, panels)
        spread = math.sqrt(t - self.t)
        from_to = (z[:, None] * math.sqrt(t) - (self.s + self.drift * (t - self.t))[None, :]) / spread
        density = np.exp(-0.5 * from_to * from_to) @ self.mass
        density *= math.sqrt(t) / (spread * math.sqrt(2 * math.pi))
        return Walk(t, z, weights * density, self.drift)


def stagewise_tail(
    information: Sequence[float], low: Sequence[float], high: Sequence[float], z: float, drift: float
) -> tuple[float, float]:
    """Return P(at least as high) and P(at least as low) as `z` at the last look, in the stage-wise ordering.

    Leaving above earlier is higher, leaving below earlier is lower; `low` and `high` bound the looks
    before the last. Source: Tsiatis, Rosner & Mehta (1984), Biometrics 40:797.
    """
    walk, above, below = Walk(drift=drift), 0.0, 0.0
    for position, t in enumerate(information[:-1]):
        above += walk.above(t, high[position])
        below += walk.below(t, low[position])
        walk = walk.step(t, low[position], high[position], information[position + 1])
    last = information[-1]
    return above + walk.above(last, z), below + walk.below(last, z)


def stagewise_drift(
    information: Sequence[float], low: Sequence[float], high: Sequence[float], z: float, tail: float
) -> float:
    """Return the drift at which P(at least as high as observed) is `tail`: a confidence limit, or the median."""

    def excess(drift: float) -> float:
        above, below = stagewise_tail(information, low, high, z, drift)
        # both tails add up to 1: the smaller one carries the digits
        return above - tail if tail <= 0.5 else 1 - tail - below

    scale = 1 / math.sqrt(information[-1])
    centre = z * scale + float(special.ndtri(tail)) * scale
    bottom, top = centre - scale, centre + scale
    while excess(bottom) > 0:
        bottom -= 2 * (top - bottom)
    while excess(top) < 0:
        top += 2 * (top - bottom)
    return rising_root(excess, bottom, top, 1e-10)
