"""Sign flips of more clusters than can be counted: their tail by a saddlepoint, and the interval it leaves.

The chance that a sum of +-z reaches the observed one, z = d - D n for a difference D, by Lugannani & Rice (1980, Adv
Appl Probab 12:475): near .025 within a tenth of the exact share of sign patterns from 28 clusters on.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.numeric.roots import rising_root

Floats = NDArray[np.float64]

NEAR = 1e-3
"""Of the signed root, below which its correction is taken at its limit: the observed sum is about 0."""


def tail_of_many(sums: Floats, sizes: Floats, difference: float) -> float:
    """Return the one-sided p of H0: the difference is at most `difference`, of `sums` (G,) over `sizes` (G,). O(G)."""
    z = sums - difference * sizes
    observed, most = float(z.sum()), float(np.abs(z).sum())
    if observed < 0:
        return 1.0 - tail_of_many(-sums, sizes, -difference)
    # Only the signs as they are make the sum as large as the sum of sizes: one pattern of 2^m.
    least = math.ldexp(1.0, -int(np.count_nonzero(z)))
    if observed >= most * (1 - 1e-12):
        return least
    z = z / float(np.abs(z).max())
    total = float(z.sum())
    if total <= 1e-12 * len(z):
        return 0.5
    # The saddle point s solves K'(s) = sum z tanh(s z) = S, where K(s) = sum log cosh(s z).
    top = 1.0
    while float(z @ np.tanh(top * z)) < total:
        top *= 2
    s = rising_root(lambda at: float(z @ np.tanh(at * z)) - total, 0.0, top, 1e-13 * top)
    steep = np.abs(s * z)
    # log cosh x = |x| + log(1 + exp(-2 |x|)) - log 2, which does not overflow.
    logs = float((steep + np.log1p(np.exp(-2 * steep)) - math.log(2)).sum())
    curve = float((z**2 * (1 - np.tanh(steep) ** 2)).sum())
    root = math.sqrt(max(2 * (s * total - logs), 0.0))
    if root < NEAR:
        return 0.5
    # P(S* >= S) = Phi(-r) + phi(r) (1 / u - 1 / r) with r^2 / 2 = s S - K(s) and u = s sqrt(K''(s)).
    p = float(special.ndtr(-root))
    p += math.exp(-root * root / 2) / math.sqrt(2 * math.pi) * (1 / (s * math.sqrt(curve)) - 1 / root)
    return min(max(p, least), 1.0)


def low_of_many(sums: Floats, sizes: Floats, tail: float) -> float:
    """Return the greatest difference that the one-sided test at level `tail` rejects: the interval's low end."""
    low, high = float((sums / sizes).min()), float(sums.sum() / sizes.sum())
    if low >= high or tail_of_many(sums, sizes, low) > tail:
        return low
    return rising_root(lambda d: tail_of_many(sums, sizes, d) - tail, low, high, 1e-12 * (high - low))
