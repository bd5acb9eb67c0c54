"""Equivalence of scores too few, or too alike, for a spread to tell what was not seen."""

from __future__ import annotations

import numpy as np
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


@pytest.mark.parametrize(("method", "n_clusters", "lost"), [("t", 12, 0.08), ("bootstrap_ci", 40, 0.06)])
def test_a_claim_that_whole_clusters_lost_would_undo_is_warned_of(method, n_clusters, lost):
    """A cluster in 12 or 17 is lost as a whole, at the margin, and may not have been drawn: .1 to .25 claim no worse.

    Of the claims that no warning stands beside there are no more than the level.
    """
    rng, claims, silent, sets = np.random.default_rng(8), 0, 0, 120
    margin = {"value": lost / 2, "unit": "proportion"}
    for _ in range(sets):
        clusters = np.repeat(np.arange(n_clusters), 5)
        down = (rng.random(n_clusters) < lost)[clusters] * 1.0
        up = (rng.random(len(clusters)) < lost / 2) * (1 - down)
        body = {
            "baseline": (1 - up).tolist(),
            "candidate": (1 - down).tolist(),
            "clusters": clusters.tolist(),
        }
        answer = ask(NAME, {**body, "margin": margin, "method": method, "n_resamples": 1000, "seed": 1})
        claims += bool(answer.analysis.noninferior)
        silent += bool(answer.analysis.noninferior and not codes(answer) & {"UNSEEN_LOSSES"})
    assert claims > 0.05 * sets
    assert silent <= 0.05 * sets


def test_items_that_are_many_and_alike_are_not_warned_of():
    rng = np.random.default_rng(9)
    base = rng.random(2000).round(3)
    near = np.clip(base + rng.normal(0, 0.01, 2000), 0, 1)
    body = {"baseline": base.tolist(), "candidate": near.tolist(), "clusters": [k // 10 for k in range(2000)]}
    answer = ask(NAME, {**body, "margin": {"value": 0.1, "unit": "score"}, "method": "t"})
    assert answer.analysis.equivalent
    assert "UNSEEN_LOSSES" not in codes(answer)
