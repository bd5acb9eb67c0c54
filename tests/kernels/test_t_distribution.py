from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from service.kernels.numeric.t_distribution import (
    noncentral_t_cdf,
    noncentral_t_sf,
    noncentrality_interval,
    t_tail,
)
from tests.drawing import draws

PATIENT = settings(deadline=None, max_examples=draws(60))


def test_far_tail_is_a_tail_and_not_one_minus_cdf():
    assert t_tail(9.0, 10_000) == pytest.approx(2.6678432694686606e-19, rel=1e-9)
    assert t_tail(-9.0, 10_000, "less") == pytest.approx(2.6678432694686606e-19 / 2, rel=1e-9)
    assert t_tail(9.0, 10_000, "less") == 1.0


@PATIENT
@given(
    df=st.floats(1, 1e6),
    t=st.floats(-60, 60),
    shift=st.floats(-8, 8),
)
def test_noncentral_cdf_agrees_with_scipy(df, t, shift):
    nc = t + shift
    theirs = float(special.nctdtr(df, nc, t))
    # scipy answers nan for some huge |nc|
    assert noncentral_t_cdf(t, df, nc) == pytest.approx(theirs, abs=2e-10) or math.isnan(theirs)


@pytest.mark.parametrize("df", [1, 2.5, 8, 33.5, 1000, 2e6])
def test_central_case_is_students_t(df):
    for t in (-5.0, -0.3, 0.0, 0.7, 2.0, 40.0):
        assert noncentral_t_cdf(t, df, 0.0) == pytest.approx(float(special.stdtr(df, t)), abs=1e-11)


@PATIENT
@given(df=st.floats(1, 1e5), t=st.floats(-1e4, 1e4), nc=st.floats(-1e4, 1e4))
def test_cdf_and_sf_add_up_and_stay_probabilities(df, t, nc):
    cdf, sf = noncentral_t_cdf(t, df, nc), noncentral_t_sf(t, df, nc)
    assert 0 <= cdf <= 1
    assert cdf + sf == pytest.approx(1, abs=1e-10)


@PATIENT
@given(df=st.integers(1, 100_000), t=st.floats(-1e6, 1e6), level=st.sampled_from([0.8, 0.95, 0.999]))
def test_interval_ends_put_back_give_the_tails(df, t, level):
    low, high = noncentrality_interval(t, df, level)
    tail = (1 - level) / 2
    assert low < high
    assert noncentral_t_cdf(t, df, low) == pytest.approx(1 - tail, abs=1e-7)
    assert noncentral_t_cdf(t, df, high) == pytest.approx(tail, abs=1e-7)


def test_interval_is_mirrored_with_its_t():
    low, high = noncentrality_interval(3.0, 7, 0.9)
    mirrored = noncentrality_interval(-3.0, 7, 0.9)
    assert mirrored == pytest.approx((-high, -low), rel=1e-9)


def test_huge_noncentrality_takes_no_series():
    # scipy's series takes seconds here; the chi part alone decides
    expected = float(stats.chi2.cdf(8.0, 8))
    assert noncentral_t_sf(1e6, 8, 1e6) == pytest.approx(expected, abs=1e-6)
    assert math.isfinite(noncentrality_interval(1e12, 3, 0.95)[0])


@pytest.mark.parametrize("df", [1.0, 1.05, 1.5, 1.99])
@pytest.mark.parametrize("nc", [-1.0, 0.0, 2.0])
def test_few_degrees_of_freedom_agree_with_the_integral_over_the_chi(df, nc):
    """With scipy's `nct`, whose series converge here."""
    for t in (1.6, 2.5, 12.0, 1e6):
        assert noncentral_t_cdf(t, df, nc) == pytest.approx(float(stats.nct.cdf(t, df, nc)), abs=1e-9)
