"""Bounds of a mean that know what was not seen: Gaffke's, from the values and the limit that no value passes.

The lower bound of the mean of n independent values, none below L, is the alpha-quantile of the sum of w_i x_i + w_0 L,
weights Dirichlet(1, ..., 1) over the values and one more at L: of 0 and 1 it is Clopper and Pearson's. It depends on
no order and on no shape, and it is right at every n: Vlassis & Thomas (2026, arXiv:2607.08415) prove what Gaffke (2005,
Math Methods Statist 14:451) conjectured and Learned-Miller & Thomas (2019, arXiv:1905.06208) tried numerically.

With weights as exponentials over their sum, the quantile solves P(sum of E_i (x_i - m) + E_0 (L - m) <= 0) = alpha.
Here every value may have a shape of its own, a gamma variable instead of an exponential one: equal values together,
or items that count for less than one. And it may be a block of `size` items with that sum.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.numeric.roots import rising_root

Floats = NDArray[np.float64]

CELLS = 2048
"""Values above which they are spread over a grid of so many."""
STEP, AT_ONCE, MOST_NODES = 0.5, 8, 4096
"""The trapezoidal rule's first step, nodes that are asked for together, and the most in all."""

CLOSE = 1e-10
"""Relative difference of two rules at which the integral is taken."""
ENDED = 1e-16
"""A node below this share of the sum ends it: the integrand falls faster than exponentially in u."""

TINY = 1e-300
"""Stands for a chance of 0, whose normal quantile is infinite."""


def lower_end(
    sums: Floats, sizes: Floats, shapes: Floats, limit: float, unseen: float, alpha: float
) -> float:
    """Return the lower bound at level `alpha` of the mean per item of blocks (n,), no item of which is below `limit`.

    `sums` and `sizes` of the blocks, the `shapes` of their weights; the block that was not seen has `unseen` items.
    """
    top = float((sums / sizes).max())
    if top <= limit:
        return limit
    aim = float(special.ndtri(alpha))

    def beyond(mean: float) -> float:
        p = chance_below(sums, sizes, shapes, limit, unseen, mean)
        return float(special.ndtri(min(max(p, TINY), 1 - 1e-16))) - aim

    return rising_root(beyond, limit, top, 1e-13 * (top - limit))


def chance_below(
    sums: Floats, sizes: Floats, shapes: Floats, limit: float, unseen: float, mean: float
) -> float:
    """Return the chance that the weighted mean lies at or below `mean`: the p-value of H0 that the true one does."""
    away = np.append(sums - mean * sizes, unseen * (limit - mean))
    return chance_below_zero(away, np.append(shapes, 1.0))


def chance_below_zero(values: Floats, shapes: Floats) -> float:
    """Return P(sum of G_j c_j <= 0) for values c (n,) and independent gamma variables G with these shapes (n,).

    The moment generating function is inverted along the line through the saddle point, by a trapezoidal rule in
    u of s = saddle + i width sinh(u), whose error falls like exp(-10 / step): halved until two rules agree to
    1e-10 of the chance. More than 2048 values are spread over a grid, each between its neighbours so that no mean
    changes: that adds at most a quarter of a squared step to the variance of a value.
    """
    scale = float(np.abs(values).max(initial=0.0))
    if scale == 0.0:
        return 1.0
    c, k = spread_over_grid(values / scale, shapes)
    least, most = float(c.min()), float(c.max())
    if least >= 0:
        return 0.0
    if most <= 0:
        return 1.0
    saddle = _saddle(c, k, 1 / least)
    # Near the saddle the integrand is a bell: the second derivative of its logarithm gives the width.
    width = 1 / math.sqrt(float(k @ (c / (1 - saddle * c)) ** 2) + 1 / saddle**2)
    step = STEP
    total = 0.5 * float(_integrand(c, k, saddle, width, np.zeros(1))[0][0])
    total += _sum_up(c, k, saddle, width, step, step)
    while True:
        finer = total + _sum_up(c, k, saddle, width, step / 2, step)
        # the sums stand at steps of which the second has half the length
        before, after = total * step, finer * step / 2
        if abs(after - before) <= CLOSE * abs(after) or step < STEP / 32:
            return min(max(after / math.pi, 0.0), 1.0)
        total, step = finer, step / 2


def spread_over_grid(c: Floats, k: Floats, cells: int = CELLS) -> tuple[Floats, Floats]:
    """Return the values with their shapes, over a grid where there are more than `cells`; their mean stays."""
    if len(c) <= cells:
        return c, k
    low, high = float(c.min()), float(c.max())
    place = (c - low) / (high - low) * (cells - 1) if high > low else np.zeros(len(c))
    # A value between two cells gives each the share that the other is away: their mean is the value.
    left = np.minimum(place.astype(np.int64), cells - 2)
    right = place - left
    weights: Floats = np.bincount(left, k * (1 - right), cells).astype(np.float64)
    weights += np.bincount(left + 1, k * right, cells)
    kept = weights > 0
    return np.linspace(low, high, cells)[kept], weights[kept]


def _saddle(c: Floats, k: Floats, left: float) -> float:
    """Return where the integrand on the real axis between `left` and 0 is least; its logarithm is convex."""
    low, high, at = left, 0.0, left / 2
    for _ in range(100):
        # Newton's step on the logarithm -k @ log(1 - s c) - log(-s), halving where it leaves the bracket.
        share = c / (1 - at * c)
        slope = float(k @ share) - 1 / at
        low, high = (low, at) if slope > 0 else (at, high)
        new = at - slope / (float(k @ share**2) + 1 / at**2)
        if not low < new < high:
            new = (low + high) / 2
        if abs(new - at) <= 1e-4 * min(at - left, -at):
            return new
        at = new
    return at


def _sum_up(c: Floats, k: Floats, saddle: float, width: float, first: float, step: float) -> float:
    """Return the integrand's real part at first, first + step, ... until it has ended."""
    total, at = 0.0, 0
    while at < MOST_NODES:
        u = first + step * np.arange(at, at + AT_ONCE, dtype=np.float64)
        size, turn = _integrand(c, k, saddle, width, u)
        total += float(size @ np.cos(turn))
        if size[-1] <= ENDED * max(abs(total), TINY):
            break
        at += AT_ONCE
    return total


def _integrand(c: Floats, k: Floats, saddle: float, width: float, u: Floats) -> tuple[Floats, Floats]:
    """Size and angle at nodes (m,) of the product of (1 - s c)^-k over -s, times ds / du over i. O(m n)."""
    # s = saddle + i high; the size is a sum of logarithms, since products of so many factors leave the floats
    high = width * np.sinh(u)
    across, up = 1 - saddle * c, np.multiply.outer(high, c)
    size = -0.5 * (np.log(across**2 + up**2) @ k) - 0.5 * np.log(saddle**2 + high**2)
    turn = np.arctan2(up, across) @ k + np.arctan2(high, -saddle)
    return np.exp(size) * width * np.cosh(u), turn
