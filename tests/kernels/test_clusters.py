"""Cluster diagnostics and robust variances against their matrices, statsmodels and hand computation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from service.kernels.numeric.clusters import (
    cluster_sums,
    codes_of,
    design_effect,
    intraclass_correlation,
    robust_errors,
    size_cv,
)

sized = st.lists(st.integers(1, 12), min_size=2, max_size=9)


def data(sizes, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return rng.choice([-1.0, 0.0, 0.0, 1.0], len(codes)) + rng.normal(0, 0.1, len(sizes))[codes], codes


@settings(deadline=None, max_examples=50)
@given(sized)
def test_cr2_and_its_df_by_definition(sizes):
    difference, codes = data(sizes)
    groups = cluster_sums(difference, codes)
    n, g, share = groups.n, len(sizes), groups.sizes / groups.n
    e = groups.sums - groups.sizes * groups.item_weighted
    a = 1 / (n * np.sqrt(1 - share))
    b = np.outer(a, a) * (np.diag(groups.sizes) - np.outer(groups.sizes, groups.sizes) / n)
    found = robust_errors(groups)
    assert found["cr2"].se == pytest.approx(math.sqrt((e**2 / (1 - share)).sum()) / n, rel=1e-9)
    assert found["cr2"].df == pytest.approx(np.trace(b) ** 2 / (b**2).sum(), rel=1e-9)
    assert found["cr1"].df == found["cv3"].df == g - 1


@settings(deadline=None, max_examples=30)
@given(sized)
def test_cv3_is_the_jackknife_by_cluster(sizes):
    difference, codes = data(sizes)
    groups = cluster_sums(difference, codes)
    g = len(sizes)
    left_out = [difference[codes != k].mean() for k in range(g)]
    jackknife = (g - 1) / g * sum((x - groups.item_weighted) ** 2 for x in left_out)
    assert robust_errors(groups)["cv3"].se == pytest.approx(math.sqrt(jackknife), rel=1e-9)


def test_cr1_agrees_with_statsmodels():
    difference, codes = data([3, 9, 4, 12, 7, 1, 5])
    fit = sm.OLS(difference, np.ones(len(difference))).fit(
        cov_type="cluster", cov_kwds={"groups": codes, "df_correction": False, "use_correction": False}
    )
    g = 7
    cr1 = robust_errors(cluster_sums(difference, codes))["cr1"].se
    assert cr1 == pytest.approx(fit.bse[0] * math.sqrt(g / (g - 1)), rel=1e-9)


def test_singletons_give_the_ordinary_standard_error():
    difference, codes = data([1] * 25)
    groups = cluster_sums(difference, codes)
    se = difference.std(ddof=1) / 5
    for error in robust_errors(groups).values():
        assert error.se == pytest.approx(se, rel=1e-9)
        assert error.df == pytest.approx(24, rel=1e-9)
    assert intraclass_correlation(difference, codes) is None
    assert design_effect(difference, groups) == pytest.approx(1, rel=1e-9)


def test_icc_by_hand():
    # two clusters of two: means 1 and 0, within each +-1/2
    difference, codes = np.array([0.5, 1.5, -0.5, 0.5]), np.array([0, 0, 1, 1])
    between, within = 1.0, 0.5
    assert intraclass_correlation(difference, codes) == pytest.approx((between - within) / (between + within))


def test_icc_may_be_negative_and_reaches_one():
    codes = np.array([0, 0, 1, 1])
    assert intraclass_correlation(np.array([1.0, -1, 1, -1]), codes) == pytest.approx(-1)
    assert intraclass_correlation(np.array([1.0, 1, -1, -1]), codes) == pytest.approx(1)
    assert intraclass_correlation(np.zeros(4), codes) is None


def test_labels_are_numbered_by_first_appearance():
    assert codes_of(["b", "a", "b", "c"]).tolist() == [0, 1, 0, 2]
    assert codes_of([7, 7, 3]).tolist() == [0, 0, 1]


def test_size_cv():
    assert size_cv(np.array([4.0, 4, 4])) == 0
    assert size_cv(np.array([1.0, 3])) == pytest.approx(0.5)


def test_sums_that_cancel_are_zero():
    groups = cluster_sums(np.array([0.1, 0.2, -0.3, 1.0]), np.array([0, 0, 0, 1]))
    assert groups.sums.tolist() == [0.0, 1.0]


def test_a_million_singletons_need_no_matrix():
    difference, codes = data([1] * 200_000)
    assert robust_errors(cluster_sums(difference, codes))["cr2"].df == pytest.approx(199_999, rel=1e-6)
