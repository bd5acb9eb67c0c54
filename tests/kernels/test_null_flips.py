"""Critical values of flipped sums against every pattern of signs, at levels that p-values meet exactly."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from service.kernels.randomization.null_flips import (
    exact_flips,
    paired_t_critical,
    sign_flip_critical,
    wilcoxon_critical,
)


def list_sums(values):
    """The sum under every pattern of signs."""
    return np.array(list(itertools.product([-1.0, 1.0], repeat=len(values)))) @ np.abs(values)


def share_rejected(sums, alpha):
    """Of all patterns, those whose two-sided p, counted among all of them, is below alpha."""
    p = (np.abs(sums)[:, None] <= np.abs(sums) + 1e-9).mean(axis=1)
    return np.mean(p < alpha)


@pytest.mark.parametrize("values", [[1, 2, 4, 8, 16], [1, 1, 1, 1, 1], [1, -2, 3, 3, 0, 5], [0.5, 0.25, 7]])
@pytest.mark.parametrize("sixteenths", range(1, 13))
def test_the_least_sum_that_rejects_leaves_p_below_alpha(values, sixteenths):
    # Rates are multiples of a power of 1/2 here, so that many a p is the level itself, and rejects nothing.
    values, alpha = np.array(values, float), sixteenths / 16
    sums = list_sums(values)
    critical = sign_flip_critical(values, alpha)
    if critical is None:
        assert share_rejected(sums, alpha) == 0
    else:
        assert np.mean(np.abs(sums) >= critical) == share_rejected(sums, alpha) > 0


def test_sums_that_no_lattice_holds_are_listed_once_each():
    values = np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0])
    sums = list_sums(values)
    for critical in (0.5, 4.0, 8.0, 20.0):
        found = exact_flips(values, critical)
        assert (found.rate, found.n_looked_at) == (np.mean(np.abs(sums) >= critical), 32)


@pytest.mark.parametrize("signed", [[1, 2, 3, 4, 5, 6], [1.5, -1.5, 3, 4, 5], [2, 2, -2, 4.5, 4.5, 6, 7]])
@pytest.mark.parametrize("alpha", [1 / 64, 1 / 32, 0.05, 1 / 16, 1 / 8, 3 / 16, 1 / 4])
def test_the_least_rank_sum_that_rejects_leaves_p_below_alpha(signed, alpha):
    signed = np.array(signed, float)
    sums = list_sums(signed)
    upper = np.array([np.mean(sums >= total - 1e-9) for total in sums])
    critical = wilcoxon_critical(signed, alpha)
    if critical is None:
        assert not np.any(2 * upper < alpha)
    else:
        assert (sums >= critical).tolist() == (2 * upper < alpha).tolist()


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_the_least_sum_that_a_t_test_rejects_has_p_of_alpha(alpha):
    difference = np.array([0.3, -0.1, 0.8, 0.4, 0.25, -0.6, 1.1])
    critical = paired_t_critical(difference, alpha)
    # Flips leave the sum of squares; differences of that sum and those squares are a mean and two values about it.
    n, squares = difference.size, float(difference @ difference)
    mean = critical / n
    spread = np.sqrt((squares - n * mean**2) / 2)
    values = mean + spread * np.array([1.0, -1.0, *[0.0] * (n - 2)])
    assert values @ values == pytest.approx(squares)
    assert stats.ttest_1samp(values, 0).pvalue == pytest.approx(alpha)


@pytest.mark.parametrize("values", [[], [0.0, 0.0]])
def test_nothing_to_flip_has_no_critical_value(values):
    values = np.array(values)
    assert sign_flip_critical(values, 0.05) is None
    assert wilcoxon_critical(values[values != 0], 0.05) is None
    assert paired_t_critical(values, 0.05) is None
