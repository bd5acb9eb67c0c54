"""Tails of many cells at once, against the scalar routines that the tests use."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.kernels.bootstrap.paired_bootstrap import BinaryPairs
from service.kernels.numeric import binomial
from service.kernels.pairs import mcnemar
from service.kernels.pairs.mcnemar import p_value
from service.kernels.pairs.paired_exact import exact_p_below
from service.kernels.planning.rule_enumeration import first_true, share_at_most
from tests.drawing import mostly_slow


@pytest.mark.parametrize("n", mostly_slow([1, 2, 3, 10, 21], 3))
def test_the_chance_of_every_resampled_sum_in_every_cell(n):
    cells = [(b, m - b) for m in range(n + 1) for b in range(m + 1)]
    k = np.arange(-n - 1, n + 2)
    b, c = (np.repeat([cell[arm] for cell in cells], len(k)) for arm in (0, 1))
    found = share_at_most(np.tile(k, len(cells)), b, c, n).reshape(len(cells), -1)
    expected = [[BinaryPairs(*cell, n).near.at_most(int(each)) for each in k] for cell in cells]
    np.testing.assert_allclose(found, expected, atol=1e-13)


@pytest.mark.parametrize("n", [500, 20_000])
def test_the_chance_of_resampled_sums_of_many_items(n):
    rng = np.random.default_rng(1)
    m = rng.integers(0, n + 1, 150)
    b = rng.binomial(m, rng.random(150))
    k = 2 * b - m + rng.integers(-3 * int(n**0.5), 3 * int(n**0.5), 150)
    expected = [
        BinaryPairs(int(x), int(y - x), n).near.at_most(int(z)) for x, y, z in zip(b, m, k, strict=True)
    ]
    np.testing.assert_allclose(share_at_most(k, b, m - b, n), expected, atol=2e-12)


@pytest.mark.parametrize("method", ["exact", "midp", "asymptotic", "corrected"])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_mcnemar_of_many_cells(method, alternative):
    cells = [(b, m - b) for m in (*range(25), 61, 200) for b in range(0, m + 1, 1 + m // 25)]
    b, c = (np.array([cell[arm] for cell in cells]) for arm in (0, 1))
    expected = [p_value(*cell, method, alternative) for cell in cells]
    np.testing.assert_allclose(mcnemar.p_values(b, c, method, alternative), expected, rtol=1e-10)


@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 40), st.integers(-3, 60)), min_size=1, max_size=8),
    st.booleans(),
)
def test_the_first_truth_from_any_guess(rows, guessed):
    low = np.array([row[0] for row in rows])
    high = low + np.array([row[1] for row in rows]) - 1
    turn = low + np.array([row[2] for row in rows])
    looks = []

    def holds(which, b):
        assert np.all((b >= low[which]) & (b <= high[which]))
        looks.append(len(which))
        return b >= turn[which]

    guess = np.array([row[2] * 2 - 7 for row in rows]) if guessed else None
    found = first_true(holds, low, high, guess)
    np.testing.assert_array_equal(found, np.clip(turn, low, high + 1))


def test_a_good_guess_takes_few_looks():
    looks = []

    def holds(rows, b):
        looks.append(len(rows))
        return b >= 70_000

    first_true(holds, np.array([0]), np.array([10**6]), np.array([70_001]))
    assert sum(looks) <= 4


def test_stretches_of_a_binomial():
    m = np.array([7, 7, 7, 0])
    low, high = np.array([0, 3, 5, 0]), np.array([8, 5, 5, 1])
    found = binomial.between(low, high, m, 0.3)
    pmf = binomial.pmf(np.arange(8), 7, 0.3)
    np.testing.assert_allclose(found, [1, pmf[3] + pmf[4], 0, 1])
    first, last = binomial.window(500, 0.1)
    assert binomial.pmf(np.arange(first, last + 1), 500, 0.1).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("n", "difference"), mostly_slow([(20, 0.1), (149, 0.02), (500, 0.02), (60, 0.3)], 2)
)
def test_a_quick_look_at_the_exact_p_is_a_close_lower_bound(n, difference):
    for b in range(5):
        for c in range(5):
            exact = exact_p_below(b, c, n, difference)
            coarse = exact_p_below(b, c, n, difference, coarse=True)
            assert 0.8 * exact <= coarse <= exact * (1 + 1e-9)
