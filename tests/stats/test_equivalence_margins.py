"""Evidence of equivalence from a standard error, by the definition of two one-sided tests."""

from __future__ import annotations

import pytest
from scipy import stats

from service.stats.equivalence.margins import of_t


@pytest.mark.parametrize("df", [0.6, 1.0, 2.0, 30.0])
def test_two_one_sided_t_tests_at_any_degrees_of_freedom(df):
    """Few unequal clusters leave one degree of freedom, or less."""
    delta, se, margin, alpha = 0.02, 0.03, 0.1, 0.05
    evidence = of_t("t", delta, (se, df), margin, alpha)
    assert evidence.p_lower == pytest.approx(stats.t.sf((delta + margin) / se, df))
    assert evidence.p_upper == pytest.approx(stats.t.cdf((delta - margin) / se, df))
    low, high = stats.t.interval(1 - 2 * alpha, df, delta, se)
    assert (evidence.low, evidence.high) == pytest.approx((low, high))


@pytest.mark.parametrize("error", [(0.0, 5.0), (0.1, 0.0)])
def test_without_spread_or_degrees_of_freedom_nothing_is_decided(error):
    evidence = of_t("t", 0.02, error, 0.1, 0.05)
    assert (evidence.low, evidence.high, evidence.p_lower, evidence.p_upper) == (None,) * 4
    assert [warning.code for warning in evidence.warnings] == ["DEGENERATE"]
