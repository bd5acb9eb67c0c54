"""Sequential statistics of many data sets at once, against one data set at a time by SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from service.kernels.planning.simulated_sequences import looks_z


@pytest.mark.parametrize("shift", [-30.0, -0.4, 0.0, 0.4, 30.0])
def test_z_at_looks_has_the_tail_of_the_t_test_so_far(shift):
    """Far out as well, where 1 less the tail would be 1: 30 standard deviations of 60 items."""
    scores = np.random.default_rng(5).normal(shift, 1.0, (4, 60))
    looks = (1, 20, 60)
    z = looks_z(scores, np.ones(60, dtype=np.int64), looks)
    assert np.isnan(z[:, 0]).all()
    for column, units in ((1, 20), (2, 60)):
        so_far = stats.ttest_1samp(scores[:, :units], 0.0, axis=1, alternative="greater")
        upper = so_far.statistic > 0
        expected = np.where(
            upper, stats.norm.isf(so_far.pvalue), stats.norm.ppf(stats.t.cdf(so_far.statistic, units - 1))
        )
        assert z[:, column] == pytest.approx(expected, rel=1e-9)


def test_z_without_spread_is_known_only_where_nothing_differs():
    z = looks_z(np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]), np.ones(3, dtype=np.int64), (3,))
    assert z[0, 0] == 0
    assert np.isnan(z[1, 0])
