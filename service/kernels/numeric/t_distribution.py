"""Student's t, central and noncentral. Tails are computed as tails: no 1 - cdf, so no false zero."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.numeric.roots import rising_root

Alternative = Literal["two-sided", "greater", "less"]

_PIECES = 4
"""Of the range of an integral, with a rule of 64 nodes each: 1e-12 of a smooth integrand."""

NORMAL_PART_LOST = 1e8
"""Beyond this |t| only the chi-square part of T is left in a float."""


def t_tail(t: float, df: float, alternative: Alternative = "two-sided") -> float:
    """P-value of a t statistic: the probability of a value at least that far in the alternative."""
    if alternative == "two-sided":
        return min(1.0, 2 * float(special.stdtr(df, -abs(t))))
    return float(special.stdtr(df, -t if alternative == "greater" else t))


def t_quantile(q: float, df: float) -> float:
    """Return the q-quantile of Student's t."""
    return float(special.stdtrit(df, q))


def to_normal(t: NDArray[np.floating[Any]], df: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """|t| with `df` degrees of freedom on the scale of the normal law, to a few thousandths (Wallace 1959)."""
    with np.errstate(over="ignore"):
        return np.asarray((8 * df + 1) / (8 * df + 3) * np.sqrt(df * np.log1p(t**2 / df)))


def noncentral_t_cdf(t: float, df: float, nc: float) -> float:
    """P(T <= t) for T = (Z + nc) / sqrt(V / df), V chi-square on df. Absolute error about 1e-12 (1e-9 below 2 df).

    Integrated over V while the normal part is the smoother factor, otherwise over Z: one of
    the two is smooth for every t and df, also where series expansions take seconds.
    """
    if t < 0:
        return 1.0 - noncentral_t_cdf(-t, df, -nc)
    if t == 0:
        return float(special.ndtr(-nc))
    integrate = _over_normal if t > math.sqrt(2 * df) else _over_chi
    return float(integrate(np.array([[t]]), df, nc)[0])


def noncentral_t_sf(t: float, df: float, nc: float) -> float:
    """Return P(T > t) of the same T: turned around, it has the noncentrality -nc."""
    return noncentral_t_cdf(-t, df, -nc)


def noncentral_t_beyond(t: NDArray[np.float64], df: float, nc: float) -> NDArray[np.float64]:
    """Return P(T > t) for t above 0, shape (k,); integrated as in `noncentral_t_cdf`."""
    beyond = np.empty_like(t)
    sharp = t > math.sqrt(2 * df)
    beyond[sharp] = 1 - _over_normal(t[sharp, None], df, nc)
    beyond[~sharp] = 1 - _over_chi(t[~sharp, None], df, nc)
    return beyond


def noncentrality_interval(t: float, df: float, level: float) -> tuple[float, float]:
    """Noncentralities at which the observed t lies at the upper and lower (1 - level) / 2 point."""
    tail = (1 - level) / 2
    if abs(t) > NORMAL_PART_LOST:
        shares = special.chdtri(df, [1 - tail, tail]) / df  # V at its lower and upper end
        low, high = (float(x) for x in abs(t) * np.sqrt(shares))
        return (low, high) if t > 0 else (-high, -low)
    # T / nc spreads like 1 / sqrt(2 df) around 1: a first width, doubled until it brackets
    width = 4 + 4 * abs(t) / math.sqrt(2 * df)

    def solve(target: float, direction: int) -> float:
        @cache  # ends of the bracket are asked for again
        def gap(nc: float) -> float:
            return target - noncentral_t_cdf(t, df, nc)

        near, far = t, t + direction * width
        while gap(far) * direction < 0:
            near, far = far, far + direction * 2 * abs(far - t)
        low, high = (near, far) if near < far else (far, near)
        if gap(low) > 0 or gap(high) < 0:  # t itself lies beyond this end: a skewed T on few df
            low, high = (t - width * 4, t + width * 4)
        return rising_root(gap, low, high, 1e-12 * max(1.0, abs(t)))

    return solve(1 - tail, -1), solve(tail, +1)


def _over_chi(t: NDArray[np.float64], df: float, nc: float) -> NDArray[np.float64]:
    """Integral over u = sqrt(V / df) of Phi(t u - nc) times its density; t of shape (k, 1), answer (k,)."""
    half = df / 2
    spread = 1 / math.sqrt(2 * df)
    centre = math.sqrt(max(df - 1, 0) / df)
    high = centre + 9.5 * spread + (2 / df if df < 30 else 0)
    # u = v^4: below 2 df the density is not smooth at 0, in v it is smooth enough
    v, w = _grid(max(0.0, centre - 9.5 * spread) ** 0.25, high**0.25)
    u = v**4
    log_density = special.xlogy(4 * df - 1, v) - half * u * u
    # normalised by its own integral: gamma functions of huge df would cost ten digits
    density = w * np.exp(log_density - np.max(log_density))
    return np.clip(special.ndtr(t * u - nc) @ density / np.sum(density), 0.0, 1.0)


def _over_normal(t: NDArray[np.float64], df: float, nc: float) -> NDArray[np.float64]:
    """Integral over z of phi(z) P(V / df >= ((z + nc) / t)^2); the probability is 1 where z + nc <= 0."""
    # beyond 9.5 SDs lies less than 2e-21 of a normal law
    z, w = _grid(max(-9.5, -nc), 9.5) if nc > -9.5 else (np.empty(0), np.empty(0))
    with np.errstate(over="ignore"):
        squares = ((z + nc) / t) ** 2
    reached = _above(df / 2, df / 2 * squares)
    inside = reached @ (w * np.exp(-z * z / 2)) / math.sqrt(2 * math.pi)
    return np.minimum(1.0, inside + special.ndtr(-nc))


def _above(shape: float, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(G > x) of a gamma variable, absolute error about 1e-15.

    Below shape 1 scipy sums 2,000 terms for every x between .5 and 1.1; one step of the recurrence leads around it.
    """
    if shape >= 1:
        return np.asarray(special.gammaincc(shape, x), dtype=np.float64)
    x = np.minimum(x, 1000.0)
    step = np.exp(special.xlogy(shape, x) - x) / special.gamma(shape + 1)
    return np.maximum(np.asarray(special.gammaincc(shape + 1, x)) - step, 0.0)


@cache
def _gauss_legendre() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """64 nodes and weights on [-1, 1]. Made when they are asked for: finding them loads numpy's polynomials."""
    return np.polynomial.legendre.leggauss(64)


def _grid(low: float, high: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Gauss-Legendre nodes and weights on [low, high], in equal pieces."""
    if high <= low:
        return np.empty(0), np.empty(0)
    ends = np.linspace(low, high, _PIECES + 1)
    half = (ends[1:] - ends[:-1])[:, None] / 2
    middle = (ends[1:] + ends[:-1])[:, None] / 2
    nodes, weights = _gauss_legendre()
    return (middle + half * nodes).ravel(), (half * weights).ravel()
