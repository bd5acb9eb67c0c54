"""Intervals for all n at once against the same interval one n at a time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from service.kernels.bootstrap import cumulative


def test_percentile_by_brute_force():
    difference = np.array([1.0, 0, 1, -1, 0, 0, 1])
    grid = np.array(np.meshgrid(*[difference] * 7)).reshape(7, -1).mean(axis=0)
    low, high = cumulative.percentile_intervals(np.array([3.0]), np.array([1.0]), np.array([7.0]), 0.9)
    expected = np.quantile(grid, [0.05, 0.95], method="inverted_cdf")
    assert (low[0], high[0]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_cornish_fisher_is_near_the_drawn_bootstrap(shift):
    rng = np.random.default_rng(4)
    values = rng.gamma(1.5, 1.0, 60) + shift
    low, high, error = cumulative.cornish_fisher_intervals(values, 0.95)
    for n in (25, 60):
        drawn = values[:n][rng.integers(0, n, (40_000, n))].mean(axis=1)
        ends = np.percentile(drawn, [2.5, 97.5])
        slack = 4 * 0.012 * drawn.std() + error[n - 1]
        assert abs(low[n - 1] - ends[0]) < slack
        assert abs(high[n - 1] - ends[1]) < slack
    assert error[59] < error[24]
    # closer than the plain normal interval, on this skewed sample
    normal = values.mean() - 1.96 * values.std() / np.sqrt(60)
    assert abs(low[-1] - ends[0]) < abs(normal - ends[0])


def test_t_is_scipys():
    values = np.random.default_rng(1).normal(3, 2, 40)
    low, high = cumulative.t_intervals(values, 0.9)
    for n in (2, 7, 40):
        expected = stats.ttest_1samp(values[:n], 0).confidence_interval(0.9)
        assert (low[n - 1], high[n - 1]) == pytest.approx((expected.low, expected.high), rel=1e-9)
    assert np.isnan(low[0])


@pytest.mark.parametrize("values", [np.full(5, 2.5), np.zeros(4), np.ones(1)])
def test_what_does_not_vary_has_no_interval(values):
    for ends in (cumulative.t_intervals(values, 0.95), cumulative.cornish_fisher_intervals(values, 0.95)[:2]):
        assert np.isnan(ends).all()


def test_seed_band_is_the_published_code():
    rng = np.random.default_rng(8)
    c1, c3 = rng.integers(0, 2, 16).tolist(), rng.integers(0, 2, 16).tolist()
    los, his = [], []
    rng = np.random.default_rng(42)
    for n in range(10, len(c1) + 1):
        a, b = np.array(c1[:n]), np.array(c3[:n])
        boots = [
            (b[rng.choice(n, n, replace=True)].mean() - a[rng.choice(n, n, replace=True)].mean()) * 100
            for _ in range(500)
        ]
        lo, hi = np.percentile(boots, [2.5, 97.5])
        los.append(lo)
        his.append(hi)
    low, high = cumulative.seed_intervals(np.array(c1, dtype=float), np.array(c3, dtype=float), 10)
    assert 100 * low == pytest.approx(los, abs=1e-12)
    assert 100 * high == pytest.approx(his, abs=1e-12)
