"""Agreement of two sets of findings: posteriors, Fisher pooling, concordance. Arrays in, floats out."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

CLAMP = 1e-6
"""Correlations are kept this far from -1 and 1 before Fisher's transform."""
NEUTRAL = 1e-8
"""A ceiling correlation below this says that the human evidence is neutral."""
SURE_DIRECTION = 0.9999
"""Share of an effect's posterior that the three-state model gives to the observed direction."""

Array = NDArray[np.float64]


def posterior(log_bf10: float, prior_odds: float) -> float:
    """Return P(H1 | data) = BF odds / (1 + BF odds); an infinite Bayes factor gives 1."""
    return float(special.expit(log_bf10 + math.log(prior_odds)))


def three_states(probability: float, direction: int) -> Array:
    """Posterior of a positive, a negative and no effect, shape (3,); direction 0 is unknown."""
    positive = {1: SURE_DIRECTION, 0: 0.5, -1: 1 - SURE_DIRECTION}[direction]
    return np.array([probability * positive, probability * (1 - positive), 1 - probability])


def same_state(human: float, agent: float) -> float:
    """Return the probability that two posteriors describe the same state, effect or none."""
    return human * agent + (1 - human) * (1 - agent)


class Pooled(NamedTuple):
    """A pooled value, how many went into it, and the fallback that was needed, if any."""

    value: float | None
    used: int
    fallback: str | None


def pool_correlations(r: Array, weights: Array | None = None) -> Pooled:
    """Weighted mean on Fisher's z scale, back on the correlation scale; r of shape (K,), NaN skipped.

    Without weights, or when they do not sum to more than 0, the plain mean of z.
    """
    usable = ~np.isnan(r)
    if not usable.any():
        return Pooled(None, 0, "no value could be used")
    z = np.arctanh(np.clip(r[usable], CLAMP - 1, 1 - CLAMP))
    fallback = None
    shares = np.full(len(z), 1 / len(z))
    if weights is not None:
        total = float(weights[usable].sum())
        if total > 0:
            shares = weights[usable] / total
        else:
            fallback = "the weights sum to 0: unweighted"
    return Pooled(math.tanh(float(shares @ z)), len(z), fallback)


class Concordance(NamedTuple):
    """Weighted moments of pairs and what follows from them; None where undefined."""

    mean_x: float
    mean_y: float
    sd_x: float
    sd_y: float
    ccc: float | None
    pearson: float | None
    slope: float | None
    intercept: float | None
    shift: float
    """Share of the denominator of ccc that is the squared mean difference."""


def concordance(x: Array, y: Array, weights: Array, *, sums: bool = False) -> Concordance:
    """Return Lin's concordance, Pearson correlation and the regression of y on x; arrays of shape (n,).

    Moments are divided by the total weight. `sums` leaves variances and covariance undivided,
    as one printed formula does: that concordance changes with the scale of the weights.
    Two equal constants have none (0 / 0); two different ones have 0.

    Source: Lin (1989), Biometrics 45:255.
    """
    total = float(weights.sum())
    shares = weights / total
    kept = shares > 0
    x, y, shares = x[kept], y[kept], shares[kept]
    # each column in its own unit, or the smaller one's squares would underflow
    unit_x, unit_y = (float(np.abs(column).max()) or 1.0 for column in (x, y))
    equal = np.array_equal(x, y)
    x, y = x / unit_x, y / unit_y
    mean_x, mean_y = float(shares @ x), float(shares @ y)
    # a constant column must have a variance of exactly 0, whatever its mean rounds to
    dx = x - mean_x if np.ptp(x) > 0 else np.zeros_like(x)
    dy = y - mean_y if np.ptp(y) > 0 else np.zeros_like(y)
    sd_x, sd_y = _root_mean_square(dx, shares), _root_mean_square(dy, shares)
    pearson = _unit(float(shares @ ((dx / sd_x) * (dy / sd_y)))) if sd_x > 0 and sd_y > 0 else None
    # ccc compares the means of both columns, so that they need one unit: the larger, in which no square overflows
    unit = max(unit_x, unit_y)
    in_x, in_y = unit_x / unit, unit_y / unit
    gap = 0.0 if equal else mean_x * in_x - mean_y * in_y
    factor = total if sums else 1.0
    spread_x, spread_y = sd_x * in_x, sd_y * in_y
    bottom = factor * (spread_x**2 + spread_y**2) + gap**2
    slope = None if sd_x == 0 else (pearson or 0.0) * sd_y / sd_x * (unit_y / unit_x)
    intercept = None if slope is None else mean_y * unit_y - slope * unit_x * mean_x
    if slope is None or intercept is None or not math.isfinite(slope) or not math.isfinite(intercept):
        slope = intercept = None
    return Concordance(
        mean_x=mean_x * unit_x,
        mean_y=mean_y * unit_y,
        sd_x=sd_x * unit_x,
        sd_y=sd_y * unit_y,
        ccc=_unit(2 * factor * (pearson or 0.0) * spread_x * spread_y / bottom) if bottom > 0 else None,
        pearson=pearson,
        slope=slope,
        intercept=intercept,
        shift=gap**2 / bottom if bottom > 0 else 0.0,
    )


def concordance_interval(concordance: Concordance, n: int, z: float) -> tuple[float, float] | None:
    """Return Lin's interval on Fisher's scale for n equally weighted pairs; None where it is undefined.

    Source: Lin (1989) with the correction of Biometrics (2000) 56:324.
    """
    rho, r = concordance.ccc, concordance.pearson
    if rho is None or r is None or r == 0 or n < 3 or abs(rho) >= 1:
        return None
    # With u^2 = gap^2 / (sd_x sd_y), the squared shift in SDs, Z = atanh(rho) has the variance
    #   [(1 - r^2) rho^2 / ((1 - rho^2) r^2) + 2 rho^3 (1 - rho) u^2 / (r (1 - rho^2)^2)
    #    - rho^4 u^4 / (2 r^2 (1 - rho^2)^2)] / (n - 2).
    # It is written in rho u^2, which is 2 r times `shift`, and rho / r: both are finite where u is not.
    moved, ratio = 2 * r * concordance.shift, rho / r
    rest = 1 - rho * rho
    variance = (
        (1 - r * r) * ratio**2 / rest
        + 2 * ratio * rho * (1 - rho) * moved / rest**2
        - (ratio * moved) ** 2 / (2 * rest**2)
    ) / (n - 2)
    half = z * math.sqrt(max(variance, 0.0))
    centre = math.atanh(rho)
    return math.tanh(centre - half), math.tanh(centre + half)


def strict_agreement(z: Array) -> tuple[float, float, float]:
    """Return (root mean square of z, 2 sf of it, chi-square(K) tail of its sum of squares); z of shape (K,)."""
    scale = float(np.abs(z).max()) or 1.0
    mean_square = float(np.mean((z / scale) ** 2))
    rms = scale * math.sqrt(mean_square)
    squares = len(z) * rms * min(rms, 1e100)  # beyond 1e100 every tail is 0
    return rms, 2 * float(special.ndtr(-rms)), float(special.chdtrc(len(z), squares))


def _root_mean_square(deviations: Array, shares: Array) -> float:
    largest = float(np.abs(deviations).max())
    return largest * math.sqrt(float(shares @ (deviations / largest) ** 2)) if largest else 0.0


def _unit(value: float) -> float:
    return min(max(value, -1.0), 1.0)
