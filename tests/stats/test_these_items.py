"""One arm's mean on these very items: its right runs are counted, and the bound holds whatever each item does."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from service.errors import InvalidData
from tests.stats.oracle import analyse, ask

NAME = "one-sample-mean"


def test_these_items_count_their_runs_by_the_exact_interval():
    runs = [[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 1, 1], [0, 1, 1, 1], [1, 1, 1, 1]]
    own = analyse(NAME, {"values": runs, "estimand": "these_items", "threshold": 0.6})
    alone = analyse(NAME, {"values": [x for run in runs for x in run], "threshold": 0.6})
    assert (own.ci, own.against, own.mean) == (alone.ci, alone.against, 0.9)
    assert (own.n, own.n_values) == (5, 20)
    assert "of these 5 items, 20 runs" in own.sentence
    clustered = analyse(
        NAME, {"values": runs, "estimand": "these_items", "clusters": ["a", "a", "b", "b", "c"]}
    )
    assert clustered.ci == own.ci


def test_exactly_the_bound_of_these_items_errs_seldom_whatever_each_item_does():
    """By the law of the sum of unlike runs, convolved: never more than the level, and most where items are alike."""
    for chances in (
        [0.8] * 6,
        [1.0] * 3 + [0.6] * 3,
        [0.99, 0.95, 0.9, 0.8, 0.7, 0.46],
        [1.0] * 4 + [0.4] * 2,
    ):
        law = np.ones(1)
        for chance in chances * 5:
            law = np.convolve(law, [1 - chance, chance])
        mean, n = sum(chances) / 6, 30
        lows = np.array([stats.beta.ppf(0.025, x, n - x + 1) if x else 0.0 for x in range(n + 1)])
        highs = np.array([stats.beta.ppf(0.975, x + 1, n - x) if x < n else 1.0 for x in range(n + 1)])
        assert law[lows > mean].sum() <= 0.025
        assert law[highs < mean].sum() <= 0.025


@pytest.mark.parametrize(("body", "field"), [
    ({"values": [1, 0, 1]}, "values"),
    ({"values": [[1, 0], [1, 0, 1]]}, "values"),
    ({"values": [[0.5, 0], [1, 0]]}, "values"),
    ({"values": [[1, 0], [1, 1]], "method": "wilson"}, "method"),
])  # fmt: skip
def test_of_these_items_only_right_runs_of_equal_number_are_counted(body, field):
    with pytest.raises(InvalidData) as refused:
        ask(NAME, {**body, "estimand": "these_items"})
    assert refused.value.faults[0].path == field
