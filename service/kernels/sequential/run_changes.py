"""Runs of the same items, one after another: the chance of each against those before it, and since when they are lower.

Evidence for a change is that of Shiryaev and Roberts: bets that were begun at every run, added up. A bet of exponent k
multiplies what it has by k p^(k - 1), whose mean is 1 where p is uniform (Shafer, Shen, Vereshchagin & Vovk 2011,
Stat Sci 26:84), so the sum less the number of runs is a martingale while nothing changes, and it first reaches N after
N runs or more on average (Shin, Ramdas & Rinaldo 2024, arXiv:2203.03532).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.sequential.bags import Chance, chance_of_coins, chance_of_so_low

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EXPONENTS = np.array([0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9])
"""Small ones win on one run that is far too low, large ones on many that are a little low; their mean is taken."""


class Evidence(NamedTuple):
    """Logarithms of evidence after every run, (T,)."""

    change: Floats
    """Shiryaev and Roberts's sum: that some run began a drop."""
    series: Floats
    """Of the whole series, mean at most 1 at any time while nothing changes: the stake of run s is 1/(s(s+1))."""


def weigh(p_values: Floats) -> Evidence:
    """Return evidence from the p-values of runs in their order (T,), each above 0.

    >>> weigh(np.array([1.0])).change.round(4)  # the mean exponent, .3929
    array([-0.9343])
    """
    bets = _log_bets(p_values)
    won = np.cumsum(bets, axis=0)
    before = won - bets
    begun = np.arange(1.0, len(bets) + 1)[:, None]
    # a bet begun at run s has by run t what all bets won by then, less what they had won before s
    change = won + np.logaddexp.accumulate(-before, axis=0)
    series = won + np.logaddexp.accumulate(-np.log(begun * (begun + 1)) - before, axis=0)
    several = np.log(len(EXPONENTS))
    # the stakes of starts yet to come, 1/(begun + 1) together, are kept
    kept = -np.log(begun[:, 0] + 1)
    return Evidence(
        special.logsumexp(change, axis=1) - several,
        np.logaddexp(special.logsumexp(series, axis=1) - several, kept),
    )


def likeliest_start(p_values: Floats) -> int:
    """Return the run, from 0, since which bets have won most by the end of `p_values` (T,)."""
    won = np.cumsum(_log_bets(p_values)[::-1], axis=0)[::-1]
    return int(np.argmax(special.logsumexp(won, axis=1)))


def _log_bets(p_values: Floats) -> Floats:
    """ln k + (k - 1) ln p, shape (T, exponents)."""
    return np.asarray(np.log(EXPONENTS) + np.multiply.outer(np.log(p_values), EXPONENTS - 1))


class RunChance(NamedTuple):
    """The chance of a run so low, and the items that had a say: those that it and a run before it have."""

    chance: Chance
    n: int


def chances(values: Floats, codes: Ints | None, first: int, margin: float) -> Iterator[RunChance]:
    """Yield the chance of every run of `values` (T, n) from number `first` on, against all before it; higher is better.

    NaN is no value. With clusters (`codes` (n,)) a cluster is the block. Its items are those it has in the first run
    with any of it. Items that a run lacks leave it for good, so that sums are of the same items; a run that lacks more
    than half of them leaves the whole cluster out instead.
    """
    if codes is None:
        yield from _list_chances(values, first, margin)
    else:
        yield from _of_clusters(values, codes, first, margin)


def _list_chances(values: Floats, first: int, margin: float) -> Iterator[RunChance]:
    """List for every run after the `first` the chance of a mean so low, exact for right and wrong items."""
    there = ~np.isnan(values)
    coins = bool(np.all((values == 0) | (values == 1) | ~there))
    sizes = there[:first].sum(axis=0).astype(np.float64)
    ones = np.where(there[:first], values[:first], 0.0).sum(axis=0)
    for run in range(first, len(values)):
        row = there[run]
        n = int((row & (sizes > 0)).sum())
        sizes += row
        ones += np.where(row, values[run], 0.0)
        if coins:
            latest = float(values[run, row].sum())
            yield RunChance(chance_of_coins(ones[row], sizes[row], latest, margin * n), n)
        else:
            yield RunChance(chance_of_so_low(values[: run + 1], margin * n), n)


def _of_clusters(values: Floats, codes: Ints, first: int, margin: float) -> Iterator[RunChance]:
    """Yield the chances of `chances`, where the block is a cluster."""
    n_clusters = int(codes.max()) + 1
    there = ~np.isnan(values)
    inside = np.zeros(values.shape[1], dtype=bool)
    begun = np.zeros(n_clusters, dtype=bool)
    present = np.zeros((len(values), n_clusters), dtype=bool)
    for run, row in enumerate(there):
        # A cluster begins with the items that its first run has.
        fresh = (np.bincount(codes, row, n_clusters) > 0) & ~begun
        inside |= fresh[codes] & row
        # It is there where the run has half of its items or more; items that such a run lacks are in it no more.
        held = np.bincount(codes, inside & row, n_clusters)
        present[run] = 2 * held >= np.maximum(np.bincount(codes, inside, n_clusters), 1)
        inside &= row | ~present[run][codes]
        begun |= fresh
        if run < first:
            continue
        # Sums of earlier runs are taken anew, over the items that are left by now: all runs' sums are of the same
        # items.
        kept = np.where(inside & there[: run + 1], values[: run + 1], 0.0)
        sums = np.stack([np.bincount(codes, values_of_run, n_clusters) for values_of_run in kept]).astype(
            np.float64
        )
        sums[~present[: run + 1]] = np.nan
        counted = present[run] & present[:run].any(axis=0)
        n = int((inside & counted[codes]).sum())
        yield RunChance(chance_of_so_low(sums, margin * n), n)
