"""A claim says what it is about: the means, a median, another quantile, or ranks."""

from __future__ import annotations

import numpy as np
import pytest

from service.domain.lint.about import about_findings
from service.domain.power.levels.level import level_of
from service.domain.rules.claims.about import find_named
from service.domain.rules.settings import resolve
from service.domain.verdicts.words.sentences import sentence
from service.words.catalogue import LANGUAGES
from tests.domain import sample
from tests.domain.checks.rank_plans import MOST_LOSE, judged, said, scores

ABOUT = {"wilcoxon": "rank", "mann-whitney": "rank", "quantile-difference": "median"}
NAMES = {
    "rank": ("The claim is about ranks", "针对秩"),
    "median": ("The claim is about the median", "针对中位数"),
}


def about(changes):
    plan = sample.plan(changes)
    (setting,) = resolve(plan).settings
    return [finding.message for finding in about_findings(setting)]


def declared(rule, test, about, parameters=None, **more):
    return scores(rule, test, parameters, **{"hypotheses.0.about": about, **more})


@pytest.mark.parametrize("test", ABOUT)
def test_a_claim_about_ranks_or_medians_rests_on_them_alone(test):
    """Most items gain and the mean falls: the claim is borne out, and the sentences say what it is about."""
    changes = declared("w.p_value < 0.05 and w.ci.low > 0", test, ABOUT[test])
    assert said(changes) == []
    assert about(changes) == []
    verdict = judged(changes, -MOST_LOSE)
    assert verdict.delta < 0
    assert verdict.outcome == "supported"
    english, chinese = NAMES[ABOUT[test]]
    assert english in verdict.sentence
    assert "The means go the other way." in verdict.sentence
    plan = sample.plan(changes)
    in_chinese = sentence(resolve(plan).require(verdict.id), verdict, language="zh")
    assert chinese in in_chinese
    assert "均值的方向与之相反" in in_chinese
    # the other way round no mean helps
    assert judged(changes).outcome == "not_supported"


@pytest.mark.parametrize(
    ("rule", "test", "what", "message"),
    [
        ("delta > 0 and t.p_value < 0.05", "wilcoxon", "rank", "by ranks, and the rule can hold without"),
        ("w.ci.low > 0", "wilcoxon", "median", "by the median"),
        ("w.ci.low > 0", "quantile-difference", "rank", "by ranks"),
        ("w.p_value < 0.05", "wilcoxon", "rank", "takes either side"),
        ("delta > 0 and w.p_value < 0.05", "wilcoxon", "rank", "takes either side"),
        ("w.ci.low > 0 or t.ci.low > 0", "wilcoxon", "rank", "by ranks"),
    ],
)
def test_a_rule_shows_what_the_claim_is_about(rule, test, what, message):
    (finding,) = said(declared(rule, test, what))
    assert message in finding.message
    assert judged(declared(rule, test, what), -MOST_LOSE + 0.3 * ("t." in rule)).outcome != "equivalent"


def test_a_quantile_is_a_median_in_the_middle_alone():
    upper = {"q": 0.9, "n_resamples": 1000, "seed": 1}
    assert said(declared("w.ci.low > 0", "quantile-difference", "quantile", upper)) == []
    assert said(declared("w.ci.low > 0", "quantile-difference", "median", upper))


def test_the_size_of_a_claim_about_medians_is_shown_of_the_median():
    named = {"hypotheses.0.statement": "the median of C2 is higher by at least 0.2 points"}
    assert "by at least" not in "".join(
        about(declared("w.ci.low > 0.2", "quantile-difference", "median", **named))
    )
    assert said(declared("w.ci.low > 0.2", "quantile-difference", "median", **named)) == []
    assert said(declared("w.ci.low > 0 and delta > 0.2", "quantile-difference", "median", **named))


def test_a_rule_of_ranks_alone_asks_what_its_claim_is_about():
    (message,) = about(scores("delta > 0 and w.ci.low > 0", "wilcoxon"))
    assert '`"about": "rank"`' in message
    assert about(scores("delta > 0 and w.ci.low > 0 and t.p_value < 0.05", "wilcoxon")) == []
    assert about(scores("delta > 0 and t.p_value < 0.05", "wilcoxon")) == []


def test_a_statement_that_names_another_effect_is_asked_about():
    (message,) = about(
        scores(
            "delta > 0 and t.p_value < 0.05", "t-test", **{"hypotheses.0.statement": "C2 has a higher median"}
        )
    )
    assert "the statement names the median, and the claim is about the means" in message
    assert find_named("C2 的中位数更高") == "median"
    assert find_named("the mean of the medians of difference") is None
    assert find_named("C2 means business") is None


def test_the_level_of_a_claim_about_ranks_is_told_where_ranks_do_not_differ():
    """Where the means are equal and ranks are not, a test of ranks holds half the time, and errs in nothing."""
    greater = {"alternative": "greater"}

    def level(changes):
        plan = sample.plan(changes)
        return level_of(plan, {}, resolve(plan).settings[0]).level

    rule = "w.p_value < 0.05 and t.p_value < 0.9"
    assert level(declared(rule, "wilcoxon", "rank", greater)) < 0.07
    assert level(scores(f"delta > 0 and {rule}", "wilcoxon", greater)) > 0.2


def test_a_plan_without_it_keeps_its_canonical_text_and_its_sentences():
    plan = sample.plan(scores("delta > 0 and t.p_value < 0.05", "wilcoxon"))
    assert "about" not in plan.as_dict()["hypotheses"][0]
    verdict = judged(scores("delta > 0 and t.p_value < 0.05", "wilcoxon"), np.full(200, 0.1) + MOST_LOSE)
    for language in LANGUAGES:
        assert (
            sentence(resolve(plan).require(verdict.id), verdict, language=language).count("claim is about")
            == 0
        )
