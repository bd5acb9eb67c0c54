"""Power of the equivalence test of binary pairs, as the test is applied: score tests, exact where sparse."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.numeric import binomial
from service.kernels.pairs import tango
from service.kernels.pairs.paired_exact import SPARSE, exact_p_below

TIE = 1e-9
"""An interval end this close to the margin touches it."""

SHORT = 0.8
"""A quick look at the exact p does not fall shorter of it than by this factor."""


def tango_power(
    n: int, p_only_baseline: float, p_only_candidate: float, alpha: float, margin: float,
    *, target: float | None = None,
) -> float:  # fmt: skip
    """Chance that a difference of -margin and one of +margin are both rejected, for n items.

    With fewer than 10 discordant items each one-sided p is the larger of the score test's and the exact one.
    `target`: where a bound of the power already lies on one side of it, that bound is returned.
    """
    discordant = p_only_baseline + p_only_candidate
    low, high = binomial.window(n, discordant)
    m = np.arange(low, high + 1)
    z = -float(special.ndtri(alpha))

    def equivalent(b: NDArray[np.int64]) -> NDArray[np.bool_]:
        c, bound = m - b, margin - TIE
        return (tango.scores(b, c, n, -bound) > z) & (tango.scores(b, c, n, bound) < -z)

    # for given m the region is an interval of b around m / 2: find its upper end, mirror it
    inside, outside = (m + 1) // 2, m + 1
    possible = equivalent(inside)
    while np.any(outside - inside > 1):
        middle = (inside + outside) // 2
        ok = equivalent(middle)
        inside, outside = np.where(ok, middle, inside), np.where(ok, outside, middle)
    share = p_only_candidate / discordant if discordant else 0.5
    weight = np.where(possible, binomial.pmf(m, n, discordant), 0.0)
    accepted = weight * (binomial.cdf(inside, m, share) - binomial.cdf(m - inside - 1, m, share))
    many, few = float(accepted[m >= SPARSE].sum()), float(accepted[m < SPARSE].sum())
    if few < 1e-14 or (target is not None and (many >= target or many + few < target)):
        return many if target is not None and many >= target else min(many + few, 1.0)
    b, c = np.nonzero(sparse_region(n, alpha, margin))
    there = (b + c >= low) & (b + c <= high)
    b, c = b[there], c[there]
    place = b + c - low
    won = binomial.pmf(b, b + c, share)
    scored = (b <= inside[place]) & (c <= inside[place])
    return min(many + float((scored * weight[place]) @ won), 1.0)


@lru_cache(maxsize=1024)
def sparse_region(n: int, alpha: float, margin: float) -> NDArray[np.bool_]:
    """Tell which (b, c) of fewer than 10 discordant items have both exact p below alpha: (10, 10), symmetric."""
    b, c = np.divmod(np.arange(SPARSE * SPARSE), SPARSE)
    order = np.argsort(tango.scores(b, c, n, margin), kind="stable")
    order = order[(b + c)[order] < min(SPARSE, n + 1)]
    # the exact p rises with the score: find how many tables reject
    rejecting, most = 0, len(order)
    while rejecting < most:
        middle = (rejecting + most) // 2
        if _below(int(b[order[middle]]), int(c[order[middle]]), n, margin, alpha):
            rejecting = middle + 1
        else:
            most = middle
    region = np.zeros(SPARSE * SPARSE, dtype=np.bool_)
    region[order[:rejecting]] = True
    square = region.reshape(SPARSE, SPARSE)
    both: NDArray[np.bool_] = square & square.T
    both.flags.writeable = False
    return both


def _below(b: int, c: int, n: int, margin: float, alpha: float) -> bool:
    """Tell whether the exact p is below alpha; looked at closely only where a quick look does not tell."""
    quick = exact_p_below(b, c, n, margin, coarse=True)
    return quick < SHORT * alpha or (quick < alpha and exact_p_below(b, c, n, margin) < alpha)
