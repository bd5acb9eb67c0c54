"""Tasks of a suite on scales so unlike that a difference of sums, or a square, loses all its digits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from service.kernels.suites.heterogeneity import unlike
from service.kernels.suites.many_sets import Side, _reach
from service.kernels.suites.rare import NONE, Rare, Rate


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-10, 1e-29])
def test_the_spread_of_two_tasks_is_that_of_the_definition(scale: float) -> None:
    """Of two tasks the weights cancel: half the squared distance, less the mean variance (DerSimonian & Laird)."""
    means, variances = np.array([0.1 * scale, 0.6]), np.array([4e-4 * scale**2, 9e-4])
    tasks = unlike(means, np.diag(variances), np.array([50.0, 50.0]), None)
    assert tasks is not None
    by_hand = ((means[0] - means[1]) ** 2 - variances.sum()) / 2
    assert tasks.tau2 == pytest.approx(by_hand, rel=1e-6)


@pytest.mark.parametrize("unseen", [0.0, 1e-200])
def test_what_was_not_seen_is_without_bound_where_it_cannot_be_computed(unseen: float) -> None:
    assert Rare(NONE, NONE, unseen).reach(0.025, 1.0) == math.inf
    assert Rare(Rate(0.01, 1e-5), NONE, 0.001).reach(0.025, 1.0) < 1
    side = Side(np.array([0.0, 0.01]), np.array([0.0, 1e-5]))
    both = _reach(side, None, np.array([unseen, 0.001]), 0.025, np.ones(2))
    assert both[0] == math.inf
    assert both[1] == pytest.approx(Rare(Rate(0.01, 1e-5), NONE, 0.001).reach(0.025, 1.0))
