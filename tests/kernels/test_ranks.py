from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from service.kernels.numeric import ranks

PATIENT = settings(deadline=None, max_examples=60)

small = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=7)


@PATIENT
@given(st.lists(st.integers(0, 5).map(float), min_size=1, max_size=30))
def test_midranks_agree_with_scipy(values):
    found, sizes = ranks.midranks(np.array(values))
    assert list(found) == list(stats.rankdata(values))
    assert sizes.sum() == len(values)


@PATIENT
@given(
    st.integers(1, 5).flatmap(
        lambda k: st.lists(st.lists(st.integers(0, 3), min_size=k, max_size=k), min_size=1)
    )
)
def test_midranks_of_rows_agree_with_scipy(rows):
    assert np.array_equal(ranks.midranks_of_rows(np.array(rows, dtype=float)), stats.rankdata(rows, axis=1))


@PATIENT
@given(st.lists(st.integers(1, 6), min_size=2, max_size=8), st.data())
def test_subset_sums_by_enumeration(values, data):
    size = data.draw(st.integers(1, len(values) - 1))
    pmf = ranks.subset_sums(np.array(values), size)
    sums = [sum(pick) for pick in combinations(values, size)]
    expected = np.bincount(sums, minlength=len(pmf)) / len(sums)
    assert pmf == pytest.approx(expected, abs=1e-14)


@PATIENT
@given(st.lists(st.integers(1, 6), min_size=1, max_size=8))
def test_sign_sums_by_enumeration(values):
    pmf = ranks.sign_sums(np.array(values))
    sums = [
        sum(v for v, sign in zip(values, signs, strict=True) if sign)
        for signs in product((0, 1), repeat=len(values))
    ]
    assert pmf == pytest.approx(np.bincount(sums, minlength=len(pmf)) / len(sums), abs=1e-14)


@PATIENT
@given(small, small)
def test_every_difference_is_found_in_order(first, second):
    x, y = np.sort(first), np.sort(second)
    differences = np.sort(np.subtract.outer(y, x).ravel())
    found = [ranks.kth_difference(x, y, k) for k in range(1, differences.size + 1)]
    assert found == pytest.approx(list(differences), abs=1e-12)


@PATIENT
@given(small)
def test_every_walsh_average_is_found_in_order(values):
    x = np.sort(values)
    i, j = np.triu_indices(x.size)
    averages = np.sort((x[i] + x[j]) / 2)
    found = [ranks.kth_walsh(x, k) for k in range(1, averages.size + 1)]
    assert found == pytest.approx(list(averages), abs=1e-12)


def test_far_tail_keeps_its_digits():
    # one subset of C(100, 50) has the largest sum
    pmf = ranks.subset_sums(np.arange(1, 101), 50)
    top = int(np.arange(51, 101).sum())
    assert ranks.tail_probabilities(pmf, top)[1] == pytest.approx(1 / 1.0089134454556417e29, rel=1e-12)


def test_order_statistic_index_leaves_out_at_most_the_tail():
    pmf = np.full(20, 0.05)
    assert ranks.order_statistic_index(pmf, 0.1) == 2
    assert ranks.order_statistic_index(pmf, 0.099) == 1
    assert ranks.order_statistic_index(pmf, 0.01) == 0
