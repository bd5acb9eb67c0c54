"""The bootstrap of a ratio of sums against every resample, against drawing, and route against route."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from service.kernels.bootstrap.ratio_bootstrap import enumerate_resamples, on_grid, ratio_bootstrap
from service.kernels.bootstrap.ratio_inversion import Inverted
from service.kernels.exact import lattice, multisets

clusters = st.integers(1, 5).flatmap(
    lambda g: st.tuples(
        st.lists(st.integers(-6, 6), min_size=g, max_size=g),
        st.lists(st.integers(1, 9), min_size=g, max_size=g),
    )
)


def every_resample(sums, sizes):
    """The ratio of each of the G^G equally likely resamples."""
    g = len(sums)
    picks = np.array(list(itertools.product(range(g), repeat=g)))
    return sums[picks].sum(axis=1) / sizes[picks].sum(axis=1)


@settings(deadline=None, max_examples=60)
@given(clusters, st.integers(-6, 6), st.integers(1, 12))
def test_enumeration_by_definition(data, numerator, denominator):
    sums, sizes = (np.array(column, dtype=float) for column in data)
    found, ratios = enumerate_resamples(sums, sizes), every_resample(sums, sizes)
    r = numerator / denominator
    tie = 1e-12 * max(np.abs(ratios).max(), 1e-300)
    assert found.at_most(r) == pytest.approx(np.mean(ratios <= r + tie), abs=1e-12)
    assert found.at_most(r, strict=True) == pytest.approx(np.mean(ratios < r - tie), abs=1e-12)
    assert found.at_least(r) == pytest.approx(np.mean(ratios >= r - tie), abs=1e-12)
    assert found.at_least(r, strict=True) == pytest.approx(np.mean(ratios > r + tie), abs=1e-12)
    mean, sd = found.moments()
    assert mean == pytest.approx(ratios.mean(), abs=1e-12)
    assert sd == pytest.approx(ratios.std(), abs=1e-9)
    for q in (0.025, 0.3, 0.5, 0.975):
        expected = np.quantile(ratios, q, method="inverted_cdf")
        shares = [np.mean(ratios <= x + tie) for x in (found.quantile(q), expected)]
        assert shares[0] >= q - 1e-9
        assert shares[0] == pytest.approx(shares[1], abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(clusters, st.sampled_from([1.0, 0.25, 1 / 3, 1e6]), st.integers(-6, 6))
def test_the_joint_distribution_by_definition(data, unit, shift):
    sums, sizes = (np.array(column, dtype=float) for column in data)
    sums = unit * (sums + shift * sizes)
    found, ratios = on_grid(sums, sizes), every_resample(sums, sizes)
    tie = 1e-12 * max(np.abs(ratios).max(), 1e-300)
    for r in (*np.unique(ratios)[:: max(1, len(ratios) // 20)], 0.0, unit * shift):
        assert found.at_most(r) == pytest.approx(np.mean(ratios <= r + tie), abs=1e-12)
        assert found.at_least(r) == pytest.approx(np.mean(ratios >= r - tie), abs=1e-12)
        assert found.at_most(r, strict=True) == pytest.approx(np.mean(ratios < r - tie), abs=1e-12)
    assert found.moments() == pytest.approx((ratios.mean(), ratios.std()), abs=1e-7 * unit)
    for q in (0.025, 0.05, 0.5, 0.975):
        shares = [np.mean(ratios <= x) for x in (found.quantile(q) + tie, found.quantile(q) - tie)]
        assert shares[0] >= q - 1e-9
        assert shares[1] < q


def few_kinds():
    """Clusters of four kinds of (size, difference): the interval touches 0."""
    sizes = np.repeat([1.0, 2.0, 3.0, 3.0], [6, 2, 2, 4])
    return np.repeat([0.0, 1.0, -1.0, 2.0], [6, 2, 2, 4]), sizes


def test_few_kinds_of_clusters_are_listed():
    sums, sizes = few_kinds()
    found = ratio_bootstrap(sums, sizes)
    assert (found.route, len(found.ratios)) == ("enumeration", math.comb(17, 3))
    # drawing 10,000 times with the usual seed says .0303
    assert found.quantile(0.025) == 0.0
    assert on_grid(sums, sizes).quantile(0.025) == 0.0
    # P(ratio <= 0) = P(sum of D <= 0): one sum of 14 draws
    below = lattice.distribution(lattice.resample_groups(sums.astype(int))).at_most(0)
    assert found.at_most(0.0) == pytest.approx(below, abs=1e-13)
    assert below > 0.025


@pytest.mark.parametrize("g", [13, 25, 60])
def test_the_joint_distribution_agrees_with_one_sum_per_ratio(g):
    """P(ratio <= p / q) = P(sum of q D - p N <= 0), a sum on a lattice of its own."""
    rng = np.random.default_rng(g)
    sizes = rng.integers(1, 12, g)
    sums = np.rint(sizes * rng.normal(0.05, 0.3, g)).astype(np.int64)
    found = on_grid(sums.astype(float), sizes.astype(float))
    for p, q in ((0, 1), (1, 50), (-1, 30), (2, 15), (int(sums.sum()), int(sizes.sum()))):
        one = lattice.distribution(lattice.resample_groups(q * sums - p * sizes))
        for strict in (False, True):
            assert found.at_most(p / q, strict=strict) == pytest.approx(one.at_most(-strict), abs=1e-11)
            assert found.at_least(p / q, strict=strict) == pytest.approx(one.at_least(strict), abs=1e-11)
    assert found.probabilities.sum() == pytest.approx(1, abs=1e-11)


@pytest.mark.slow
def test_the_joint_distribution_agrees_with_drawing():
    rng = np.random.default_rng(4)
    sizes = rng.integers(1, 9, 90).astype(float)
    sums = np.rint(sizes * rng.normal(0.05, 0.3, 90))
    found = ratio_bootstrap(sums, sizes)
    assert found.route == "lattice"
    counts = rng.multinomial(90, np.full(90, 1 / 90), 200_000)
    ratios = counts @ sums / (counts @ sizes)
    for r in (*np.quantile(ratios, [0.02, 0.5, 0.97]).tolist(), 0.0):
        share = np.mean(ratios <= r + 1e-12)
        assert found.at_most(r) == pytest.approx(
            share, abs=4.5 * math.sqrt(share * (1 - share) / len(ratios))
        )
    assert found.moments()[0] == pytest.approx(ratios.mean(), abs=5 * ratios.std() / math.sqrt(len(ratios)))
    assert found.moments()[1] == pytest.approx(ratios.std(), rel=0.01)


def test_sizes_too_large_for_a_window_take_another_way():
    rng = np.random.default_rng(8)
    sizes = rng.integers(1, 10**7, 40).astype(float)
    assert on_grid(np.rint(sizes * rng.normal(size=40)), sizes) is None


def test_multisets_of_kinds_are_those_of_items():
    rows = np.array([[1.0, 2.0], [0.3, 1.0], [-0.7, 5.0]])
    copies = np.array([3, 1, 2])
    items = np.repeat(rows, copies, axis=0)
    picks = np.array(list(itertools.product(range(6), repeat=6)))
    found, probabilities = multisets.totals(rows, copies)
    assert len(found) == multisets.number(3, 6)
    for column in (0, 1):
        every = items[picks][:, :, column].sum(axis=1)
        for x in np.unique(np.round(every, 9)):
            at = np.abs(found[:, column] - x) < 1e-6
            assert probabilities[at].sum() == pytest.approx(np.mean(np.abs(every - x) < 1e-6), abs=1e-13)


def test_twelve_clusters_are_enumerated_within_a_second():
    sums, sizes = np.arange(12.0) - 4, np.arange(12.0) * 7 + 3
    started = time.process_time()
    found = ratio_bootstrap(sums, sizes)
    assert time.process_time() - started < 3
    assert len(found.ratios) == math.comb(23, 12)
    assert found.probabilities.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("g", [13, 20, 60])
def test_inversion_agrees_with_drawing(g):
    rng = np.random.default_rng(g)
    sizes = rng.integers(1, 60, g).astype(float)
    sums = np.rint(sizes * rng.normal(0.05, 0.15, g))
    found = Inverted(sums, sizes)
    counts = rng.multinomial(g, np.full(g, 1 / g), 200_000)
    ratios = counts @ sums / (counts @ sizes)
    for r in (*np.quantile(ratios, [0.02, 0.5, 0.97]), 0.0):
        share = np.mean(ratios <= r)
        noise = 4 * math.sqrt(max(share * (1 - share), 1e-6) / len(ratios))
        assert found.at_most(float(r)) == pytest.approx(share, abs=noise + 2 * found.error)
    mean, sd = found.moments()
    assert mean == pytest.approx(ratios.mean(), abs=5 * ratios.std() / math.sqrt(len(ratios)))
    assert sd == pytest.approx(ratios.std(), rel=0.01)
    low, high = found.quantile(0.025), found.quantile(0.975)
    assert low == pytest.approx(np.quantile(ratios, 0.025), abs=0.03 * sd)
    assert high == pytest.approx(np.quantile(ratios, 0.975), abs=0.03 * sd)


def test_inversion_agrees_with_enumeration():
    sums = np.array([2, 2, -1, 1, 0, 0, -4, 1, -2, 1, -5, 4.0])
    sizes = np.array([22, 231, 34, 2, 1, 8, 22, 10, 19, 32, 44, 75.0])
    exact, found = enumerate_resamples(sums, sizes), Inverted(sums, sizes)
    sd = exact.moments()[1]
    for q in (0.025, 0.05, 0.5, 0.95, 0.975):
        assert found.quantile(q) == pytest.approx(exact.quantile(q), abs=2e-3 * sd)
    # at 0 and at 2 delta the terms are on a lattice: the whole atom is seen
    for r in (0.0, -0.004):
        assert found.at_most(r) == pytest.approx(exact.at_most(r), abs=1e-9)
        assert found.at_most(r, strict=True) == pytest.approx(exact.at_most(r, strict=True), abs=1e-9)
        assert found.at_least(r) == pytest.approx(exact.at_least(r), abs=1e-9)
    np.testing.assert_allclose(found.moments(), exact.moments(), rtol=2e-3)


def test_inverted_error_bounds_what_rounding_does():
    rng = np.random.default_rng(3)
    sums, sizes = rng.normal(size=12), rng.uniform(1, 5, 12)
    exact, found = enumerate_resamples(sums, sizes), Inverted(sums, sizes)
    for r in np.linspace(*np.quantile(exact.ratios, [0.01, 0.99]), 15).tolist():
        _, low, high = found._round_off(r, 2**14)
        assert low - 1e-9 <= exact.at_most(r) <= high + 1e-9


def test_inverted_error_covers_the_whole_of_an_atom():
    """Sums on a grid but for one: what lies at 0 is an atom, and the value is its upper end, not its middle."""
    sums = np.array([-3, -3, 1, 2, 3, 27.10191137, 4, -1, 4, -1, -1, 2, 2, -2, 0, 0, 0, 1, 2, 3], dtype=float)
    sizes = np.array([3] * 6 + [4] + [5, 5, 1, 1, 1, 1] + [2] * 7, dtype=float)
    found = Inverted(sums, sizes)
    drawn = np.random.default_rng(5).integers(0, 20, (200_000, 20))
    ratio = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    below, above = found.at_most(0.0, strict=True), found.at_most(0.0)
    for value, share in ((below, np.mean(ratio < -1e-9)), (above, np.mean(ratio <= 1e-9))):
        assert abs(value - share) <= found.error_at(0.0) + 4 * math.sqrt(share * (1 - share) / 200_000)


def test_equal_clusters_use_the_lattice():
    sums = np.array([1, 0, 2, -1, 1, 0, 0, 1, 3, -2, 1, 1, 0, 1.0])
    found = ratio_bootstrap(sums, np.full(14, 5.0))
    assert found.route == "lattice"
    rng = np.random.default_rng(0)
    draws = sums[rng.integers(0, 14, (100_000, 14))].mean(axis=1) / 5
    assert found.at_most(0.0) == pytest.approx(np.mean(draws <= 0), abs=0.005)
    assert found.moments()[0] == pytest.approx(sums.mean() / 5, abs=1e-12)


def test_scores_on_a_grid_use_the_lattice():
    rng = np.random.default_rng(5)
    scores = np.round(rng.normal(0.02, 0.2, 400), 2)
    found = ratio_bootstrap(scores, np.ones(400))
    assert found.route == "lattice"
    assert found.moments()[1] == pytest.approx(scores.std() / 20, rel=1e-9)


@pytest.mark.parametrize("g", [2, 3, 13, 40])
def test_clusters_that_do_not_vary_give_one_point(g):
    found = ratio_bootstrap(np.full(g, 2.0), np.full(g, 8.0))
    assert (found.quantile(0.025), found.quantile(0.975)) == (0.25, 0.25)
    assert found.at_least(0.25) == pytest.approx(1)
    assert found.at_least(0.25, strict=True) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("g", [15])
def test_proportional_sums_give_one_point_by_inversion(g):
    sizes = np.arange(1.0, g + 1)
    found = Inverted(sizes * 0.5, sizes)
    assert found.quantile(0.3) == 0.5
    assert found.moments() == (0.5, 0.0)
    on_a_grid = ratio_bootstrap(sizes * 0.5, sizes)
    assert on_a_grid.quantile(0.3) == 0.5
    assert on_a_grid.moments() == pytest.approx((0.5, 0.0), abs=1e-15)


def test_one_dominant_cluster():
    sizes = np.array([10_000.0, *[1.0] * 14])
    sums = np.array([0.0, *[1.0, -1.0] * 7])
    found = Inverted(sums, sizes)
    # the terms differ so much in size that rounding hides the small ones: the error says so
    assert found.error > 0.05
    # without the large cluster the ratio is a sum of 15 coins over 15, with it next to nothing
    # three kinds of clusters: listing them tells all
    without = (14 / 15) ** 15
    expected = 1 - without + without * stats.binom.cdf(8, 15, 0.5)
    _, low, high = found._round_off(0.1, 2**18)
    assert low <= expected <= high
    for exact in (ratio_bootstrap(sums, sizes), on_grid(sums, sizes)):
        assert exact.at_most(0.1) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("g", [40, 120])
def test_a_tail_knows_its_own_error(g):
    """Tails are told to 1e-5 though the ends of intervals are not; the grid's bounds are another way to them."""
    rng = np.random.default_rng(g)
    sizes = rng.integers(3, 20, g).astype(float)
    sums = sizes * rng.normal(0.03, 0.05, g)
    found = ratio_bootstrap(sums, sizes)
    assert isinstance(found, Inverted)
    for r in (0.0, found.estimate / 2, 2 * found.estimate):
        _, low, high = found._bound(r, 2**20)
        assert found.error_at(r) < 2e-5
        assert low - found.error_at(r) <= found.at_most(r) <= high + found.error_at(r)
