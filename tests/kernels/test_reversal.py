"""Gail and Simon's test: against the published table and examples, simulation of its worst case, and its properties."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as reference

from service.kernels.multiplicity.reversal import Reversal, mixture_tail, of_sides

TABLE = {
    2: 2.71,
    3: 4.23,
    4: 5.43,
    5: 6.50,
    6: 7.48,
    7: 8.41,
    8: 9.29,
    9: 10.15,
    10: 10.99,
    20: 18.57,
    30: 25.50,
}
"""Gail & Simon (1985), table 1: 5 % points by the number of subsets."""


@pytest.mark.parametrize(("slices", "critical"), TABLE.items())
def test_against_the_published_table(slices, critical):
    assert mixture_tail(critical - 0.006, slices) > 0.05 > mixture_tail(critical + 0.006, slices)


def gail_simon(differences, errors) -> Reversal:
    """From differences and their standard errors, as the paper writes it."""
    z = np.asarray(differences) / np.asarray(errors)
    return of_sides(np.maximum(z, 0.0), np.maximum(-z, 0.0))


def test_against_the_published_example():
    """Breast cancer, PF against PFT by age and receptor: differences of disease-free shares at 3 years."""
    found = gail_simon([0.163, -0.114, -0.047, -0.151], [0.0788, 0.0689, 0.0614, 0.0547])
    assert found.above == pytest.approx(4.28, abs=0.005)
    assert found.p == pytest.approx(0.0877, abs=5e-5)


def test_agrees_with_scipy_distributions():
    """As the R package biostatUZH and SAS PROC FREQ write the mixture."""
    for slices in (2, 3, 7):
        h = np.arange(1, slices)
        for q in (0.3, 2.5, 40.0):
            expected = np.sum(reference.binom.pmf(h, slices - 1, 0.5) * reference.chi2.sf(q, h))
            assert mixture_tail(q, slices) == pytest.approx(expected, rel=1e-12)


def test_two_slices_are_half_a_chi_square():
    assert gail_simon([2.0, -1.5], [1.0, 1.0]).p == pytest.approx(0.5 * reference.chi2.sf(2.25, 1))


def test_the_level_at_the_worst_case():
    """One slice far on one side, the others at 0: the p-value is uniform below 1 - 2^-(slices - 1)."""
    rng = np.random.default_rng(1)
    drawn = rng.standard_normal((20_000, 4))
    drawn[:, 0] += 1e3
    p = np.array([gail_simon(row, np.ones(4)).p for row in drawn[:4000]])
    for level in (0.05, 0.2):
        assert abs((p <= level).mean() - level) < 4 * np.sqrt(level * (1 - level) / len(p))


def test_one_sign_shows_no_reversal():
    assert gail_simon([1.0, 2.0, 0.0], [1.0, 1.0, 1.0]).p == 1.0
    assert gail_simon([-1.0, -2.0], [1.0, 1e-9]).p == 1.0


def test_sides_and_order_and_scale_do_not_matter():
    d, se = np.array([0.5, -2.0, 1.1]), np.array([0.4, 0.9, 0.6])
    p = gail_simon(d, se).p
    assert gail_simon(-d, se).p == p
    assert gail_simon(d[::-1], se[::-1]).p == pytest.approx(p, rel=1e-12)
    assert gail_simon(1e-6 * d, 1e-6 * se).p == pytest.approx(p, rel=1e-12)


def test_far_tails_keep_their_size():
    assert 0 < mixture_tail(1400.0, 3) < 1e-290
