"""A two-sided clause about ranks or quantiles carries its own direction: the means do not tell it."""

from __future__ import annotations

import numpy as np
import pytest

from service.domain.plans.manifest import Manifest
from service.domain.rules.settings import resolve
from service.domain.verdicts.words.sentences import sentence
from tests.domain import sample
from tests.domain.checks.rank_plans import MOST_LOSE, TESTS, N, judged, said, scores
from tests.drawing import one_in

ABOUT = {
    "wilcoxon": ("the ranks of the items' differences and their pseudo-median", "各题目之差的秩及其伪中位数"),
    "mann-whitney": ("the order of the two arms' values and their shift", "两组取值的大小次序及其位移"),
    "quantile-difference": ("the medians of the arms", "两组的中位数"),
}


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize(
    "clause", one_in(3, ["w.p_value < 0.05", "w.ci excludes 0", "not w.p_value >= 0.05"])
)
def test_the_sign_of_the_means_is_no_direction_of_ranks_and_quantiles(test, clause):
    changes = scores(f"delta > 0 and {clause}", test)
    (finding,) = said(changes)
    assert finding.code == "CLAIM_NOT_ASSERTED"
    assert "shows the opposite: it takes either side and is not about the means" in finding.message
    assert "add the clause `w.ci.low > 0`" in finding.message
    verdict = judged(changes)
    assert verdict.delta > 0
    assert verdict.analyses["w"]["analysis"]["ci"]["high"] < 0
    assert verdict.rule_holds
    assert verdict.outcome == "not_supported"
    assert "holds, but what it tests shows the opposite of the claim" in verdict.sentence
    plan = sample.plan(changes)
    assert "其检验所表明的与主张相反" in sentence(resolve(plan).require(verdict.id), verdict, language="zh")


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize(
    ("rule", "parameters"),
    [
        ("delta > 0 and w.p_value < 0.05 and w.ci.low > 0", {}),
        ("delta > 0 and w.ci.low > 0", {}),
        ("delta > 0 and w.p_value < 0.05", {"alternative": "greater"}),
        ("delta > 0 and w.ci excludes 0 and w.ci.low > 0", {}),
    ],
)
def test_a_clause_with_its_own_direction_is_taken_and_names_its_effect(test, rule, parameters):
    changes = scores(rule, test, parameters)
    assert said(changes) == []
    verdict = judged(changes, -MOST_LOSE + 0.2)
    assert verdict.outcome == "supported"
    english, chinese = ABOUT[test]
    plan = sample.plan(changes)
    assert f"`w` is about {english} (+" in verdict.sentence
    assert "not about the difference of means over items" in verdict.sentence
    assert f"`w` 针对的是{chinese}" in sentence(resolve(plan).require(verdict.id), verdict, language="zh")


@pytest.mark.parametrize(
    ("rule", "parameters", "better"),
    [
        ("delta > 0 and w.p_value < 0.05", {"alternative": "less"}, "higher"),
        ("delta > 0 and w.ci.high < 0", {}, "higher"),
        ("delta < 0 and w.p_value < 0.05", {}, "lower"),
        ("delta > 0 and (t.p_value < 0.05 or w.p_value < 0.05)", {}, "higher"),
        ("delta > 0 and t.p_value < 0.05 and not (w.ci.low > 0 or w.p_value > 0.05)", {}, "higher"),
    ],
)
def test_what_can_show_the_opposite_is_refused_in_any_form(rule, parameters, better):
    assert said(scores(rule, "wilcoxon", parameters, **{"endpoints.0.better": better}))


def test_tests_of_the_means_take_their_direction_from_the_difference():
    assert said(scores("delta > 0 and t.p_value < 0.05", "wilcoxon")) == []
    assert said(scores("delta > 0 and t.p_value < 0.9", "wilcoxon")) == []


def test_a_margin_is_denied_by_ranks_too():
    changes = {"hypotheses.0.claim": "non_inferiority"}
    rule = "t.ci.low > -0.02 and w.ci.high < -0.02"
    assert "shows the opposite" in said(scores(rule, "wilcoxon", **changes))[0].message
    assert said(scores("t.ci.low > -0.02 and w.ci.high < 0", "wilcoxon", **changes)) == []


def test_a_verdict_by_clusters_says_that_it_weighs_them_alike():
    sizes = (12, 6, 4, 3, 2, 2, 2, 1)
    labels = [f"c{at}" for at, size in enumerate(sizes) for _ in range(size)]
    candidate = np.array([0.0 if label == "c0" else 1.0 for label in labels])
    changes = {
        "populations.0.independence": None,
        "populations.0.clusters": {"key": "c", "n": len(sizes)},
        "hypotheses.0.rule": "c.estimates.cluster_weighted > 0 and c.p_value < 0.5",
        "tests": [
            {"id": "c", "test": "clustered-mcnemar", "version": 1, "parameters": {"method": "durkalski"}}
        ],
    }
    items = {"one": Manifest.create([str(at) for at in range(len(labels))], labels)}
    baseline = 1 - candidate
    verdict = sample.verdict_of(changes, sample.outcomes(baseline, candidate), manifests=items).hypotheses[0]
    assert (
        "`c` is about the mean of the clusters' means, which weighs clusters alike (+75.00 pp)"
        in verdict.sentence
    )


@pytest.mark.parametrize("test", ["wilcoxon", "quantile-difference"])
def test_medians_beyond_the_margin_bear_out_no_difference_that_does_not_reach_it(test):
    """Four of five items gain .3, and the mean gains .008: it was called an effect beyond .02."""
    gains = np.where(np.arange(N) < 160, 0.3, -1.2) + np.random.default_rng(3).normal(0, 0.01, N)
    changes = scores(
        "w.ci.low > 0.02 and delta > 0",
        test,
        **{
            "hypotheses.0.claim": "minimum_effect",
            "hypotheses.0.statement": "C2 scores higher than C1 by what matters",
        },
    )
    verdict = judged(changes, gains + 0.008 - gains.mean())
    assert verdict.rule_holds
    assert verdict.analyses["w"]["analysis"]["ci"]["low"] > 0.02
    assert 0 < verdict.delta < 0.02
    assert verdict.outcome == "not_supported"
    assert judged(changes, gains + 0.2 - gains.mean()).outcome == "supported"


@pytest.mark.parametrize("clause", one_in(3, ["w.p_value <= 0.5", "w.p_value < 0.7", "w.p_value <= 1"]))
@pytest.mark.parametrize("test", ["wilcoxon", "quantile-difference"])
@pytest.mark.parametrize("alternative", ["less", "two-sided"])
def test_a_threshold_that_shows_nothing_lets_no_data_pass_that_show_the_opposite(clause, test, alternative):
    """Most items lose a little, some gain much: by ranks and by the median the candidate is worse."""
    loses = np.where(np.arange(N) < 160, -0.05, 0.6) + np.random.default_rng(3).normal(0, 0.003, N)
    changes = scores(f"delta > 0 and t.p_value < 0.05 and {clause}", test, {"alternative": alternative})
    assert "shows the opposite" in said(changes)[0].message
    verdict = judged(changes, loses)
    assert verdict.analyses["w"]["analysis"]["ci"]["high"] < 0
    assert (verdict.rule_holds, verdict.outcome) == (True, "not_supported")
    # a large p of the other alternative is as much
    far = scores("delta > 0 and t.p_value < 0.05 and w.p_value > 0.9", test, {"alternative": "greater"})
    assert "shows the opposite" in said(far)[0].message
    assert (judged(far, loses).rule_holds, judged(far, loses).outcome) == (True, "not_supported")
    # one that looks for what is claimed can show nothing else
    asked = scores(f"delta > 0 and t.p_value < 0.05 and {clause}", test, {"alternative": "greater"})
    assert said(asked) == []
