"""The exact power of Welch's test: against its definition, against simulation, and at its limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from service.kernels.planning.power import t_power, welch_se_and_df
from service.kernels.planning.welch_power import welch_power


def by_definition(delta, sd0, sd1, n, alpha):
    """Two-sided: over both sample variances, the chance that the mean difference passes its own critical value."""
    sd = math.sqrt((sd0**2 + sd1**2) / n)
    x, weight = np.polynomial.legendre.leggauss(300)
    variance = stats.chi2.ppf((x + 1) / 2, n - 1) / (n - 1) / n
    w0, w1 = np.meshgrid(sd0**2 * variance, sd1**2 * variance)
    df = (w0 + w1) ** 2 / (w0**2 + w1**2) * (n - 1)
    limit = stats.t.isf(alpha / 2, df) * np.sqrt(w0 + w1)
    rejects = stats.norm.sf((limit - delta) / sd) + stats.norm.cdf((-limit - delta) / sd)
    return weight @ rejects @ weight / 4


@pytest.mark.parametrize(
    ("delta", "sd0", "sd1", "n"), [(3, 1, 2, 4), (1382, 1341, 990, 5), (2, 1, 0.2, 3), (0, 1, 3, 6)]
)
def test_welch_power_by_definition(delta, sd0, sd1, n):
    assert welch_power(delta, sd0, sd1, n, 0.05, "two-sided") == pytest.approx(
        by_definition(delta, sd0, sd1, n, 0.05), abs=1e-5
    )


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize(
    ("delta", "sd0", "sd1", "n"), [(4, 1, 1, 2), (10, 1, 3, 2), (3, 0.5, 2, 3), (1382, 1341, 990, 10)]
)
def test_welch_power_against_the_simulated_test(alternative, delta, sd0, sd1, n):
    rng = np.random.default_rng(n)
    many = 40_000
    x, y = rng.normal(0, sd0, (many, n)), rng.normal(delta, sd1, (many, n))
    p = stats.ttest_ind(y, x, axis=1, equal_var=False, alternative=alternative).pvalue
    found = welch_power(delta, sd0, sd1, n, 0.05, alternative)
    assert abs(float(np.mean(p < 0.05)) - found) < 4 * math.sqrt(max(found * (1 - found), 1e-4) / many)


@pytest.mark.parametrize("n", [2, 3, 7, 50])
def test_an_arm_without_spread_leaves_the_one_sample_test(n):
    assert welch_power(1.3, 1.0, 1e-14, n, 0.05, "two-sided") == pytest.approx(
        t_power(1.3 * math.sqrt(n), n - 1, 0.05, "two-sided"), abs=1e-9
    )


def test_many_runs_leave_the_noncentral_t():
    se, df = welch_se_and_df(1.0, 2.0, 100_000)
    for alternative in ("two-sided", "greater", "less"):
        assert welch_power(2.5 * se, 1.0, 2.0, 100_000, 0.05, alternative) == pytest.approx(
            t_power(2.5, df, 0.05, alternative), abs=1e-5
        )


@pytest.mark.parametrize("n", [2, 2.5, 3, 10, 1e6])
@pytest.mark.parametrize("ratio", [1, 7, 1e3, 1e200])
def test_welch_power_is_a_probability_that_rises_and_mirrors(n, ratio):
    found = [
        welch_power(x * max(1, ratio) / math.sqrt(n), 1.0, ratio, n, 0.05, "two-sided") for x in (0, 1, 3, 9)
    ]
    assert found == sorted(found)
    assert 0 < found[0] <= 0.07
    assert found[-1] <= 1
    up, down = (welch_power(s, 1.0, ratio, n, 0.05, a) for s, a in ((0.7, "greater"), (-0.7, "less")))
    assert up == pytest.approx(down, abs=1e-12)
