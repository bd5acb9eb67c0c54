from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.kernels.bootstrap import bootstrap_intervals as intervals
from service.kernels.bootstrap import independent_bootstrap as bootstrap
from tests.drawing import draws
from tests.kernels.drawn import draw_estimates

PATIENT = settings(deadline=None, max_examples=draws(60))

ODD = np.array([0.0, 1.0, np.pi, 2 * np.e])


def brute(samples):
    """Every resample of every sample: values and equal probabilities."""
    means = [np.array([np.mean(pick) for pick in product(sample, repeat=sample.size)]) for sample in samples]
    return means[0] if len(means) == 1 else np.subtract.outer(means[1], means[0]).ravel()


def samples_of(*kinds):
    return st.tuples(*(st.lists(kind, min_size=2, max_size=4).map(np.array) for kind in kinds))


lattice_values = st.integers(-3, 5).map(lambda k: k / 10)
odd_values = st.sampled_from(list(ODD))


@PATIENT
@given(st.one_of(samples_of(lattice_values, lattice_values), samples_of(odd_values, odd_values)))
def test_exact_distribution_by_enumeration(samples):
    distribution = bootstrap.exact_bootstrap(samples)
    expected = brute(samples)
    for x in np.unique(expected):
        assert distribution.at_most(x) == pytest.approx(np.mean(expected <= x + 1e-8), abs=1e-10)
        assert distribution.at_least(x) == pytest.approx(np.mean(expected >= x - 1e-8), abs=1e-10)
        assert distribution.at_most(x, strict=True) == pytest.approx(np.mean(expected < x - 1e-8), abs=1e-10)
        assert distribution.at_least(x, strict=True) == pytest.approx(np.mean(expected > x + 1e-8), abs=1e-10)
    assert distribution.moments() == pytest.approx((expected.mean(), expected.std()), abs=1e-9)


def test_routes_are_taken_as_described():
    rng = np.random.default_rng(5)
    assert isinstance(bootstrap.exact_bootstrap([rng.normal(size=300).round(2)]), bootstrap.OnLattice)
    assert isinstance(bootstrap.exact_bootstrap([rng.normal(size=9)]), bootstrap.Listed)
    assert bootstrap.exact_bootstrap([rng.normal(size=30)]) is None


@pytest.mark.parametrize("sizes", [(25, 25), (20, 31)])
def test_draws_agree_with_the_exact_distribution(sizes):
    rng = np.random.default_rng(1)
    samples = [rng.normal(size=n).round(1) for n in sizes]
    exact, drawn = bootstrap.exact_bootstrap(samples), draw_estimates(samples, 20_000, 7)
    assert drawn.moments() == pytest.approx(exact.moments(), rel=0.03, abs=0.02)
    for q in (0.025, 0.5, 0.975):
        assert drawn.quantile(q) == pytest.approx(exact.quantile(q), abs=0.06 * exact.moments()[1] + 0.01)


def test_seed_decides_the_draws_and_more_draws_begin_with_the_same():
    samples = [np.arange(40.0) ** 1.1]
    first, again = draw_estimates(samples, 1_000, 1), draw_estimates(samples, 1_000, 1)
    assert np.array_equal(first.values, again.values)
    assert not np.array_equal(first.values, draw_estimates(samples, 1_000, 2).values)
    longer = draw_estimates(samples, 1_500, 1)
    assert set(first.values) <= set(longer.values)


def test_drawn_tails_are_never_zero():
    drawn = draw_estimates([np.arange(1.0, 31.0) ** 1.5], 200, 0)
    assert drawn.at_most(-1.0) == 1 / 201
    assert drawn.at_least(-1.0) == 1.0


def test_bca_reading_and_its_inverse_undo_each_other():
    for q in (0.001, 0.025, 0.4, 0.9, 0.995):
        assert intervals.bca_tail(intervals.bca_level(q, 0.12, 0.05), 0.12, 0.05) == pytest.approx(
            q, rel=1e-9
        )
    assert intervals.bca_level(0.3, 0.0, 0.0) == pytest.approx(0.3)
    assert intervals.bca_level(0.999, 3.0, 0.5) is None


def test_symmetric_data_need_no_bca_correction():
    samples = [np.array([-3.0, -1.0, 0.0, 1.0, 3.0])]
    z0, a = bootstrap.bca_constants(samples, bootstrap.exact_bootstrap(samples))
    assert (z0, a) == pytest.approx((0.0, 0.0), abs=1e-12)


def test_acceleration_of_two_samples_by_its_formula():
    x, y = np.array([1.0, 2.0, 9.0]), np.array([0.0, 4.0, 5.0, 30.0])
    u = [-(x - x.mean()), y - y.mean()]
    cubes = sum((v**3).sum() / v.size**3 for v in u)
    squares = sum((v**2).sum() / v.size**2 for v in u)
    _, a = bootstrap.bca_constants([x, y], bootstrap.exact_bootstrap([x, y]))
    assert a == pytest.approx(cubes / (6 * squares**1.5), rel=1e-12)
