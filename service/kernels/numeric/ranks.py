"""Rank statistics: exact null distributions with ties, and order statistics of pairwise differences."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from service.kernels.numeric.moments import EPS

Vector = NDArray[np.float64]


def midranks(values: Vector, tolerance: float = 0.0) -> tuple[Vector, NDArray[np.int64]]:
    """Ranks from 1, averaged over ties, in the order of `values`; and the sizes of all tie groups.

    Neighbours in sorted order at most `tolerance` apart are tied.
    """
    order = np.argsort(values, kind="stable")
    # A group of ties begins at the first value, and wherever the step from the value before is beyond the tolerance.
    starts = np.flatnonzero(np.concatenate(([True], np.diff(values[order]) > tolerance)))
    sizes = np.diff(np.append(starts, values.size))
    ranks = np.empty(values.size)
    # Ranks s + 1 to s + m have the mean s + (m + 1) / 2.
    ranks[order] = np.repeat(starts + (sizes + 1) / 2, sizes)
    return ranks, sizes


def midranks_of_rows(columns: Vector) -> Vector:
    """Ranks from 1 within each row, averaged over ties. Shape (n, k) as given."""
    order = np.argsort(columns, axis=1, kind="stable")
    inside = np.take_along_axis(columns, order, axis=1)
    # The first place of a group of ties is carried to the right, the last one to the left; their mean is the midrank.
    new = np.diff(inside, axis=1) > 0
    at = np.arange(columns.shape[1])
    first = np.maximum.accumulate(
        np.where(np.pad(new, ((0, 0), (1, 0)), constant_values=True), at, 0), axis=1
    )
    ends = np.where(np.pad(new, ((0, 0), (0, 1)), constant_values=True), at, at[-1])
    last = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty(columns.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=1)
    return ranks


def subset_sums(doubled: NDArray[np.int64], size: int) -> Vector:
    """Return P(sum = s), s = 0 .. total, of a random subset of `size` of the integers `doubled` (N,).

    All subsets are equally likely. O(N size total), in floats that only add positive numbers.
    """
    total = int(doubled.sum())
    ways = np.zeros((size + 1, total + 1))
    ways[0, 0] = 1.0
    for done, rank in enumerate(doubled):
        # From the largest k down: row k - 1 is still without this integer, so that none enters a subset twice.
        for k in range(min(done + 1, size), 0, -1):
            ways[k, rank:] += ways[k - 1, : total + 1 - rank]
    pmf: Vector = ways[size] / math.comb(doubled.size, size)
    return pmf


def sign_sums(doubled: NDArray[np.int64]) -> Vector:
    """Return P(sum = s), s = 0 .. total, when every integer of `doubled` (n,) joins with probability 1/2."""
    pmf = np.zeros(int(doubled.sum()) + 1)
    pmf[0] = 1.0
    reach = 0
    for rank in doubled:
        # Beyond `reach` no sum of the integers so far has a chance, so that only so much is added.
        grown = pmf[: reach + rank + 1] * 0.5
        grown[rank:] += 0.5 * pmf[: reach + 1]
        reach += int(rank)
        pmf[: reach + 1] = grown
    return pmf


def tail_probabilities(pmf: Vector, at: int) -> tuple[float, float]:
    """Return P(S <= at) and P(S >= at), each summed from its own end."""
    return min(1.0, float(pmf[: at + 1].sum())), min(1.0, float(pmf[max(at, 0) :].sum()))


def order_statistic_index(pmf: Vector, tail: float) -> int:
    """Return how many of the smallest pairwise values lie below an exact interval: the most k with P(U < k) <= tail.

    0 means that no finite interval has that level.
    """
    # A cumulated chance that equals the tail may lie above it by rounding.
    return int(np.searchsorted(np.cumsum(pmf), tail * (1 + 1e-12), side="right"))


def kth_difference(first: Vector, second: Vector, k: int) -> float:
    """Return the k-th smallest (from 1) of all second_j - first_i, both sorted; O((n + m) log) time and memory."""

    def count(d: float) -> int:
        # second_j - first_i > d just where first_i < second_j - d.
        below = np.searchsorted(first, second - d, side="left")
        return second.size * first.size - int(below.sum())

    def nearest(d: float) -> float:
        index = np.clip(np.searchsorted(first, second - d), 0, first.size - 1)
        candidates = np.concatenate(
            [second - first[np.clip(index + shift, 0, first.size - 1)] for shift in (-1, 0)]
        )
        return float(candidates[np.argmin(np.abs(candidates - d))])

    return _bisect(count, nearest, float(second[0] - first[-1]), float(second[-1] - first[0]), k)


def kth_walsh(values: Vector, k: int) -> float:
    """Return the k-th smallest (from 1) of (v_i + v_j) / 2, i <= j, `values` sorted."""

    def count(mean: float) -> int:
        # All ordered pairs with that mean at most; each unordered one is there twice, and those of i = j once.
        pairs = int(np.searchsorted(values, 2 * mean - values, side="right").sum())
        return (pairs + int(np.searchsorted(values, mean, side="right"))) // 2

    def nearest(mean: float) -> float:
        index = np.searchsorted(values, 2 * mean - values)
        candidates = np.concatenate(
            [(values + values[np.clip(index + shift, 0, values.size - 1)]) / 2 for shift in (-1, 0)]
        )
        return float(candidates[np.argmin(np.abs(candidates - mean))])

    return _bisect(count, nearest, float(values[0]), float(values[-1]), k)


def _bisect(
    count: Callable[[float], int], nearest: Callable[[float], float], low: float, high: float, k: int
) -> float:
    """Return the least attained value v with count(v) >= k, found to rounding and snapped to a value attained."""
    if count(low) >= k:
        return low
    # The values are differences and means of numbers of this size, whose last digits are no information.
    rounding = 4 * EPS * max(abs(low), abs(high))
    while high - low > rounding:
        middle = low + (high - low) / 2
        if not low < middle < high:
            break
        if count(middle) >= k:
            high = middle
        else:
            low = middle
    return nearest(high)
