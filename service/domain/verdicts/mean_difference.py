"""One value of an item from its replicates, and the exact difference of two arms' means."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from service.domain.exact_sums import exact_sum
from service.domain.plans.items.suite_items import Tasks
from service.domain.plans.sections.endpoint import Endpoint
from service.kernels.repeats.pass_at_k import pass_at_k as any_of_k
from service.kernels.repeats.pass_at_k import pass_hat_k as all_of_k


def collapse(values: NDArray[np.float64], endpoint: Endpoint) -> NDArray[np.float64]:
    """One value per item from shape (items, replicates); `majority` is 1 when more than half are 1."""
    replicates, how = values.shape[1], endpoint.collapse
    if how in ("any_of_k", "all_of_k"):
        right = values.sum(axis=1).astype(np.int64)
        runs, k = np.full(len(right), replicates), endpoint.k or 1
        return any_of_k(runs, right, k) if how == "any_of_k" else all_of_k(runs, right, k)
    if replicates == 1 or how == "first":
        return np.ascontiguousarray(values[:, 0])
    if how == "majority":
        return np.where(2 * values.sum(axis=1) > replicates, 1.0, 0.0)
    return np.asarray(values.mean(axis=1), dtype=np.float64)


def mean_difference(
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    endpoint: Endpoint,
    tasks: Tasks | None,
    reference: Fraction | None = None,
) -> Fraction | None:
    """Return the difference of the means without rounding, from two arrays of shape (items, replicates).

    Args:
        tasks: of a suite, which task every item is of: the difference is that of its tasks under their weights.
        reference: what one arm is held against, whose `before` is zeros: its mean counts from there, and every
            task of a suite from its floor.

    Returns:
        None where there is no item, or a task has none.
    """
    if tasks is None:
        total = _difference(before, after, endpoint)
    else:
        total = Fraction(0)
        for at, (weight, (floor, length)) in enumerate(zip(tasks.weights, tasks.scales, strict=True)):
            inside = tasks.codes == at
            delta = _difference(before[inside], after[inside], endpoint)
            if delta is None:
                return None
            total += weight * (delta if reference is None else delta - floor) / length
    return total if total is None or reference is None else total - reference


def _difference(
    before: NDArray[np.float64], after: NDArray[np.float64], endpoint: Endpoint
) -> Fraction | None:
    """Return the difference of the means without rounding; a mean of replicates weighs each of them alike."""
    if len(before) == 0:
        return None
    if endpoint.collapse in ("any_of_k", "all_of_k"):
        picks = math.comb(before.shape[1], endpoint.k or 1) * len(before)
        if endpoint.collapse == "all_of_k":
            return Fraction(_all_alike(after, endpoint) - _all_alike(before, endpoint), picks)
        # Any of k is 1 minus "all wrong": the difference of the complements turns around.
        return Fraction(_all_alike(1 - before, endpoint) - _all_alike(1 - after, endpoint), picks)
    if endpoint.collapse in ("first", "majority"):
        before, after = collapse(before, endpoint), collapse(after, endpoint)
    # Every item has as many replicates, so the mean of item means is the mean of all values.
    return (exact_sum(after) - exact_sum(before)) / before.size


def _all_alike(values: NDArray[np.float64], endpoint: Endpoint) -> int:
    """Ways to pick k attempts that are all 1, over all items."""
    ones, counts = np.unique(values.sum(axis=1).astype(np.int64), return_counts=True)
    picked = zip(ones.tolist(), counts.tolist(), strict=True)
    return sum(count * math.comb(right, endpoint.k or 1) for right, count in picked)
