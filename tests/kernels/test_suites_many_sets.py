"""Bounds of many data sets at once are those of each data set by itself."""

from __future__ import annotations

import numpy as np
import pytest

from service.kernels.suites.design import Design
from service.kernels.suites.many_sets import ManySuites, Side, TaskUnits, counts, sums_by_unit
from service.stats.shared.methods.weighing import Weighed

SIZES = [
    np.array([1] * 30),
    np.array([4, 1, 3, 3, 2, 6]),
    np.array([2, 2, 5]),
]
WEIGHTS = np.array([0.5, 0.2, 0.3])


def drawn(generator, kind):
    """Two arms' outcomes of all items of one data set, task after task."""
    n = sum(int(sizes.sum()) for sizes in SIZES)
    if kind == "binary":
        return (generator.random((2, n)) < 0.6).astype(float)
    if kind == "rare":
        before = np.zeros(n)
        after = before.copy()
        after[generator.integers(n)] = 1
        return np.stack([before, after])
    return generator.beta(2, 1, (2, n))


def side(column, sizes):
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return sums_by_unit(np.add.reduceat(column, starts, axis=1), sizes)


def stacked(columns):
    """Mean and variance by task, (D, T)."""
    sides, at = [], 0
    for sizes in SIZES:
        end = at + int(sizes.sum())
        sides.append(side(columns[:, at:end], sizes))
        at = end
    return Side(
        np.stack([one.mean for one in sides], axis=1), np.stack([one.variance for one in sides], axis=1)
    )


def spread(columns):
    at, parts = 0, []
    for sizes in SIZES:
        end = at + int(sizes.sum())
        parts.append(columns[:, at:end].var(axis=1, ddof=1))
        at = end
    return np.stack(parts, axis=1)


@pytest.mark.parametrize("kind", ["binary", "rare", "scores", "right or wrong"])
@pytest.mark.parametrize("paired", [True, False])
def test_agrees_with_every_data_set_by_itself(kind, paired):
    exact = kind == "right or wrong"
    kind = "binary" if exact else kind
    generator = np.random.default_rng(3)
    sets = np.stack([drawn(generator, kind) for _ in range(8)])
    columns = sets[:, 1] - sets[:, 0] if paired else sets[:, 1]
    low, high = np.zeros(3), np.ones(3)
    many = ManySuites(
        TaskUnits.of(SIZES),
        WEIGHTS,
        stacked(columns),
        spread(columns),
        low,
        high,
        (stacked(np.maximum(-columns, 0)), stacked(np.maximum(columns, 0))) if paired else None,
        exact,
    )
    tasks = np.repeat(np.arange(3), [int(sizes.sum()) for sizes in SIZES])
    units = np.repeat(np.arange(sum(map(len, SIZES))), np.concatenate(SIZES))
    for tail in (0.025, 0.05):
        ends, task_ends = many.ends(tail), many.task_ends(tail)
        for at, column in enumerate(columns):
            weighed = Weighed(Design(tasks, units), column, WEIGHTS, low, high, paired, right_or_wrong=exact)
            np.testing.assert_allclose([end[at] for end in ends], weighed.bounds.ends(tail), atol=1e-9)
            for task, bounds in enumerate(weighed.task_bounds):
                own = [end[at, task] for end in task_ends]
                np.testing.assert_allclose(own, bounds.ends(tail), atol=1e-9)


def test_counts_are_the_same_as_their_items():
    ones = np.array([0.0, 3.0, 10.0])
    columns = np.array([[1.0] * int(k) + [0.0] * (10 - int(k)) for k in ones])
    whole, short = side(columns, np.ones(10, dtype=int)), counts(ones, 10)
    np.testing.assert_allclose(short.mean, whole.mean)
    np.testing.assert_allclose(short.variance, whole.variance, atol=1e-15)
