"""Pairs of a leaderboard of which one lacks results: told apart only if they are with what is missing against it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.drawing import mostly_slow
from tests.stats.boards import NAME
from tests.stats.oracle import analyse, ask, codes


def gone(column, at):
    """The same without these results."""
    return [None if item in at else value for item, value in enumerate(column)]


def apart(arms, **options):
    return [pair.apart for pair in analyse(NAME, {"arms": arms}, **options).pairs]


AHEAD, BEHIND = [1] * 30 + [0] * 10, [1] * 10 + [0] * 20 + [1] * 10


def test_an_arm_that_lacks_what_it_failed_is_not_ahead_by_that():
    arms = {"a": gone(AHEAD, range(30, 40)), "b": gone(BEHIND, range(10, 13))}
    assert apart(arms) == [True]
    answer = ask(NAME, {"arms": arms, "missing": "worst_case"})
    (pair,) = answer.analysis.pairs
    assert not pair.apart
    assert pair.p_value == 1
    assert pair.ci.low <= 0 < pair.ci.high
    assert [arm.may_be_best for arm in answer.analysis.arms] == [True, True]
    assert "WORST_CASE_OPEN" in codes(answer)
    assert "UNSEEN_OUTCOMES" not in codes(answer)


def test_a_pair_whose_worst_case_tells_it_as_well_stays_apart():
    arms = {"a": gone([1] * 80, range(5)), "b": [1] * 20 + [0] * 60}
    answer = ask(NAME, {"arms": arms, "missing": "worst_case"})
    assert answer.analysis.n_apart == 1
    assert "WORST_CASE_OPEN" not in codes(answer)


def test_up_to_a_twentieth_is_left_out_as_before():
    arms = {"a": gone(AHEAD, {30, 31}), "b": BEHIND}
    chance, worst = (
        analyse(NAME, {"arms": arms}, missing=missing) for missing in ("at_random", "worst_case")
    )
    assert worst.pairs == chance.pairs


def test_where_lower_is_better_the_worst_is_the_greatest():
    arms = {"a": gone([1 - value for value in AHEAD], range(30, 40)), "b": [1 - value for value in BEHIND]}
    assert apart(arms, better="lower") == [True]
    assert apart(arms, better="lower", missing="worst_case") == [False]


def test_a_small_task_that_lacks_much_counts_as_much_as_a_large_one():
    tasks = ["large"] * 400 + ["small"] * 20
    a, b = [1, 1, 1, 0] * 100 + [1] * 20, [1, 0, 1, 0] * 100 + [1, 0] * 10
    arms = {"a": gone(a, range(400, 412)), "b": b}
    suite = {"arms": arms, "tasks": tasks}
    assert analyse(NAME, suite).n_apart == 1
    assert analyse(NAME, suite, missing="worst_case").n_apart == 0
    assert apart(arms, missing="worst_case") == [True]  # of all items 12 of 420 are few


@pytest.mark.parametrize("seed", mostly_slow(range(4), 3))
@pytest.mark.parametrize("clustered", mostly_slow([False, True], 3))
def test_by_definition_the_worst_case_is_the_filled_board(seed, clustered):
    """The filled difference over its own error, by hand, against the pair's critical value."""
    rng = np.random.default_rng(seed)
    n = 120
    a, b = (rng.random(n) < 0.85).astype(float), (rng.random(n) < 0.45).astype(float)
    lost = [set(rng.choice(n, 14, replace=False).tolist()) for _ in range(2)]
    clusters = [item // 4 if clustered else item for item in range(n)]
    body = {"arms": {"a": gone(a, lost[0]), "b": gone(b, lost[1])}}
    if clustered:
        body["clusters"] = clusters
    both = [item for item in range(n) if item not in lost[0] | lost[1]]
    if len(both) == n:
        return
    filled = np.where([item in lost[0] for item in range(n)], 0, a) - np.where(
        [item in lost[1] for item in range(n)], 1, b
    )
    groups = np.bincount(clusters, weights=filled - filled.mean())
    g = len(groups)
    error = np.sqrt(g / (g - 1) * (groups**2).sum()) / n
    chance = analyse(NAME, body)
    (pair,) = chance.pairs
    critical = (pair.ci.high - pair.difference) / (pair.difference / pair.t)
    critical = max(critical, stats.t.ppf(0.975, g - 1))
    told = analyse(NAME, body, missing="worst_case")
    low = filled.mean() - critical * error
    assert told.n_apart == int(chance.n_apart == 1 and low > 0)
    if chance.n_apart and low <= 0:
        assert told.pairs[0].ci.low == pytest.approx(low, abs=1e-9)
