"""Chances of a run so low: against every way to draw, against the exact McNemar test, and bounds that hold."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from service.kernels.sequential.bags import RISK, chance_of_coins, chance_of_so_low
from service.kernels.sequential.run_changes import EXPONENTS, chances, likeliest_start, weigh


def by_listing(history, allowed):
    bags = [column[~np.isnan(column)] for column in history.T]
    sums = np.array([sum(draws) for draws in itertools.product(*bags)])
    return float(np.mean(sums <= np.nansum(history[-1]) + allowed + 1e-9))


@st.composite
def histories(draw):
    runs, blocks = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    unit = draw(st.sampled_from([1.0, 0.5, 0.1]))
    cells = st.one_of(st.integers(-3, 3), st.none())
    rows = [[draw(cells) for _ in range(blocks)] for _ in range(runs - 1)]
    rows.append([draw(st.integers(-3, 3)) for _ in range(blocks)])
    return np.array(rows, dtype=float) * unit, draw(st.sampled_from([0.0, 0.1, 1.0]))


@given(histories())
def test_by_listing_every_draw(case):
    history, allowed = case
    assert chance_of_so_low(history, allowed).p == pytest.approx(by_listing(history, allowed), abs=1e-10)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5]))
def test_scores_on_no_grid_have_a_bound_from_above(seed, allowed):
    history = np.random.default_rng(seed).normal(size=(3, 7))
    chance = chance_of_so_low(history, allowed)
    assert not chance.exact
    assert by_listing(history, allowed) <= chance.p + 1e-12


def test_the_bound_of_many_scores_is_near():
    rng = np.random.default_rng(5)
    history = rng.normal(size=(4, 300))
    history[-1] -= 0.2
    draws = history[rng.integers(0, 4, (40_000, 300)), np.arange(300)].sum(axis=1)
    p = float(np.mean(draws <= history[-1].sum()))
    assert p <= chance_of_so_low(history).p <= 1.5 * p


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
def test_one_run_after_one_reference_is_the_exact_mcnemar_test(lost, won, same):
    reference = np.array([1.0] * lost + [0.0] * won + [1.0] * same)
    run = np.array([0.0] * lost + [1.0] * won + [1.0] * same)
    p = stats.binom.cdf(won, lost + won, 0.5) if lost + won else 1.0
    assert chance_of_so_low(np.stack([reference, run])).p == pytest.approx(p, abs=2 * RISK)


def test_coins_from_their_counts_are_coins_from_their_bags():
    rng = np.random.default_rng(3)
    history = (rng.random((6, 400)) < rng.beta(0.5, 0.5, 400)).astype(float)
    ones, sizes, latest = history.sum(axis=0), np.full(400, 6.0), float(history[-1].sum())
    assert chance_of_coins(ones, sizes, latest, 3.0).p == pytest.approx(
        chance_of_so_low(history, 3.0).p, abs=1e-11
    )


def test_impossible_and_certain_sums_have_the_least_chance_and_one():
    assert chance_of_so_low(np.zeros((3, 4))).p == 1
    assert chance_of_so_low(np.ones((1, 4))).p == 1
    falls = np.ones((2, 100))
    falls[-1] = 0
    assert chance_of_so_low(falls).p == pytest.approx(RISK, rel=1e-3)
    assert chance_of_so_low(falls, 100.0).p == 1


def test_chances_of_unchanged_runs_are_no_smaller_than_uniform_and_not_related():
    rng = np.random.default_rng(8)
    shares = rng.beta(0.6, 0.4, 120)
    paths = np.array(
        [
            [low.chance.p for low in chances((rng.random((5, 120)) < shares).astype(float), None, 1, 0.0)]
            for _ in range(400)
        ]
    )
    for at in (0.02, 0.1, 0.3):
        # four p-values of one series all look back at the same reference
        assert (paths <= at).sum() <= stats.binom.ppf(0.9999, paths.size, at)
        both = (paths[:, 0] <= at) & (paths[:, 1] <= at)
        assert both.sum() <= stats.binom.ppf(0.9999, len(paths), at**2)


def test_a_cluster_is_one_block_and_its_items_leave_together():
    values = np.array([[1, 1, 1, 0, 1, 1], [0, 0, 1, 0, 1, 1], [1, np.nan, 1, 0, np.nan, np.nan]])
    codes = np.array([0, 0, 0, 1, 2, 2])
    first, second = chances(values, codes, 1, 0.0)
    # cluster 0 alone varies: sums 3 and 1, then over the two items that are left 2, 1 and 2
    assert (first.chance.p, first.n) == (pytest.approx(0.5), 6)
    assert (second.chance.p, second.n) == (pytest.approx(1.0), 3)


def test_evidence_by_its_definition():
    p = np.array([0.2, 0.9, 0.01, 0.4])
    evidence = weigh(p)
    bets = EXPONENTS * p[:, None] ** (EXPONENTS - 1)
    for last in range(1, 5):
        started = [np.prod(bets[start:last], axis=0) for start in range(last)]
        assert np.exp(evidence.change[last - 1]) == pytest.approx(np.mean(sum(started)))
        stakes = [1 / ((start + 1) * (start + 2)) for start in range(last)]
        staked = sum(np.mean(won) * stake for won, stake in zip(started, stakes, strict=True))
        assert np.exp(evidence.series[last - 1]) == pytest.approx(staked + 1 / (last + 1))
    assert likeliest_start(p) == 2
    assert likeliest_start(p[:2]) == 0


def test_a_bet_on_a_uniform_chance_wins_nothing_on_average():
    for k in EXPONENTS:
        # of k p^(k - 1) from p to 1; the rest is p^k
        won = stats.beta(k, 1)
        assert won.cdf(1) == pytest.approx(1)
    grid = (np.arange(200_000) + 0.5) / 200_000
    upper = EXPONENTS[EXPONENTS >= 0.5]
    assert np.mean(upper * grid[:, None] ** (upper - 1), axis=0) == pytest.approx(1, abs=2e-3)
