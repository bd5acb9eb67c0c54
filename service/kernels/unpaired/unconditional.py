"""Exact unconditional tests of two independent shares: the largest chance, over all shares, of a table at least so far.

Tables are ordered by a statistic, and the p-value is the supremum over the share that H0 leaves open of the chance of
those at least as far as the observed one. By Fisher's p that is Boschloo's test; by the score statistic at a margin it
is the test of non-inferiority of Chan (1998). Both orders rise with the candidate's count and fall with the
baseline's, so the supremum lies where the true difference is the one that H0 ends at.

Sources: Boschloo (1970), Stat Neerl 24:1. Chan (1998), Stat Med 17:1403. Roehmel & Mansmann (1999), Biom J 41:149.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from service.kernels.numeric import binomial
from service.kernels.unpaired.score import scores

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TIED = 1e-7
"""Statistics this close, in relation to their size, are one: rounding does not tell tables apart."""
FINE, COARSE = 0.05, 0.02
"""Steps of the share's angle: that over sqrt n near 0 and 1, where the chance moves with single items, and this part of
the distance from them further in, where it is smooth."""
REFINED, GOLDEN = 3, 0.6180339887498949
"""How many of the highest points are refined."""
NARROW = 1e-7
"""A bracket this wide about a maximum leaves its height to the last digits."""


def fisher_p(right1: int, n1: int, right0: int, n0: int) -> float:
    """Return P(candidate's count >= right1) given the total: Fisher's one-sided p that the candidate is better.

    Summed from the observed table to that side. O(min(n1, total)).
    """
    total, n = right1 + right0, n1 + n0
    top = min(n1, total)
    k = np.arange(right1, top + 1)
    logs = binomial.log_choose(k, np.asarray(n1)) + binomial.log_choose(total - k, np.asarray(n0))
    return min(1.0, float(np.exp(logs - binomial.log_choose(np.asarray(total), np.asarray(n))).sum()))


def boschloo_p(right1: int, n1: int, right0: int, n0: int) -> float:
    """Return the one-sided p of H0: the candidate's share is at most the baseline's, tables ordered by Fisher's p."""
    p = fisher_p(right1, n1, right0, n0)
    if p >= 1:
        return 1.0
    return supremum(_least_by_fisher(n1, n0, p * (1 + TIED)), n1, n0, 0.0)


def margin_p(right1: int, n1: int, right0: int, n0: int, difference: float) -> float:
    """One-sided p of H0: the difference is at most `difference`, tables ordered by the score statistic there."""
    counts1 = np.arange(n1 + 1)
    observed = float(scores(np.array([right1]), n1, np.array([right0]), n0, difference)[0])
    bar = observed - TIED * max(abs(observed), 1.0)
    # by halving: the largest count of the baseline's, for each of the candidate's, whose statistic reaches the bar
    low, high = np.full(n1 + 1, -1), np.full(n1 + 1, n0)
    while np.any(low < high):
        middle = (low + high + 1) // 2
        reaches = scores(counts1, n1, np.maximum(middle, 0), n0, difference) >= bar
        low, high = np.where(reaches, middle, low), np.where(reaches, high, middle - 1)
    return supremum(np.maximum.accumulate(low), n1, n0, difference)


def supremum(most0: Ints, n1: int, n0: int, difference: float) -> float:
    """Return the largest chance, over shares that differ so, of a baseline's count at most `most0` (n1 + 1,).

    On a grid of angles that is as fine as the chance can move, then by golden section about the highest points.
    """
    least, most = max(0.0, -difference), min(1.0, 1.0 - difference)

    def chance(share0: float) -> float:
        low, high = binomial.window(n1, share0 + difference)
        counts = np.arange(low, high + 1)
        weights = binomial.pmf(counts, n1, min(max(share0 + difference, 0.0), 1.0))
        return float(weights @ binomial.cdf(most0[low : high + 1], n0, share0))

    if np.all(most0 < 0):
        return 0.0
    shares = _grid(least, most, max(n1, n0))
    chances = np.array([chance(share) for share in shares])
    highest = float(chances.max())
    for at in np.argsort(chances)[::-1][:REFINED]:
        a, b = shares[max(at - 1, 0)], shares[min(at + 1, len(shares) - 1)]
        while b - a > NARROW:
            # Golden section would keep one of the two values; asking for both is simpler, and the brackets are few.
            left, right = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
            f_left, f_right = chance(left), chance(right)
            a, b = (a, right) if f_left > f_right else (left, b)
            highest = max(highest, f_left, f_right)
    return min(highest, 1.0)


def _grid(least: float, most: float, n: int) -> Floats:
    """Shares between the ends, closer to each other the closer they are to 0 and 1."""
    angles, at = [0.0], 0.0
    while at < math.pi / 4:
        at += max(FINE / math.sqrt(n), COARSE * at)
        angles.append(at)
    near = np.sin(np.array(angles)) ** 2
    near = near[near <= 0.5]
    shares = np.concatenate([near, 1 - near, [least, most]])
    return np.unique(shares[(shares >= least) & (shares <= most)])


def _least_by_fisher(n1: int, n0: int, p: float) -> Ints:
    """For every count of the candidate's the largest of the baseline's with Fisher's p at most `p`; -1 for none.

    One walk along the border, in which the tail T(c | t) = P(count >= c given total t) follows from its neighbours:
    one more right item in the baseline adds what a draw more can add, one more in the candidate takes off what lies
    at c. O(n1 + n0).
    """
    n = n1 + n0
    least = np.full(n1 + 1, -1, dtype=np.int64)
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))]).tolist()
    constant = logs[n1] + logs[n0] - logs[n]

    def chance(c: int, t: int) -> float:
        """Return the chance of c right among the candidate's items, given t in all."""
        j = t - c
        if c < 0 or j < 0 or c > n1 or j > n0:
            return 0.0
        ways = logs[c] + logs[n1 - c] + logs[j] + logs[n0 - j]
        return math.exp(constant + logs[t] + logs[n - t] - ways)

    j, tail = -1, 0.0
    for c in range(n1 + 1):
        if j < 0:
            tail = chance(c, c)  # with none right in the baseline
            if tail > p:
                continue
            j = 0
        while j < n0:
            t = c + j
            more = tail + chance(c - 1, t) * (n1 - c + 1) / (n - t) if t < n else math.inf
            if more > p:
                break
            j, tail = j + 1, more
        least[c] = j
        if c < n1:
            t = c + j
            tail = max(tail - chance(c, t) * (n0 - j) / (n - t), 0.0)
    return least
