"""Pairs of arms of which some lack items: what a pair's difference would be if all that is missing spoke against it.

An arm's outcomes are filled once with the worst there could be and once with the best; the worst case of arm i ahead of
arm j is the mean of the first of i less the second of j, over all items. Its error is that of the filled items, by
unit: a sum over units of squared differences of what each arm's unit adds, so that all pairs are one matrix product.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def worst_cases(
    low: Floats, high: Floats, units: Codes, tasks: Codes, weights: Floats
) -> tuple[Floats, Floats]:
    """Mean and standard error (k, k) of how far the row's arm is ahead of the column's in the row's worst case.

    Args:
        low: outcomes (n, k), higher ones better, what is missing filled with the worst there can be.
        high: the same filled with the best.
        units: the item's independent unit, 0 to G - 1. Shape (n,).
        tasks: its task, 0 to T - 1; one task where there are none. Shape (n,).
        weights: of the tasks, which sum to 1. Shape (T,).
    """
    each = weights[tasks] / np.bincount(tasks, minlength=len(weights))[tasks]
    groups = int(units.max()) + 1
    means, added = zip(*(_by_unit(values, each, units, tasks, groups) for values in (low, high)), strict=True)
    worst, best = added
    squares = (worst**2).sum(axis=0)[:, None] + (best**2).sum(axis=0) - 2 * worst.T @ best
    return (means[0][:, None] - means[1], np.sqrt(np.maximum(squares, 0.0) * groups / max(groups - 1, 1)))


def lacking_shares(present: NDArray[np.bool_], tasks: Codes) -> Floats:
    """Return the greatest share of items that one arm of a pair lacks, of all items or of a task's. Shape (k, k)."""
    count = int(tasks.max()) + 1
    parts = [present, *((present[tasks == task] for task in range(count)) if count > 1 else ())]
    lacking = np.zeros((present.shape[1], present.shape[1]))
    for part in parts:
        there = part.astype(np.float64)
        lacking = np.maximum(lacking, (len(part) - there.T @ there) / len(part))
    return lacking


def _by_unit(values: Floats, each: Floats, units: Codes, tasks: Codes, groups: int) -> tuple[Floats, Floats]:
    """Return the arms' weighted means (k,), and what every unit adds to their error (G, k)."""
    counts = np.bincount(tasks)[:, None]
    centred = values - (_sums(values, tasks, len(counts)) / np.maximum(counts, 1))[tasks]
    return each @ values, _sums(centred * each[:, None], units, groups)


def _sums(values: Floats, codes: Codes, groups: int) -> Floats:
    """Sums of the rows (n, k) that have the same code. Shape (groups, k)."""
    from scipy.sparse import csr_array  # takes long to import, and most boards need none

    n = len(values)
    return np.asarray(csr_array((np.ones(n), (codes, np.arange(n))), shape=(groups, n)) @ values)
