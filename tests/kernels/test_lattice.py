"""Exact sums on the integers against binomials, brute force and their own definitions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from service.kernels.exact import lattice
from service.kernels.exact.lattice import Group, distribution, integer_grid, log_at_least, log_at_most
from tests.drawing import draws


def brute(groups):
    """{value: probability} by multiplying out every outcome."""
    sums = {0: 1.0}
    for group in groups:
        for _ in range(group.count):
            after = {}
            for s, p in sums.items():
                for v, q in zip(group.values.tolist(), group.probabilities.tolist(), strict=True):
                    after[s + v] = after.get(s + v, 0.0) + p * q
            sums = after
    return sums


@st.composite
def groups_of(draw):
    groups = []
    for _ in range(draw(st.integers(1, 3))):
        values = sorted(draw(st.sets(st.integers(-12, 12), min_size=1, max_size=10)))
        weights = np.array(draw(st.lists(st.integers(1, 9), min_size=len(values), max_size=len(values))))
        groups.append(Group(np.array(values), weights / weights.sum(), draw(st.integers(1, 4))))
    return groups


@settings(deadline=None, max_examples=draws(25))
@given(groups_of())
def test_distribution_by_definition(groups):
    found, expected = distribution(groups), brute(groups)
    ks = range(min(expected) - 1, max(expected) + 2)
    for k in ks:
        below = sum(p for s, p in expected.items() if s <= k)
        above = sum(p for s, p in expected.items() if s >= k)
        assert found.at_most(k) == pytest.approx(below, abs=1e-12)
        assert found.at_least(k) == pytest.approx(above, abs=1e-12)
        assert math.exp(log_at_least(groups, k)) == pytest.approx(above, rel=1e-9, abs=1e-300)
        assert math.exp(log_at_most(groups, k)) == pytest.approx(below, rel=1e-9, abs=1e-300)


@settings(deadline=None, max_examples=draws(40))
@given(groups_of(), st.floats(0.001, 0.999))
def test_quantile_is_the_smallest_value_that_reaches_q(groups, q):
    found, expected = distribution(groups), brute(groups)
    k = found.quantile(q)
    assert sum(p for s, p in expected.items() if s <= k) >= q - 2e-12
    assert sum(p for s, p in expected.items() if s < k) < q


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (50, 0.5), (1000, 0.01), (1_000_000, 0.3)])
def test_agrees_with_scipy_binomial(n, p):
    coin = [Group(np.array([0, 1]), np.array([1 - p, p]), n)]
    found = distribution(coin)
    k = found.first + found.step * np.arange(len(found.cdf))
    assert np.abs(found.cdf - stats.binom.cdf(k, n, p)).max() < max(found.error, 1e-13)
    far = math.ceil(n * p + 30 * math.sqrt(n * p * (1 - p)))
    if far < n:
        assert log_at_least(coin, far) == pytest.approx(stats.binom.logsf(far - 1, n, p), rel=1e-9)


def test_window_grows_like_the_root_of_n():
    lengths = [len(distribution(lattice.trinomial(n // 10, n // 20, n)).pmf) for n in (10**4, 10**6)]
    assert lengths[1] <= 16 * lengths[0]


def test_far_tails_keep_their_digits():
    groups = lattice.trinomial(297, 68, 1540)
    n, p = 1540, np.array([68, 1175, 297]) / 1540
    total = 0.0
    for plus, minus in itertools.product(range(60), range(60)):
        if plus - minus <= -20:
            total += math.exp(stats.multinomial.logpmf([minus, n - plus - minus, plus], n, p))
    assert math.exp(log_at_most(groups, -20)) == pytest.approx(total, rel=1e-6)


def test_edges_of_the_support():
    groups = lattice.trinomial(3, 2, 10)
    assert math.exp(log_at_least(groups, 10)) == pytest.approx(0.3**10, rel=1e-12)
    assert log_at_least(groups, 11) == -math.inf
    assert log_at_most(groups, -11) == -math.inf
    assert log_at_least(groups, -10) == 0
    assert distribution(lattice.trinomial(0, 0, 7)).quantile(0.5) == 0


def test_even_lattices_have_no_mass_between():
    found = distribution(lattice.trinomial(5, 5, 10))
    assert found.step == 2
    assert found.pmf.sum() == pytest.approx(1, abs=1e-12)
    assert found.at_most(0) - found.at_most(-1) == pytest.approx(stats.binom.pmf(5, 10, 0.5))


def test_long_windows_are_refused():
    with pytest.raises(lattice.WindowTooLong):
        distribution([Group(np.array([0, 10**9, 10**9 + 1]), np.full(3, 1 / 3), 1000)])


@settings(deadline=None)
@given(
    st.lists(st.integers(-500, 500), min_size=1, max_size=30), st.sampled_from([1, 0.1, 0.01, 1 / 3, 7e-5])
)
def test_grid_of_scores_is_found(multiples, unit):
    values = np.array(multiples) * unit
    grid = integer_grid(values)
    assert grid is not None
    found, step = grid
    np.testing.assert_allclose(found * step, values, rtol=1e-9, atol=1e-12)
    nonzero = np.array(multiples)[np.array(multiples) != 0]
    if len(nonzero):
        assert step == pytest.approx(int(np.gcd.reduce(nonzero)) * unit, rel=1e-6)


def test_irrational_values_are_no_grid():
    assert integer_grid(np.array([1.0, math.sqrt(2), math.pi])) is None
    assert integer_grid(np.array([1e-9, 1.0])) is None
