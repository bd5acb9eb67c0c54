from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.kernels.effects.effect_sizes import pooled_sd, small_sample_factor, standardize
from service.kernels.numeric.moments import difference_noise, moments, paired_differences

PATIENT = settings(deadline=None, max_examples=60)


@PATIENT
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40))
def test_moments_agree_with_numpy(values):
    array = np.array(values)
    found = moments(array)
    assert found.mean == pytest.approx(array.mean(), rel=1e-12, abs=1e-9)
    assert found.sd == pytest.approx(array.std(ddof=1), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1.0, 1e140])
def test_scale_moves_the_sd_and_nothing_else(scale):
    found = moments(scale * np.array([1.0, 2.0, 3.0, 4.0]))
    assert found.sd / scale == pytest.approx(1.2909944487358056, rel=1e-12)


def test_equal_values_have_a_spread_of_exactly_zero():
    # the mean of three 0.1 is not 0.1 in floats
    found = moments(np.full(3, 0.1))
    assert (found.mean, found.sd) == (0.1, 0.0)


def test_one_value_has_no_sd():
    assert moments(np.array([3.0])).sd is None
    assert moments(np.array([3.0])).se is None


def test_differences_that_rounding_alone_tells_apart_are_one():
    before = np.array([1000.1 * k + 0.3 for k in range(1, 9)])
    assert np.ptp((before + 0.1) - before) > 0
    assert np.ptp(paired_differences(before, before + 0.1)) == 0
    apart = before + 0.1 + 1e-9 * np.arange(8)
    assert np.array_equal(paired_differences(before, apart), apart - before)
    assert len(paired_differences(before[:0], before[:0])) == 0


def test_rounding_noise_of_differences_counts_as_constant():
    baseline, candidate = np.array([0.1, 0.2, 0.3]), np.array([0.3, 0.4, 0.5])
    difference = candidate - baseline
    assert np.ptp(difference) > 0
    assert moments(difference, difference_noise(baseline, candidate)).sd == 0.0


@pytest.mark.parametrize(
    ("df", "factor"), [(2, 0.5641895835477563), (8, 0.9027033336764101), (38, 0.9801104021309462)]
)
def test_small_sample_factor_against_gamma_functions(df, factor):
    assert small_sample_factor(df) == pytest.approx(factor, rel=1e-9)


def test_small_sample_factor_is_continuous_where_the_series_takes_over():
    assert small_sample_factor(10_000) == pytest.approx(small_sample_factor(10_001), abs=1e-8)
    assert small_sample_factor(1) is None
    assert small_sample_factor(1e9) == pytest.approx(1, abs=1e-8)


def test_pooled_sd_weights_by_degrees_of_freedom():
    first, second = moments(np.array([1.0, 3.0])), moments(np.array([2.0, 4.0, 9.0]))
    expected = ((first.sd**2 + 2 * second.sd**2) / 3) ** 0.5
    assert pooled_sd(first, second) == pytest.approx(expected, rel=1e-12)
    assert pooled_sd(moments(np.array([1.0])), moments(np.array([2.0]))) is None
    assert pooled_sd(moments(np.full(2, 1.0)), moments(np.full(4, 2.0))) == 0.0


@PATIENT
@given(st.floats(-5, 5), st.integers(2, 200))
def test_standardized_interval_holds_its_estimate(d, n):
    effect = standardize(d, 1.0, n / 2, 2 * n - 2, 0.95)
    assert effect.low < effect.estimate < effect.high


def test_differences_that_rounding_alone_makes_are_none_in_any_order():
    """An item a digit off beside two that are alike was three discordant items, or none, by which came first."""
    before, after = np.array([1.0, 1.0, 1.0]), np.array([1 + 2**-52, 1.0, 1.0])
    for order in ([0, 1, 2], [1, 2, 0]):
        assert paired_differences(before, after[order]).tolist() == [0.0, 0.0, 0.0]
    tenths = np.arange(9) / 10
    shifted = paired_differences(tenths, tenths + 0.1)
    assert np.array_equal(shifted, paired_differences(tenths[::-1], tenths[::-1] + 0.1))
    assert shifted[0] == pytest.approx(0.1, abs=1e-16)
