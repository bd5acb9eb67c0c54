"""Tasks of a suite on scales so unlike that a difference of sums, or a square, loses all its digits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from service.kernels.suites.heterogeneity import new_tasks, unlike
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


@pytest.mark.parametrize("light", [0.2, 1e-6, 1e-9, 1e-18])
def test_a_weight_of_nearly_all_leaves_the_error_of_new_tasks_its_digits(light: float) -> None:
    """By definition in exact fractions: 1 - sum(w^2), and the square of tr(W - w w') over that of its square."""
    means = [0.5, 0.25, 0.75]
    parts = [1 - 2 * Fraction(light), Fraction(light), Fraction(light)]
    mean = sum(w * Fraction(m) for w, m in zip(parts, means, strict=True))
    two, three = sum(w**2 for w in parts), sum(w**3 for w in parts)
    spread = sum(w * (Fraction(m) - mean) ** 2 for w, m in zip(parts, means, strict=True)) / (1 - two)
    by_numbers = new_tasks(np.array(means), np.array([float(w) for w in parts]))
    assert by_numbers.se == pytest.approx(math.sqrt(spread * two), rel=1e-9)
    assert by_numbers.df == pytest.approx(float((1 - two) ** 2 / (two - 2 * three + two**2)), rel=1e-9)
