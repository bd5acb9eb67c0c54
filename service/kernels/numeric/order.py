"""Orders of items: permutations from a seed, completion of clusters, and whether an order is sorted."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.numeric.binomial import log_choose

Codes = NDArray[np.int64]

MOST_CODES = 12
"""The most frequent codes whose runs are counted; p is multiplied by their number (Bonferroni)."""


def permutation(n: int, seed: int) -> Codes:
    """Return the permutation of 0 .. n - 1 that belongs to the seed: numpy's PCG64, Generator.permutation."""
    return np.random.Generator(np.random.PCG64(seed)).permutation(n).astype(np.int64)


def completion_order(codes: Codes) -> Codes:
    """Clusters by the position of their last item; `codes` (n,) number clusters 0 .. G - 1."""
    last = np.zeros(int(codes.max()) + 1, dtype=np.int64)
    last[codes] = np.arange(len(codes))
    return np.argsort(last, kind="stable").astype(np.int64)


def sorted_p(codes: Codes) -> float:
    """Return a bound on the probability that a random order has equal `codes` (n,) as close together as these.

    The smaller of two, doubled: for each of the most frequent codes the exact number of runs against
    all others; and the number of equal neighbours as a Poisson count, which serves many small groups.
    """
    counts = np.bincount(codes)
    n = len(codes)
    common = np.argsort(-counts, kind="stable")[:MOST_CODES]
    common = common[(counts[common] > 1) & (counts[common] < n)]
    if len(common) == 0:
        return 1.0
    blocks = min(few_runs_p(codes == code) for code in common.tolist())
    # Each of n - 1 gaps has equal neighbours with chance sum c (c - 1) / (n (n - 1)).
    expected = float((counts * (counts - 1.0)).sum()) / n
    ties = int(np.count_nonzero(codes[1:] == codes[:-1]))
    # P(Poisson(expected) >= ties) is the regularized incomplete gamma function.
    neighbours = float(special.gammainc(ties, expected)) if ties else 1.0
    return min(1.0, 2 * min(len(common) * blocks, neighbours))


def few_runs_p(inside: NDArray[np.bool_]) -> float:
    """Return P(at most as many runs) when the True and False of `inside` (n,) are in random order.

    Source: Wald & Wolfowitz (1940), Ann Math Stat 11:147.
    """
    ones, zeros = int(np.count_nonzero(inside)), int(np.count_nonzero(~inside))
    if min(ones, zeros) == 0:
        return 1.0
    runs = 1 + int(np.count_nonzero(inside[1:] != inside[:-1]))
    k = np.arange(2, runs + 1)
    # Of k = 2 h runs each kind has h, in C(m - 1, h - 1) ways; of 2 h + 1 one kind has h + 1.
    half = k // 2
    with np.errstate(divide="ignore"):
        even = math.log(2) + _log_choose(ones - 1, half - 1) + _log_choose(zeros - 1, half - 1)
        odd = np.logaddexp(
            _log_choose(ones - 1, half) + _log_choose(zeros - 1, half - 1),
            _log_choose(ones - 1, half - 1) + _log_choose(zeros - 1, half),
        )
    terms = np.where(k % 2 == 0, even, odd) - _log_choose(ones + zeros, np.array([ones]))
    return min(1.0, float(np.exp(special.logsumexp(terms))))


def _log_choose(n: int, k: NDArray[np.int64]) -> NDArray[np.float64]:
    """Log of n over k; -inf where k > n."""
    inside = k <= n
    safe = np.where(inside, k, 0)
    return np.where(inside, log_choose(safe, np.asarray(n)), -np.inf)
