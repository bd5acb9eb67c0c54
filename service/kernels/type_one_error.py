"""How often a test rejects when the caller's own data are split or flipped at random."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels import lattice, ranks
from service.kernels.moments import EPS
from service.kernels.sign_flip import sign_flip

SplitTest = Literal["welch", "student", "mann-whitney", "bootstrap-percentile", "bootstrap-basic"]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ENUMERATED_UP_TO = 200_000
"""Most splits that are all listed."""

FLIPS_LISTED = 20
BLOCK = 1_000
"""Draws per generator; part of the method's version."""


@dataclass(frozen=True, slots=True)
class Rejections:
    """Share of splits or flips that reject; how many were looked at (None: convolved) and how many of
    them leave the test undefined."""

    rate: float
    n_looked_at: int | None
    n_undefined: int
    enumerated: bool


def every_split_count(runs: int, n: int) -> int:
    """Ways to draw two halves of n from the runs, up to swapping the halves."""
    return math.comb(runs, 2 * n) * math.comb(2 * n - 1, n)


def splits_looked_at(runs: int, n: int, test: str, n_splits: int) -> int:
    """All splits when few, else `n_splits` draws. A bootstrap within each split is dear: few is fewer there."""
    few = n_splits if test.startswith("bootstrap") else ENUMERATED_UP_TO
    return every_split_count(runs, n) if every_split_count(runs, n) <= few else n_splits


def split_rejections(
    values: Floats, n: int, test: SplitTest, alpha: float, n_splits: int, n_resamples: int, seed: int
) -> Rejections:
    """Draw 2n of the runs without replacement, halve them, test the halves two-sided.

    All splits when at most `ENUMERATED_UP_TO`, up to swapping the halves, which no two-sided
    test sees. Memory: one block of splits, times `n_resamples` for the bootstrap.
    """
    # a power of two changes no comparison, and keeps squares within range
    values = np.ldexp(values, -int(np.frexp(np.abs(values).max())[1]))
    enumerated = every_split_count(values.size, n) == splits_looked_at(values.size, n, test, n_splits)
    blocks = _every_split(values.size, n) if enumerated else _drawn_splits(values.size, n, n_splits, seed)
    reject = _tester(test, n, alpha, n_resamples, seed)
    rejected = undefined = looked_at = 0
    for block in blocks:
        first, second = values[block[:, :n]], values[block[:, n:]]
        verdict, known = reject(first, second)
        rejected += int((verdict & known).sum())
        undefined += int((~known).sum())
        looked_at += len(block)
    return Rejections(rejected / looked_at, looked_at, undefined, enumerated)


def flip_rejections(weights: Floats, critical: float, n_flips: int, seed: int) -> Rejections:
    """P(|sum of +-weights| >= critical): exact on a lattice or for few weights, else drawn.

    `weights` (G,): what each item or cluster adds to a statistic that changes sign with it.
    """
    weights = weights[weights != 0]
    slack = 1e-10 * float(np.abs(weights).sum())
    if not weights.size:
        return Rejections(float(critical <= 0), None, 0, True)
    grid = lattice.integer_grid(weights)
    if grid is not None:
        multiples, unit = grid
        groups = lattice.signed(multiples)
        try:
            near = lattice.distribution(groups)
        except lattice.WindowTooLong:
            pass
        else:
            least = math.ceil(critical / unit - 1e-7)
            rate = 1.0 if least <= 0 else 2 * lattice.at_least(groups, near, least)
            return Rejections(min(1.0, rate), None, 0, True)
    if weights.size <= FLIPS_LISTED:
        sums = np.zeros(1)
        for weight in weights:
            sums = np.concatenate([sums - weight, sums + weight])
        return Rejections(float(np.mean(np.abs(sums) >= critical - slack)), sums.size, 0, True)
    rejected = 0
    for block, start in enumerate(range(0, n_flips, BLOCK)):
        generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(block,)))
        signs = generator.integers(0, 2, size=(BLOCK, weights.size), dtype=np.int8)[: n_flips - start]
        sums = 2 * (signs @ weights) - weights.sum()
        rejected += int((np.abs(sums) >= critical - slack).sum())
    return Rejections(rejected / n_flips, n_flips, 0, False)


def paired_t_critical(difference: Floats, alpha: float) -> float | None:
    """The least |sum of differences| at which the paired t-test rejects; flips leave the squares alone."""
    n, squares = difference.size, float(difference @ difference)
    if n < 2 or squares == 0:
        return None
    t2 = float(special.stdtrit(n - 1, 1 - alpha / 2)) ** 2
    return math.sqrt(t2 * n * squares / (n - 1 + t2))


def sign_flip_critical(sums: Floats, alpha: float) -> float | None:
    """The least |sum| at which the sign-flip test on these clusters rejects; None when none does.

    Found by bisection over the attained two-sided tails of the observed sizes.
    """
    sizes = np.abs(sums[sums != 0])
    if not sizes.size or sign_flip(sizes).two_sided >= alpha:
        return None
    low, high = 0.0, float(sizes.sum())  # low is not rejected, high is
    while high - low > 1e-9 * sizes.sum():
        middle = (low + high) / 2
        rate = flip_rejections(sums, middle, 20_000, 0).rate
        low, high = (low, middle) if rate < alpha else (middle, high)
    return high


def wilcoxon_critical(signed: Floats, alpha: float) -> float | None:
    """The least |w_plus - w_minus| at which the item-level signed-rank test rejects.

    `signed` (n,): midranks of the non-zero differences with their signs; exact up to 50, else normal.
    """
    rank = np.abs(signed)
    if not rank.size:
        return None
    if rank.size > 50:
        return float(special.ndtri(1 - alpha / 2)) * math.sqrt(float(rank @ rank))
    doubled = np.rint(2 * rank).astype(np.int64)
    upper = np.cumsum(ranks.sign_sums(doubled)[::-1])[::-1]  # P(doubled w_plus >= s)
    rejecting = np.flatnonzero(2 * upper < alpha)
    # doubled w_plus - doubled w_minus = 2 s - total, halved back to ranks
    return (2 * float(rejecting[0]) - float(doubled.sum())) / 2 if rejecting.size else None


def _every_split(total: int, n: int) -> Iterator[NDArray[np.intp]]:
    # element 0 always in the first half: the other order is the same split to a two-sided test
    own = np.array(list(itertools.combinations(range(1, 2 * n), n - 1)), dtype=np.intp).reshape(-1, n - 1)
    outside = np.ones((len(own), 2 * n), dtype=np.bool_)
    outside[:, 0] = False
    np.put_along_axis(outside, own, values=False, axis=1)
    halves = np.argsort(outside, axis=1, kind="stable")
    picks = itertools.combinations(range(total), 2 * n)
    while chunk := list(itertools.islice(picks, max(1, 50_000 // len(halves)))):
        yield np.asarray(chunk)[:, halves].reshape(-1, 2 * n)


def _drawn_splits(total: int, n: int, n_splits: int, seed: int) -> Iterator[NDArray[np.intp]]:
    for block, start in enumerate(range(0, n_splits, BLOCK)):
        generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(block,)))
        yield np.argsort(generator.random((BLOCK, total)), axis=1)[: n_splits - start, : 2 * n]


Rejector = Callable[[Floats, Floats], tuple[Bools, Bools]]
"""Halves (T, n) each in; (rejected, defined) out, both (T,)."""


def _tester(test: SplitTest, n: int, alpha: float, n_resamples: int, seed: int) -> Rejector:
    if test in ("welch", "student"):
        return lambda first, second: _t_rejects(first, second, alpha, welch=test == "welch")
    if test == "mann-whitney":
        known: dict[bytes, Floats] = {}
        return lambda first, second: _rank_rejects(first, second, alpha, known)
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2**32 - 1,)))
    weights = generator.multinomial(n, np.full(n, 1 / n), size=(2, n_resamples)) / n
    return lambda first, second: _bootstrap_rejects(
        first, second, alpha, weights, basic=test == "bootstrap-basic"
    )


def _t_rejects(first: Floats, second: Floats, alpha: float, *, welch: bool) -> tuple[Bools, Bools]:
    n = first.shape[1]
    mean0, mean1 = first.mean(axis=1), second.mean(axis=1)
    left, right = first - mean0[:, None], second - mean1[:, None]
    v0 = np.einsum("ij,ij->i", left, left) / (n - 1)
    v1 = np.einsum("ij,ij->i", right, right) / (n - 1)
    # equal values leave a rounding error of their mean, not a spread
    known = v0 + v1 > (8 * EPS) ** 2 * (mean0**2 + mean1**2)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = (mean1 - mean0) / np.sqrt((v0 + v1) / n)
        df = (v0 + v1) ** 2 * (n - 1) / (v0 * v0 + v1 * v1) if welch else np.full(len(t), 2 * n - 2.0)
        p = 2 * special.stdtr(df, -np.abs(t))
    return p < alpha, known


def _rank_rejects(
    first: Floats, second: Floats, alpha: float, known: dict[bytes, Floats]
) -> tuple[Bools, Bools]:
    """Exact permutation of midranks; rows with the same ties share one null distribution."""
    n = first.shape[1]
    both = np.concatenate([first, second], axis=1)
    order = np.argsort(both, axis=1, kind="stable")
    in_first = order < n
    ascending = np.take_along_axis(both, order, axis=1)
    ties = ascending[:, 1:] == ascending[:, :-1]
    rejected = np.zeros(len(first), dtype=np.bool_)
    for pattern in np.unique(ties, axis=0) if ties.any() else ties[:1]:
        key = pattern.tobytes()
        rank, _ = ranks.midranks(np.concatenate([[0.0], np.cumsum(~pattern)]))
        doubled = np.rint(2 * rank).astype(np.int64)
        if key not in known:
            pmf = ranks.subset_sums(doubled, n)
            upper, lower = np.cumsum(pmf[::-1])[::-1], np.cumsum(pmf)
            known[key] = 2 * np.minimum(upper, lower)
        alike = np.all(ties == pattern, axis=1)
        rejected[alike] = known[key][in_first[alike] @ doubled] < alpha
    return rejected, np.ones(len(first), dtype=np.bool_)


def _bootstrap_rejects(
    first: Floats, second: Floats, alpha: float, weights: Floats, *, basic: bool
) -> tuple[Bools, Bools]:
    """Every split sees the same resampling weights (2, B, n), which is still a bootstrap of each."""
    known = (np.ptp(first, axis=1) > 0) | (np.ptp(second, axis=1) > 0)
    rejected = np.zeros(len(first), dtype=np.bool_)
    for start in range(0, len(first), 500):
        rows = slice(start, start + 500)
        x, y = first[rows], second[rows]
        drawn = y @ weights[1].T - x @ weights[0].T
        at = 2 * (y.mean(axis=1) - x.mean(axis=1))[:, None] if basic else 0.0
        slack = 1e-11 * np.ptp(np.concatenate([x, y], axis=1), axis=1)[:, None]
        least = np.minimum((drawn <= at + slack).sum(axis=1), (drawn >= at - slack).sum(axis=1))
        rejected[rows] = 2 * (1 + least) / (drawn.shape[1] + 1) < alpha
    return rejected, known
