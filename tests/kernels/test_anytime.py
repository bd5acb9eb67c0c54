"""E-processes, confidence sequences and orders, by their definitions and by brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.kernels.numeric.order import completion_order, few_runs_p, permutation, sorted_p
from service.kernels.sequential import confidence_sequence as cs
from service.kernels.sequential.e_process import betting_log_e, log_e, running_counts

signs = st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=80).map(np.array)


@pytest.mark.parametrize(("b", "c"), [(0, 0), (1, 0), (3, 1), (5, 5)])
def test_log_e_is_the_mixture_over_shares(b, c):
    shares = (1 - np.cos(np.pi * (np.arange(200_000) + 0.5) / 200_000)) / 2  # uniform in the arcsine law
    mixture = np.mean(shares**b * (1 - shares) ** c) * 2 ** (b + c)
    assert math.exp(log_e(b, c)) == pytest.approx(mixture, rel=1e-6)


def test_e_has_mean_one_over_all_sequences():
    for n in (1, 4, 9):
        b = np.array([sum(s) for s in itertools.product([0, 1], repeat=n)])
        assert np.mean(np.exp(log_e(b, n - b))) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_bets_have_mean_one_over_all_sequences(alternative):
    found = []
    for pattern in itertools.product([-0.8, 0.8], repeat=8):
        sums = np.array(pattern)
        found.append(math.exp(betting_log_e(sums, cs.plug_in_bets(sums, 0.05), alternative)[-1]))
    assert np.mean(found) == pytest.approx(1, rel=1e-12)


def test_no_peeker_gains_more_than_alpha_exactly():
    """Dynamic programming over (b, c): the chance of ever reaching 1/alpha within 400 tosses."""
    alpha, alive, crossed = 0.05, {0: 1.0}, 0.0
    for m in range(1, 401):
        following = {}
        for b, p in alive.items():
            for wins in (b, b + 1):
                if log_e(wins, m - wins) >= -math.log(alpha):
                    crossed += p / 2
                else:
                    following[wins] = following.get(wins, 0) + p / 2
        alive = following
    assert 0.005 < crossed <= alpha


def test_bets_do_not_look_ahead():
    rng = np.random.default_rng(0)
    first = rng.choice([-1.0, 0, 1], 60)
    other = first.copy()
    other[30:] = -1
    same, changed = cs.plug_in_bets(first, 0.05), cs.plug_in_bets(other, 0.05)
    assert np.array_equal(same[:31], changed[:31])
    assert same[31] != changed[31]


def by_definition(sums, alpha, steps=4000):
    """Running limits on a fine grid, written as in the paper: y in [0, 1], mean m."""
    y = (sums + 1) / 2
    m = np.arange(1, steps) / steps
    up, down = np.zeros(len(m)), np.zeros(len(m))
    inside = np.ones(len(m), dtype=bool)
    total = squares = 0.0
    for t, value in enumerate(y, start=1):
        variance = 0.25 if t == 1 else (0.25 + squares) / t
        bet = math.sqrt(2 * math.log(2 / alpha) / (variance * t * math.log(t + 1)))
        up += np.log(1 + np.minimum(bet, 0.5 / m) * (value - m))
        down += np.log(1 - np.minimum(bet, 0.5 / (1 - m)) * (value - m))
        inside &= np.maximum(up, down) + math.log(0.5) < math.log(1 / alpha)
        total += value
        squares += (value - (0.5 + total) / (t + 1)) ** 2
    return (2 * m[inside].min() - 1, 2 * m[inside].max() - 1) if inside.any() else None


@settings(deadline=None, max_examples=30)
@given(signs, st.sampled_from([0.05, 0.2]))
def test_sequence_by_definition(sums, alpha):
    low, high = cs.limits(sums, np.ones(len(sums)), alpha)
    expected = by_definition(sums, alpha)
    if expected is None:
        assert low > high - 1e-3
    else:
        assert (low, high) == pytest.approx(expected, abs=1.1e-3)


@settings(deadline=None, max_examples=30)
@given(signs)
def test_swapping_the_arms_mirrors_the_sequence(sums):
    ones = np.ones(len(sums))
    low, high = cs.limits(sums, ones, 0.05)
    assert cs.limits(-sums, ones, 0.05) == pytest.approx((-high, -low), abs=1e-9)


@settings(deadline=None, max_examples=25)
@given(signs)
def test_curve_runs_inward_and_agrees_with_its_prefixes(sums):
    ones = np.ones(len(sums))
    curve = cs.curve(sums, ones, 0.2)
    assert np.all(np.diff(curve.low) >= 0)
    assert np.all(np.diff(curve.high) <= 0)
    for n in range(1, len(sums) + 1):
        low, high = cs.limits(sums[:n], ones[:n], 0.2)
        assert low - curve.resolution - 1e-9 <= curve.low[n - 1] <= low + 1e-9
        assert high - 1e-9 <= curve.high[n - 1] <= high + curve.resolution + 1e-9
    first = cs.first_exclusion(sums, ones, 0.2, 0.0)
    outside = np.flatnonzero((curve.low > curve.resolution) | (curve.high < -curve.resolution))
    if len(outside):
        assert first is not None
        assert first <= outside[0] + 1


def test_whole_clusters_under_a_cap_hold_the_ratio():
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 6, 400).astype(float)
    sums = np.array([rng.choice([-1, 0, 1], int(n), p=[0.1, 0.5, 0.4]).sum() for n in sizes])
    low, high = cs.limits(sums / 5, sizes / 5, 0.05)
    assert low < 0.3 < high
    assert low > 0
    assert high - low < 0.3


def test_one_item_excludes_nothing():
    assert cs.limits(np.ones(1), np.ones(1), 0.05) == (-1.0, 1.0)


def test_permutation_belongs_to_its_seed():
    assert sorted(permutation(50, 1).tolist()) == list(range(50))
    assert permutation(50, 1).tolist() == permutation(50, 1).tolist()
    assert permutation(50, 1).tolist() != permutation(50, 2).tolist()


def test_clusters_complete_with_their_last_item():
    assert completion_order(np.array([0, 1, 1, 2, 0])).tolist() == [1, 2, 0]


@pytest.mark.parametrize("pattern", ["TFFT", "TTTFF", "TFTFT", "TTTTFFF", "FTTTTT", "TFFFFFFT"])
def test_runs_by_permutation(pattern):
    inside = np.array([x == "T" for x in pattern])
    orders = set(itertools.permutations(inside.tolist()))
    runs = [1 + sum(a != b for a, b in itertools.pairwise(order)) for order in orders]
    seen = 1 + int(np.count_nonzero(inside[1:] != inside[:-1]))
    assert few_runs_p(inside) == pytest.approx(np.mean(np.array(runs) <= seen), rel=1e-10)


def test_sorted_codes_are_improbable_and_shuffled_ones_are_not():
    many, two = np.repeat(np.arange(60), 2), np.repeat([0, 1], 20)
    assert sorted_p(many) < 1e-10
    assert sorted_p(two) < 1e-8
    rng = np.random.default_rng(2)
    for codes in (many, two, np.repeat([0, 1], [998, 2])):
        found = [sorted_p(rng.permutation(codes)) for _ in range(150)]
        assert np.mean(np.array(found) < 0.01) <= 0.035
    assert sorted_p(np.zeros(9, dtype=np.int64)) == 1
    assert sorted_p(np.arange(9)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("true", [0.0, 0.3])
def test_sequence_covers_at_all_n_at_once(true):
    rng, runs, missed = np.random.default_rng(11), 400, 0
    shares = [(0.5 - true) / 2, 0.5, (0.5 + true) / 2]
    for _ in range(runs):
        sums = rng.choice([-1.0, 0.0, 1.0], 500, p=shares)
        missed += cs.first_exclusion(sums, np.ones(500), 0.1, true) is not None
    assert missed / runs <= 0.1 + 3 * math.sqrt(0.09 / runs)


@pytest.mark.slow
def test_e_process_under_peeking_simulated():
    rng, runs = np.random.default_rng(3), 20_000
    b = np.cumsum(rng.random((runs, 300)) < 0.5, axis=1)
    e = log_e(b, np.arange(1, 301) - b)
    share = float(np.mean((e >= math.log(20)).any(axis=1)))
    assert share <= 0.05


def test_running_counts():
    b, c = running_counts(np.array([1.0, 0, -1, 1]))
    assert (b.tolist(), c.tolist()) == ([1, 1, 1, 2], [0, 0, 1, 1])
