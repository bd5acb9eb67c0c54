"""A bootstrap p that lies beyond every resample is no evidence: checked against all resamples, and by its size."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from service.domain.rules.answers import Answer
from service.stats.shared.declaring.certainty import SIGNS, SO_FEW
from service.stats.shared.declaring.sentences import bound_text
from service.stats.shared.methods.cell_bootstrap import FEW
from tests.drawing import draws, mostly_slow
from tests.stats.oracle import analyse, ask, codes


def pairs(wins, losses, ties):
    return {
        "baseline": [0] * wins + [1] * losses + [1] * ties,
        "candidate": [1] * wins + [0] * losses + [1] * ties,
    }


def sign_tail(most, differ):
    return Fraction(sum(comb(differ, k) for k in range(most, differ + 1)), 2**differ)


@settings(deadline=None, max_examples=draws(40))
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
    # no test of signs gets below 2^-m, nor is p taken for less than Student's t's
    student = stats.ttest_1samp(differences, 0, alternative="greater" if total > 0 else "less").pvalue
    allowed = max(0.5 ** sum(d != 0 for d in differences), student if total else 0.5)
    signs = max(signs, allowed)
    better = signs if beyond else allowed if allowed > found.p_better else None
    assert found.within.get("p_better") == (
        None if better is None else (0.0 if beyond else found.p_better, pytest.approx(better))
    )
    asked = alternative == "two-sided" or (alternative == "greater") == (sign > 0)
    most = min(1.0, 2 * signs if alternative == "two-sided" else signs)
    least = 0.0 if "p_value" in found.bounds else found.p_value  # the other side of a two-sided p is reached
    most = max(most, found.p_value)
    if not (beyond and asked):
        most = min(1.0, 2 * allowed if alternative == "two-sided" else allowed)
    open_ = (beyond and asked) or most > found.p_value
    assert found.within.get("p_value") == ((least, pytest.approx(most)) if open_ else None)
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
        (7, 0, 8, True),  # a resample reaches it, and p is below what seven signs allow
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


@pytest.mark.parametrize("name", mostly_slow(["paired-bootstrap", "cluster-bootstrap"], 2))
@pytest.mark.parametrize("n", mostly_slow([3, 4, 5], 2))
def test_so_few_units_reject_nothing_two_sided(name, n):
    """Of normal differences without an effect 16 to 28 in 100 had p < .05, and 4 to 9 were taken for rejections."""
    for seed in range(12):
        body = {
            "baseline": [0.0] * n,
            "candidate": np.random.default_rng([n, seed]).standard_normal(n).tolist(),
        }
        if name == "cluster-bootstrap":
            body["clusters"] = list(range(n))
        answer = ask(name, {**body, "alternative": "two-sided"})
        found = answer.analysis
        taken = found.within.get("p_value", (0, found.p_value))[1]
        student = float(stats.ttest_1samp(body["candidate"], 0).pvalue)
        assert taken >= max(2 * 0.5**n, student) - 1e-12
        assert "so a difference of zero is rejected" not in found.sentence
        told = {"FEW_SIGNS", "BEYOND_RESAMPLES"} & codes(answer)
        assert told or found.p_value >= min(2 * 0.5**n, student)


@pytest.mark.parametrize("n", [6, 8])
def test_few_scores_decide_no_more_often_than_the_level_says(n):
    """Of normal differences without an effect .132 and .120 were taken for rejections two-sided at .05."""
    drawn = np.random.default_rng(n).standard_normal((400, n))
    body = {"baseline": [0.0] * n, "alternative": "two-sided"}
    found = [analyse("paired-bootstrap", {**body, "candidate": row.tolist()}) for row in drawn[:150]]
    assert np.mean([each.p_value < 0.05 for each in found]) > 0.08
    assert np.mean([each.within.get("p_value", (0, each.p_value))[1] < 0.05 for each in found]) < 0.08


def test_a_rule_takes_p_for_no_smaller_than_signs_of_so_few_allow():
    body = {"baseline": [0.0] * 4, "candidate": [1.0, 2.0, 3.0, 9.0], "alternative": "greater"}
    answer = ask("paired-bootstrap", body)
    assert answer.analysis.p_value < 0.05 < 2.0**-4
    stored = Answer(answer.model_dump(mode="json"))
    seen = stored.observe("p_value")
    student = stats.ttest_1samp(body["candidate"], 0, alternative="greater").pvalue
    assert student > 2.0**-4
    assert (seen.reason, seen.corners) == (SO_FEW, (answer.analysis.p_value, pytest.approx(student)))


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
    [(8, 0.05, 0.069, 0.031), (8, 0.01, 0.041, 0.003), (10, 0.01, 0.054, 0.003), (10, 0.001, 0.054, 0.0)],
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


@pytest.mark.parametrize("n", mostly_slow([2, 3, 5], 2))
@pytest.mark.parametrize("of", mostly_slow(["arms", "differences"], 2))
def test_quantiles_of_few_items_reject_nothing_that_signs_do_not(n, of):
    """Two items said p = 2.0e-04, rejected: no resample of them is on the other side of 0."""
    baseline = [1.0, 2.0, 0.5, 2.5, 7.1][:n]
    body = {
        "baseline": baseline,
        "candidate": [each + 2 + at / 7 for at, each in enumerate(baseline)],
        "of": of,
    }
    if of == "differences":
        body["clusters"] = list(range(n))
    answer = ask("quantile-difference", body)
    found = answer.analysis
    assert found.within["p_value"][1] == pytest.approx(2 * 0.5**n)
    exact = analyse("quantile-difference", {**body, "of": "differences", "clusters": None})
    assert found.within["p_value"][1] == pytest.approx(exact.p_value)  # the sign test's
    assert "BEYOND_ZERO" in codes(answer)
    assert "leaves open" in found.sentence
    turned = analyse("quantile-difference", body, alternative="less")
    assert turned.p_value > 0.9
    assert turned.within["p_value"][1] <= 1


def test_quantiles_of_many_items_keep_their_p():
    rng = np.random.default_rng(4)
    baseline = rng.normal(size=40)
    body = {"baseline": baseline.tolist(), "candidate": (baseline + rng.uniform(1, 2, 40)).tolist()}
    answer = ask("quantile-difference", body)
    assert "BEYOND_ZERO" not in codes(answer)
    assert "is rejected" in answer.analysis.sentence


@pytest.mark.parametrize("method", ["percentile", "basic"])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_runs_that_do_not_overlap_are_no_rarer_than_their_labels(method, alternative):
    """Three runs against three, all above: labels alone do that in 2 of 20 ways, where p was .0027."""
    body = {"baseline": [1.0, 2.0, 0.5], "candidate": [3.3, 5.1, 4.4]}
    answer = ask("bootstrap-difference", {**body, "method": method, "alternative": alternative})
    found = answer.analysis
    mann = stats.mannwhitneyu(
        body["candidate"], body["baseline"], alternative=alternative, method="exact"
    ).pvalue
    if alternative == "less":
        assert "BEYOND_ZERO" not in codes(answer)
        return
    assert found.within["p_value"] == (0.0, pytest.approx(mann))
    assert "BEYOND_ZERO" in codes(answer)
    assert ("leaves open" in found.sentence) == (found.p_value < 0.05 <= mann)


def test_runs_beyond_the_basic_interval_that_overlap_go_by_their_ranks():
    body = {"baseline": [0.0, 0.0, 0.0, 5.0], "candidate": [10.0, 10.0, 10.0, 0.5], "method": "basic"}
    found = analyse("bootstrap-difference", body)
    every = list(combinations(range(8), 4))
    ranks = stats.rankdata(body["baseline"] + body["candidate"])
    sums = np.array([ranks[list(each)].sum() for each in every])
    assert found.within["p_value"][1] == pytest.approx(2 * np.mean(sums <= ranks[:4].sum()))


@pytest.mark.parametrize("more", [{"method": "studentized"}, {"convention": "seed"}])
def test_a_drawn_p_beyond_the_resamples_is_not_called_a_rejection(more):
    """Five items were rejected at p = 1.0e-04 in the sentence, while `within` told rules of up to .0625."""
    body = {"baseline": [1.0, 2.0, 0.5, 2.5, 7.1], "candidate": [3.3, 5.1, 4.4, 7.7, 12.6], **more}
    found = analyse("paired-bootstrap", body, alternative="two-sided")
    assert found.within["p_value"][1] == pytest.approx(0.0625)
    assert "leaves open whether" in found.sentence


@pytest.mark.parametrize(
    ("p", "told"),
    [
        (0.125, "< 0.125"), (1 / 27, "< 0.0371"), (0.25 * (1 + 1e-15), "< 0.25"), (2.3283064e-18, "< 2.33e-18"),
        (1e-300, "< 1e-300"), (0.0004999, "< 0.0005"), (1.0, "< 1"),
    ],
)  # fmt: skip
def test_a_bound_is_told_in_three_digits_and_stays_one(p, told):
    """`p < 1.2e-01` of .125 and `p < 0.037` of 1/27 were below what they bound."""
    assert bound_text(p) == told
    assert float(told[2:]) >= p * (1 - 1e-12)


def lopsided(rng, g=10, share=0.4, shift=0.0):
    """Clusters of which the first holds so much, without a difference but for `shift`, as a request."""
    sizes = np.full(g, 6)
    sizes[0] = round(share / (1 - share) * 6 * (g - 1))
    labels = np.repeat(np.arange(g), sizes)
    change = rng.normal(shift, 0.6, g)[labels] + rng.normal(0, 0.8, len(labels))
    return {"baseline": [0.0] * len(labels), "candidate": change.tolist(), "clusters": labels.tolist()}


@pytest.mark.parametrize("name", ["cluster-bootstrap", "paired-bootstrap"])
@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
def test_one_dominant_cluster_leaves_p_no_smaller_than_the_signs_of_clusters(name, alternative):
    rng = np.random.default_rng(12)
    body = lopsided(rng, shift=0.6)
    answer = ask(name, {**body, "alternative": alternative})
    labels, change = np.array(body["clusters"]), np.array(body["candidate"])
    sums = np.array([change[labels == each].sum() for each in range(10)])
    flipped = np.array([sums @ np.array(signs) for signs in product((1, -1), repeat=10)])
    at_least, at_most = (flipped >= sums.sum() - 1e-9).mean(), (flipped <= sums.sum() + 1e-9).mean()
    signs = {"greater": at_least, "less": at_most, "two-sided": 2 * min(at_least, at_most)}[alternative]
    found = answer.analysis
    assert "LOPSIDED_RESAMPLES" in codes(answer)
    most = found.within.get("p_value", (0.0, found.p_value))[1]
    assert most >= max(signs, found.p_value) - 1e-9
    if found.p_value < signs and answer.provenance.exact:
        assert most == pytest.approx(signs)
    even = ask(name, {**lopsided(rng, share=0.1), "alternative": alternative})
    assert "LOPSIDED_RESAMPLES" not in codes(even)
    assert "LOPSIDED_RESAMPLES" not in codes(ask(name, lopsided(rng, g=4, share=0.25)))
