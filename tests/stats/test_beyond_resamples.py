"""A bootstrap p that lies beyond every resample is no evidence: checked against all resamples, and by its size."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.stats.shared.cell_bootstrap import FEW
from service.stats.shared.certainty import SIGNS
from tests.stats.oracle import analyse, ask, codes


def pairs(wins, losses, ties):
    return {
        "baseline": [0] * wins + [1] * losses + [1] * ties,
        "candidate": [1] * wins + [0] * losses + [1] * ties,
    }


def sign_tail(most, differ):
    return Fraction(sum(comb(differ, k) for k in range(most, differ + 1)), 2**differ)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.integers(-4, 6), min_size=2, max_size=6),
    st.sampled_from([">=", "strict"]),
    st.sampled_from(["greater", "less", "two-sided"]),
)
def test_p_is_open_just_where_no_resample_reaches_it(differences, comparison, alternative):
    """Six units at most, so that their signs are never rare."""
    n, total = len(differences), sum(differences)
    if len(set(differences)) == 1:
        return
    body = {"baseline": [0.0] * n, "candidate": [float(d) for d in differences], "comparison": comparison}
    found = analyse("paired-bootstrap", body, alternative=alternative)
    sign = 1 if total > 0 else -1
    far = [sign * sum(each) - 2 * abs(total) for each in combinations_with_replacement(differences, n)]
    reached = any(x >= 0 if comparison == ">=" else x > 0 for x in far)
    beyond = total != 0 and not reached
    signs = float(sign_tail(sum(sign * d > 0 for d in differences), sum(d != 0 for d in differences)))
    assert found.within.get("p_better") == ((0.0, pytest.approx(signs)) if beyond else None)
    asked = alternative == "two-sided" or (alternative == "greater") == (sign > 0)
    most = min(1.0, 2 * signs if alternative == "two-sided" else signs)
    least = 0.0 if "p_value" in found.bounds else found.p_value  # the other side of a two-sided p is reached
    most = max(most, found.p_value)
    assert found.within.get("p_value") == ((least, pytest.approx(most)) if beyond and asked else None)
    assert (
        "BEYOND_RESAMPLES" in codes_of("paired-bootstrap", {**body, "alternative": alternative})
    ) == beyond


def codes_of(name, body):
    return codes(ask(name, body))


@pytest.mark.parametrize(
    ("wins", "losses", "ties", "open_"),
    [
        (9, 0, 6, True),
        (9, 1, 5, True),
        (7, 0, 8, False),
        (19, 0, 1, True),
        (20, 0, 1, False),
        (12, 0, 500, False),
        (0, 9, 6, True),
    ],
)
def test_nine_wins_and_no_loss_of_fifteen(wins, losses, ties, open_):
    for body in (
        pairs(wins, losses, ties),
        {"both_correct": ties, "only_candidate": wins, "only_baseline": losses, "both_wrong": 0},
    ):
        found = analyse("paired-bootstrap", body, alternative="two-sided")
        chance = 2 * sign_tail(max(wins, losses), wins + losses)
        least = 0.0 if "p_value" in found.bounds else found.p_value
        assert found.within.get("p_value") == ((least, float(chance)) if open_ else None)
        assert "ci" not in found.undecided


def test_clusters_count_as_units():
    body = {**pairs(9, 0, 6), "clusters": [k // 3 for k in range(15)]}  # three clusters of wins, two of ties
    found = analyse("cluster-bootstrap", body)
    assert found.within == {"p_value": (0.0, 0.125), "p_better": (0.0, 0.125)}
    assert (found.p_value, found.bounds["p_value"]) == (5.0**-5, "< 0.00032")


@pytest.mark.parametrize("strict", [False, True])
def test_signs_are_rare_for_more_than_few_items(strict):
    """The enumeration of a rule's level asks for cells up to `FEW` items only."""

    def any_open(n):
        return any(
            (2 * d >= n if strict else 2 * d > n) and sign_tail((m + d) // 2, m) >= SIGNS
            for m in range(1, n + 1)
            for d in range(m % 2, m + 1, 2)
            if d and d != n
        )

    assert not any(any_open(n) for n in range(FEW + 1, FEW + 40))
    assert any(any_open(n) for n in (FEW - 1, FEW))


def size(n, alpha, holds):
    """The largest chance over shares of discordant items that a p below alpha decides, neither arm being better."""
    shares = np.linspace(0.02, 1, 50)
    total = np.zeros(len(shares))
    for wins, losses in product(range(n + 1), repeat=2):
        m = wins + losses
        if m <= n and wins > losses and holds(wins, losses, alpha):
            total += comb(n, m) * shares**m * (1 - shares) ** (n - m) * comb(m, wins) / 2**m
    return float(total.max())


@pytest.mark.parametrize(
    ("n", "alpha", "before", "after"),
    [(8, 0.05, 0.069, 0.064), (8, 0.01, 0.041, 0.017), (10, 0.01, 0.054, 0.021), (10, 0.001, 0.054, 0.008)],
)
def test_the_size_that_the_decision_names(n, alpha, before, after):
    def small(wins, losses, alpha):
        return wins - losses < n and found(wins, losses).p_value < alpha

    def found(wins, losses):
        counts = {"only_candidate": wins, "only_baseline": losses, "both_wrong": n - wins - losses}
        return analyse("paired-bootstrap", {**counts, "both_correct": 0})

    def decided(wins, losses, alpha):
        return small(wins, losses, alpha) and found(wins, losses).within.get("p_value", (0, 0))[1] < alpha

    assert size(n, alpha, small) == pytest.approx(before, abs=8e-4)
    assert size(n, alpha, decided) == pytest.approx(after, abs=8e-4)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("paired-bootstrap", {"baseline": [0] * 10, "candidate": [1] * 10}),
        ("cluster-bootstrap", {"baseline": [0] * 10, "candidate": [1] * 10, "clusters": list(range(10))}),
        ("quantile-difference", {"baseline": [1.0], "candidate": [4.0]}),
    ],
)
def test_no_sentence_rejects_by_resamples_that_do_not_vary(name, body):
    """One item said 'CI +3 to +3, p = 2.0e-04, so a difference of 0 is rejected'."""
    found = ask(name, body).analysis
    assert "p_value" in found.undecided
    assert found.p_value < 0.05
    assert "leaves open whether a difference" in found.sentence
    assert "so a difference" not in found.sentence
    assert "CI" not in found.sentence


def test_a_sentence_rejects_by_a_bound_only_where_the_signs_alone_would():
    few, many = (
        ask("paired-bootstrap", {"baseline": [0] * k + [1], "candidate": [1] * (k + 1)}).analysis
        for k in (3, 10)
    )
    assert few.p_value < 0.05 < few.within["p_value"][1]
    assert "leaves open" in few.sentence
    assert many.within["p_value"][1] < 0.05
    assert "so a difference of zero is rejected" in many.sentence
