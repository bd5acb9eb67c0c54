"""Gaffke's bounds against Clopper and Pearson's, closed forms, drawn weights, and by what has to hold of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from service.kernels.pairs import gaffke
from service.kernels.pairs.gaffke import chance_below_zero, lower_end
from tests.drawing import draws, one_in


def low(values, alpha=0.025, limit=0.0):
    values = np.asarray(values, float)
    ones = np.ones(len(values))
    return lower_end(values, ones, ones, limit, 1.0, alpha)


@pytest.mark.parametrize(
    ("n", "right"), one_in(3, [(1, 1), (2, 1), (5, 0), (5, 5), (20, 3), (200, 100), (200, 199), (10_000, 1)])
)
@pytest.mark.parametrize("alpha", [0.2, 0.025, 1e-6])
def test_of_zeros_and_ones_it_is_clopper_and_pearsons(n, right, alpha):
    counts = np.array([float(right), float(n - right)])
    kept = counts > 0
    values = np.array([1.0, 0.0])[kept]
    bound = lower_end(values, np.ones(len(values)), counts[kept], 0.0, 1.0, alpha)
    expected = 0.0 if right == 0 else stats.beta.ppf(alpha, right, n - right + 1)
    assert bound == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_a_single_negative_value_has_a_closed_form():
    # P(E_0 c_0 + sum E_i c_i <= 0) for c_0 < 0 < c_i is the product of c_0 / (c_0 - c_i)
    for positive in ([0.2], [0.5, 0.25], [1.0, 0.3, 0.3, 2.0]):
        c = np.array([-1.0, *positive])
        expected = np.prod([1 / (1 + each) for each in positive])
        assert chance_below_zero(c, np.ones(len(c))) == pytest.approx(expected, rel=1e-12)


def test_distinct_values_by_partial_fractions():
    c = np.array([-1.0, -0.4, 0.3, 0.8, 1.7])
    # each negative one's share of the partial fractions of prod 1 / (1 - s c)
    expected = sum(np.prod([each / (each - other) for other in c if other != each]) for each in c[c < 0])
    assert chance_below_zero(c, np.ones(5)) == pytest.approx(expected, rel=1e-11)


def test_shapes_are_repeats_of_a_value():
    c = np.array([-1.0, 0.3, 0.7])
    together = chance_below_zero(c, np.array([1.0, 4.0, 2.0]))
    apart = chance_below_zero(np.repeat(c, [1, 4, 2]), np.ones(7))
    assert together == pytest.approx(apart, rel=1e-12)
    # two values alone: a beta distribution, of any shapes
    for a, b in ((0.3, 2.5), (7.5, 1.0), (40.2, 61.7)):
        p = chance_below_zero(np.array([-0.6, 0.4]), np.array([a, b]))
        assert p == pytest.approx(special.betainc(b, a, 0.6), rel=1e-9)


def test_drawn_weights_give_the_same_quantile():
    rng = np.random.default_rng(5)
    values = np.r_[rng.uniform(-0.4, 0.9, 11), 0.0, 0.0]
    draws = rng.dirichlet(np.ones(14), 200_000) @ np.r_[values, -1.0]
    share = float((draws <= low(values, limit=-1.0)).mean())
    assert abs(share - 0.025) < 4 * np.sqrt(0.025 * 0.975 / 200_000)


@settings(deadline=None, max_examples=draws(60))
@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=12),
    st.integers(0, 11),
    st.floats(0, 1),
    st.sampled_from([0.4, 0.025, 1e-4]),
)
def test_it_rises_with_every_value_and_stays_between_the_limit_and_the_mean(values, which, higher, alpha):
    bound = low(values, alpha)
    assert 0 <= bound <= max(values) + 1e-12
    if (
        alpha < 0.3
    ):  # the weighted mean with one value more at the limit lies below the mean more often than not
        assert bound <= np.mean(values) + 1e-9
    raised = list(values)
    raised[which % len(values)] = max(higher, raised[which % len(values)])
    assert low(raised, alpha) >= bound - 1e-9
    assert low([1.0, *values], alpha) >= bound - 1e-9
    assert low(values[::-1], alpha) == pytest.approx(bound, rel=1e-9, abs=1e-12)


def test_it_moves_with_its_unit_and_origin():
    values = np.array([0.1, 0.5, 0.5, 0.9])
    assert low(1e6 * values) == pytest.approx(1e6 * low(values), rel=1e-9)
    assert low(values * 1e-200) == pytest.approx(1e-200 * low(values), rel=1e-9)
    assert low(values - 3, limit=-3.0) == pytest.approx(low(values) - 3, rel=1e-9)


def test_nothing_above_the_limit_leaves_the_limit():
    assert low([0.0, 0.0]) == 0.0
    assert chance_below_zero(np.zeros(3), np.ones(3)) == 1.0
    assert chance_below_zero(np.array([1.0, 0.0]), np.ones(2)) == 0.0


def test_many_values_on_a_grid_bound_the_same(monkeypatch):
    values = np.random.default_rng(2).uniform(-0.3, 0.6, 3000)
    on_grid = low(values, limit=-1.0)
    monkeypatch.setattr(gaffke, "CELLS", 4000)
    exact = low(values, limit=-1.0)
    assert on_grid == pytest.approx(exact, abs=1e-7)
    assert on_grid <= exact


def test_of_many_values_it_meets_the_normal_bound():
    values = np.random.default_rng(3).uniform(-0.3, 0.6, 200_000)
    normal = values.mean() - 1.959964 * values.std() / np.sqrt(len(values))
    assert low(values, limit=-1.0) == pytest.approx(normal, abs=2e-5)
    assert low(values, limit=-1.0) < normal


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 20, 60, 200])
@pytest.mark.parametrize("world", ["rare losses", "rare gains", "three values", "beta", "skewed"])
def test_it_holds_its_level(world, n):
    rng = np.random.default_rng([n, len(world)])
    draw = {
        "rare losses": lambda: np.where(rng.random(n) < 0.05, 0.0, 0.9),
        "rare gains": lambda: np.where(rng.random(n) < 0.05, 1.0, 0.2),
        "three values": lambda: rng.choice([0.0, 0.5, 0.75], n, p=[0.1, 0.8, 0.1]),
        "beta": lambda: rng.beta(0.3, 0.2, n),
        "skewed": lambda: 1 - np.minimum(rng.exponential(0.1, n), 1.0),
    }[world]
    mean = {
        "rare losses": 0.95 * 0.9,
        "rare gains": 0.24,
        "three values": 0.475,
        "beta": 0.6,
        "skewed": 1 - 0.1 * (1 - np.exp(-10)),
    }[world]
    ones, missed, sets = np.ones(n), 0, 4000
    for _ in range(sets):
        missed += gaffke.chance_below(draw(), ones, ones, 0.0, 1.0, mean) < 0.025
    assert missed / sets <= 0.025 + 3.3 * np.sqrt(0.025 * 0.975 / sets)
