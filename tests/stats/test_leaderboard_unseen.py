"""Scores of several arms: no pair is told apart by what was seen alone, where rare outcomes may not have been."""

from __future__ import annotations

import numpy as np
import pytest

from service.stats.leaderboard import unseen
from service.stats.shared.methods.bounded import Bounded
from tests.stats.oracle import analyse, ask, codes

NAME = "leaderboard"


def lopsided(n, seed, shift=0.0):
    """One item in twenty loses a half, half of them gain .05: the means are alike but for the shift."""
    drawn = np.random.default_rng(seed).random(n)
    return np.where(drawn < 0.05, -0.5, np.where(drawn < 0.55, 0.05, 0.0)) + shift


def board(*differences, **more):
    base = np.full(len(differences[0]), 0.6)
    arms = {"base": base, **{f"arm {at}": base + each for at, each in enumerate(differences)}}
    return {"arms": {name: column.tolist() for name, column in arms.items()}, "n_resamples": 1000, **more}


@pytest.mark.slow
def test_arms_alike_are_not_told_apart_for_losses_that_were_not_seen():
    """Of 40 boards of 20 items a third told them apart."""
    apart = [analyse(NAME, board(lopsided(20, seed))).n_apart for seed in range(40)]
    assert sum(apart) <= 2


def test_a_pair_that_stands_apart_by_what_was_seen_says_why_it_is_open():
    seed = next(seed for seed in range(40) if not (lopsided(20, seed) < 0).any())
    answer = ask(NAME, board(lopsided(20, seed)))
    (pair,) = answer.analysis.pairs
    assert abs(pair.t) > answer.analysis.critical_value
    assert not pair.apart
    assert pair.p_value >= 0.05
    assert pair.ci.low <= 0 <= pair.ci.high
    assert {arm.rank_high - arm.rank_low for arm in answer.analysis.arms} == {1}
    assert "UNSEEN_OUTCOMES" in codes(answer)


@pytest.mark.parametrize("clusters", [None, [at // 4 for at in range(120)]])
def test_what_bounds_bear_out_is_told_apart_as_far_as_they_say(clusters):
    more = {} if clusters is None else {"clusters": clusters}
    gain = 0.3 + 0.05 * np.random.default_rng(3).standard_normal(120)
    answer = analyse(NAME, board(gain, lopsided(120, 4), **more))
    first = next(pair for pair in answer.pairs if {pair.first, pair.second} == {"arm 0", "base"})
    own = None if clusters is None else np.array(clusters)
    p = Bounded(gain, own, 1.0).p_above(0.0)
    assert first.apart
    assert first.p_value >= min(2 * len(answer.pairs) * p, 1.0)
    assert 0 < first.ci.low < first.difference


def test_right_and_wrong_need_no_bounds_and_of_many_pairs_the_nearest_are_looked_at(monkeypatch):
    rng = np.random.default_rng(1)
    right = {f"arm {at}": (rng.random(60) < 0.2 + 0.15 * at).astype(float).tolist() for at in range(5)}
    monkeypatch.setattr(unseen, "Bounded", lambda *_: pytest.fail("right and wrong"))
    assert analyse(NAME, {"arms": right}).n_apart
    monkeypatch.undo()
    monkeypatch.setattr(unseen, "MOST_PAIRS", 1)
    seed = next(seed for seed in range(40) if not (lopsided(20, seed) < 0).any())
    apart = 0.3 + 0.02 * rng.standard_normal(20)
    looked = analyse(NAME, board(lopsided(20, seed), apart))
    gone = next(pair for pair in looked.pairs if {pair.first, pair.second} == {"arm 0", "base"})
    assert not gone.apart


def test_units_of_scores_and_lower_scores_that_are_better_change_nothing():
    arms = board(lopsided(60, 2), 0.2 + lopsided(60, 5))
    plain = analyse(NAME, arms)
    turned = analyse(
        NAME, {**arms, "better": "lower", "arms": {k: [1 - x for x in v] for k, v in arms["arms"].items()}}
    )
    assert [(pair.first, pair.second, pair.apart) for pair in plain.pairs] == [
        (pair.first, pair.second, pair.apart) for pair in turned.pairs
    ]
    for one, other in zip(plain.pairs, turned.pairs, strict=True):
        assert other.p_value == pytest.approx(one.p_value)
        assert (other.ci.low, other.ci.high) == pytest.approx((one.ci.low, one.ci.high), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 100])  # within 0 and 1, and without a known range
def test_arms_alike_over_tasks_are_not_told_apart_for_losses_that_were_not_seen(times):
    """Of boards of two tasks of 10 items 3 in 10 told arms alike apart; what bounds bear out stays told apart."""
    apart, ahead = 0, 0
    for seed in range(20):
        noise = 0.01 * np.random.default_rng([seed, 1]).standard_normal(20)
        base = 0.4 + 0.2 * np.random.default_rng([seed, 2]).random(20)
        for shift in (0.0, 0.35):
            other = base + lopsided(20, seed) / 4 + noise + shift
            arms = {"base": (times * base).tolist(), "other": (times * other).tolist()}
            tasks = ["a"] * 10 + ["b"] * 10
            found = analyse(NAME, {"arms": arms, "tasks": tasks, "n_resamples": 1000})
            apart, ahead = apart + found.n_apart * (shift == 0), ahead + found.n_apart * (shift > 0)
    assert apart <= 2
    assert ahead >= 15


def test_of_a_suite_a_pair_has_one_p_whichever_arm_is_named_first():
    """Three arms over two tasks, far apart: bounds tell the pair apart in the direction that was seen."""
    rng = np.random.default_rng(6)
    level = 0.3 + 0.1 * rng.random(80)
    arms = {
        name: (level + gain + 0.02 * rng.standard_normal(80)).tolist()
        for name, gain in (("a", 0.0), ("b", 0.2), ("c", 0.4))
    }
    more = {"tasks": ["x"] * 40 + ["y"] * 40, "n_resamples": 1000}
    answers = [
        analyse(NAME, {"arms": dict(order), **more}) for order in (arms.items(), reversed(arms.items()))
    ]
    p_values = [
        {frozenset((pair.first, pair.second)): pair.p_value for pair in answer.pairs} for answer in answers
    ]
    assert [answer.n_apart for answer in answers] == [3, 3]
    assert p_values[0] == pytest.approx(p_values[1], rel=1e-6)
    assert max(p_values[0].values()) < 0.01
