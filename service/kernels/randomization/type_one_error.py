"""How often a test rejects when the caller's own runs of one arm are split at random."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.numeric import ranks
from service.kernels.numeric.moments import EPS, binary_unit
from service.kernels.numeric.streams import BLOCK, generator, picks
from service.kernels.randomization.null_flips import Rejections

SplitTest = Literal["welch", "student", "mann-whitney", "bootstrap-percentile", "bootstrap-basic"]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ENUMERATED_UP_TO = 200_000
"""Most splits that are all listed."""

RESAMPLES = 500
"""Resamples of a split at a time. Part of the version."""

AT_ONCE = 8
"""Blocks of splits that share the drawing of resamples."""

OWN_STREAM = 2**31
"""First block of the resamples within splits, which are no replicates."""


def every_split_count(runs: int, n: int) -> int:
    """Ways to draw two halves of n from the runs, up to swapping the halves."""
    return math.comb(runs, 2 * n) * math.comb(2 * n - 1, n)


def splits_looked_at(runs: int, n: int, test: str, n_splits: int) -> int:
    """Return all splits when few, else `n_splits` draws. A bootstrap within each split is dear: few is fewer there."""
    few = n_splits if test.startswith("bootstrap") else ENUMERATED_UP_TO
    return every_split_count(runs, n) if every_split_count(runs, n) <= few else n_splits


@dataclass(frozen=True, slots=True)
class Splits:
    """Null splits of the runs into two halves of n, tested two-sided: all of them when few, else drawn.

    All means up to swapping the halves, which no two-sided test sees.
    """

    values: Floats
    n: int
    test: SplitTest
    alpha: float
    n_splits: int
    n_resamples: int
    seed: int

    @property
    def looked_at(self) -> int:
        """How many splits are looked at in all."""
        return splits_looked_at(self.values.size, self.n, self.test, self.n_splits)

    @property
    def enumerated(self) -> bool:
        """True when they are all there are."""
        return every_split_count(self.values.size, self.n) == self.looked_at

    def blocks(self, which: range) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how many splits of each block reject, and how many leave the test undefined.

        Memory: `AT_ONCE` blocks of splits, and `RESAMPLES` resamples of one block.
        """
        values = self.values / binary_unit(self.values)
        reject = _tester(self)
        rejected, undefined = [], []
        for start in range(0, len(which), AT_ONCE):
            halves = [values[split] for split in self._indices(which[start : start + AT_ONCE])]
            for verdict, known in reject([(half[:, : self.n], half[:, self.n :]) for half in halves]):
                rejected.append(int((verdict & known).sum()))
                undefined.append(int((~known).sum()))
        return np.array(rejected, dtype=np.int64), np.array(undefined, dtype=np.int64)

    def rejections(self, rejected: NDArray[np.int64], undefined: NDArray[np.int64]) -> Rejections:
        """Return the counts of all blocks as a rate."""
        looked_at = self.looked_at
        return Rejections(int(rejected.sum()) / looked_at, looked_at, int(undefined.sum()), self.enumerated)

    def _indices(self, which: range) -> Iterator[NDArray[np.intp]]:
        """Yield the runs in both halves of every split, (splits, 2n) per block."""
        total, width = self.values.size, 2 * self.n
        if self.enumerated:
            yield from _list_splits(total, self.n, which, self.looked_at)
            return
        for block in which:
            # the order of uniform numbers is a random permutation: its first places are a draw without replacement
            order = np.argsort(generator(self.seed, block).random((BLOCK, total)), axis=1)
            yield order[: self.looked_at - block * BLOCK, :width]


def _list_splits(total: int, n: int, which: range, last: int) -> Iterator[NDArray[np.intp]]:
    """Blocks of the list of all splits: every choice of 2n runs, every halving of each."""
    # element 0 always in the first half: the other order is the same split to a two-sided test
    own = np.array(list(itertools.combinations(range(1, 2 * n), n - 1)), dtype=np.intp).reshape(-1, n - 1)
    outside = np.ones((len(own), 2 * n), dtype=np.bool_)
    outside[:, 0] = False
    np.put_along_axis(outside, own, values=False, axis=1)
    halves = np.argsort(outside, axis=1, kind="stable")
    places = np.arange(which.start * BLOCK, min(which.stop * BLOCK, last))
    choice, halving = np.divmod(places, len(halves))
    first, beyond = int(choice[0]), int(choice[-1]) + 1
    picked = np.array(list(itertools.islice(itertools.combinations(range(total), 2 * n), first, beyond)))
    splits = np.take_along_axis(picked[choice - first], halves[halving], axis=1)
    for start in range(0, len(splits), BLOCK):
        yield splits[start : start + BLOCK].astype(np.intp)


Halves = Sequence[tuple[Floats, Floats]]
Rejector = Callable[[Halves], Iterable[tuple[Bools, Bools]]]
"""Blocks of halves (T, n) each in; (rejected, defined) of each block out, both (T,)."""


def _tester(splits: Splits) -> Rejector:
    test, alpha = splits.test, splits.alpha
    if test in ("welch", "student"):
        return lambda blocks: [_t_rejects(*halves, alpha, welch=test == "welch") for halves in blocks]
    if test == "mann-whitney":
        known: dict[bytes, Floats] = {}
        return lambda blocks: [_rank_rejects(*halves, alpha, known) for halves in blocks]
    return lambda blocks: _bootstrap_rejects(splits, blocks)


def _t_rejects(first: Floats, second: Floats, alpha: float, *, welch: bool) -> tuple[Bools, Bools]:
    """Tell which of B splits into halves (B, n) a two-sided t-test rejects at alpha, and which vary at all."""
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


def _bootstrap_rejects(splits: Splits, blocks: Halves) -> Iterator[tuple[Bools, Bools]]:
    """Every split sees the same resamples, which is still a bootstrap of each."""
    basic, resamples = splits.test == "bootstrap-basic", splits.n_resamples
    below = [np.zeros(len(first), dtype=np.int64) for first, _ in blocks]
    above = [count.copy() for count in below]
    for part, start in enumerate(range(0, resamples, RESAMPLES)):
        weights = _resamples(splits, part, min(RESAMPLES, resamples - start))
        for (first, second), less, more in zip(blocks, below, above, strict=True):
            # halves side by side, so that one product gives the difference of the means
            both = np.concatenate([-first, second], axis=1)
            drawn = both @ weights
            slack = 1e-11 * np.ptp(np.concatenate([first, second], axis=1), axis=1)[:, None]
            at = 2 * (second.mean(axis=1) - first.mean(axis=1))[:, None] if basic else 0.0
            less += _count_true(drawn <= at + slack)
            more += _count_true(drawn >= at - slack)
    for (first, second), less, more in zip(blocks, below, above, strict=True):
        known = (np.ptp(first, axis=1) > 0) | (np.ptp(second, axis=1) > 0)
        yield 2 * (1 + np.minimum(less, more)) / (resamples + 1) < splits.alpha, known


def _resamples(splits: Splits, part: int, many: int) -> Floats:
    """Weights of the runs of both halves in some resamples, each half's summing to 1: (2n, many)."""
    n = splits.n
    drawn = picks(generator(splits.seed, OWN_STREAM + part), n, 2 * many * n).reshape(2 * many, n)
    places = (drawn + n * np.arange(2 * many)[:, None]).ravel()
    counts = np.bincount(places, minlength=2 * many * n).reshape(2, many, n)
    return np.ascontiguousarray(np.moveaxis(counts, 1, 2).reshape(2 * n, many) / n)


def _count_true(where: Bools) -> NDArray[np.int64]:
    """Return how many are true in each row."""
    return np.asarray(np.bitwise_count(np.packbits(where, axis=1)).sum(axis=1, dtype=np.int64))
