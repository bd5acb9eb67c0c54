"""Standard errors of many simulated data sets: against scipy and against the definition, one set at a time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from service.kernels.planning.simulated_pairs import compute_unpaired, t_interval


@pytest.mark.parametrize("pooled", [False, True])
def test_two_unpaired_arms_are_compared_as_scipy_does(pooled: bool) -> None:
    rng = np.random.default_rng(3)
    before, after = rng.normal(0.2, 1.0, (5, 9)), rng.normal(0.5, 3.0, (5, 9))
    delta, se, df = compute_unpaired(before, after, pooled=pooled)
    low, high = t_interval(delta, se, df, 0.9)
    for at in range(5):
        other = stats.ttest_ind(after[at], before[at], equal_var=pooled)
        ends = other.confidence_interval(0.9)
        assert df[at] == pytest.approx(other.df)
        assert delta[at] / se[at] == pytest.approx(other.statistic)
        assert (low[at], high[at]) == pytest.approx((ends.low, ends.high))


def test_arms_without_spread_have_no_interval() -> None:
    delta, se, df = compute_unpaired(np.zeros((1, 4)), np.ones((1, 4)), pooled=False)
    assert (delta[0], se[0], df[0]) == (1.0, 0.0, 6.0)
    assert np.isnan(t_interval(delta, se, df, 0.95)).all()
