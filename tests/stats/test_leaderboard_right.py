"""Right and wrong of several arms: intervals within the possible range, and pairs that differ on every item."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import draws
from tests.stats.boards import body, contradictions
from tests.stats.oracle import analyse, ask, codes

NAME = "leaderboard"
CLUSTERS = {"clusters": [at // 3 for at in range(30)]}
TASKS = {"tasks": ["one" if at < 15 else "other" for at in range(30)]}


def pair_of(found, *names):
    return next(pair for pair in found.pairs if {pair.first, pair.second} == set(names))


@pytest.mark.parametrize(("arms", "more"), [(2, {}), (2, CLUSTERS), (3, CLUSTERS)])
def test_all_right_and_all_wrong_are_told_apart(arms, more):
    """Signs tell nothing where nothing varies: there was no interval, and any might have been the best."""
    between = [[float(at % 2) for at in range(30)]] * (arms - 2)
    answer = ask(NAME, body([[0.0] * 30, [1.0] * 30, *between], **more))
    pair = pair_of(answer.analysis, "arm 0", "arm 1")
    assert (pair.first, pair.apart, pair.ci.high) == ("arm 1", True, 1.0)
    assert 0 < pair.ci.low < 0.9
    assert pair.t is None
    assert any(
        "standard error" in why for path, why in answer.analysis.reasons.items() if path.endswith(".t")
    )
    assert answer.analysis.best_set == ("arm 1",)
    assert "NO_SPREAD_BETWEEN" not in codes(answer)


def test_29_of_30_are_not_more_than_all():
    (pair,) = analyse(NAME, body([[0.0] * 30, [1.0] * 29 + [0.0]])).pairs
    assert (pair.ci.low, pair.ci.high) == (pytest.approx(0.7434, abs=1e-4), pytest.approx(0.9941, abs=1e-4))


def test_an_interval_that_excludes_0_is_not_enough_where_the_exact_test_is_open():
    """Five wins and no loss: 4.9 to 46.9 points by Tango's score, p .0625 by McNemar's test, as the gate has it."""
    answer = ask(NAME, body([[0.0] * 5 + [1.0] * 10 + [0.0] * 5, [1.0] * 15 + [0.0] * 5]))
    (pair,) = answer.analysis.pairs
    assert (pair.ci.low, pair.p_value, pair.apart) == (
        pytest.approx(0.0486, abs=1e-4),
        pytest.approx(0.0625),
        False,
    )
    assert answer.analysis.best_set == ("arm 1", "arm 0")
    assert "EXACT_TEST_OPEN" in codes(answer)


def test_three_items_have_an_interval_too():
    answer = ask(NAME, body([[0.0, 0.0, 1.0], [1.0, 1.0, 1.0]]))
    (pair,) = answer.analysis.pairs
    assert -1 < pair.ci.low < 0 < pair.ci.high < 1
    assert answer.analysis.min_attainable_p == 0.25
    assert "FLOOR_ABOVE_ALPHA" in codes(answer)


@settings(deadline=None, max_examples=draws(40))
@given(
    st.integers(2, 5),
    st.integers(3, 30),
    st.sampled_from([{}, CLUSTERS, TASKS, CLUSTERS | TASKS]),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_no_end_lies_beyond_what_scores_can_differ_by(arms, n, more, right, seed):
    """Signs reached to +101 points."""
    rng = np.random.default_rng(seed)
    scores = np.clip(rng.normal(np.linspace(0, 1, arms), 0.3, (30, arms)), 0, 1)
    columns = np.round(scores) if right else scores
    if not more:
        columns = columns[:n]
    found = analyse(NAME, body(columns.T, **more, n_resamples=200))
    for pair in found.pairs:
        for end in (pair.ci.low, pair.ci.high):
            assert end is None or abs(end) <= 1 + 1e-12
    assert list(contradictions(found)) == []
