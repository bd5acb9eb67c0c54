"""Equivalence of scores too few, or too alike, for a spread to tell what was not seen."""

from __future__ import annotations

import pytest

from tests.stats.oracle import ask, codes

NAME = "equivalence"


def scores(baseline, candidate):
    return {"baseline": baseline, "candidate": candidate}


@pytest.mark.parametrize("method", ["t", "bootstrap_ci"])
def test_few_scores_that_differ_are_warned_of_where_losses_may_be_unseen(method):
    """Five of six alike and one a hundredth up: "beyond .05 rejected, p = 4.6e-07", without a word."""
    margin = {"value": 0.05, "unit": "score"}
    few = ask(NAME, {**scores([0.5] * 6, [0.5] * 5 + [0.51]), "margin": margin, "method": method})
    assert few.analysis.equivalent
    assert "SPARSE_SCORES" in codes(few)
    apart = {**scores([0.5] * 40, [0.5 + 0.001 * (at % 7 - 3) for at in range(40)]), "margin": margin}
    assert "SPARSE_SCORES" not in codes(ask(NAME, {**apart, "method": method}))
    assert "SPARSE_SCORES" not in codes(
        ask(NAME, {**scores([0.5] * 6, [0.5] * 6), "margin": margin, "method": "bounded"})
    )


@pytest.mark.parametrize("n", [2, 3, 4])
def test_so_few_items_that_none_can_lie_beyond_a_margin_show_nothing(n):
    """Two items: "effects beyond .05 are rejected", and "p < 0.25" in the same sentence."""
    margin = {"value": 0.05, "unit": "score"}
    values = [0.31, 0.52, 0.44, 0.61][:n]
    body = scores(values, [x + 0.01 + 0.001 * at for at, x in enumerate(values)])
    answer = ask(NAME, {**body, "margin": margin, "method": "bootstrap_ci"}).analysis
    assert (answer.equivalent, answer.noninferior, answer.superior) == (False, False, False)
    assert answer.conclusion == "inconclusive"
    assert "are not rejected" in answer.sentence
