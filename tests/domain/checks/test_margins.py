"""A margin is one number: of the statement, the SESOI and the tests; another one has a reason that is repeated."""

from __future__ import annotations

import pytest

from service.domain.plans.plan import Plan
from service.domain.rules.settings import resolve
from service.domain.verdicts.words.sentences import sentence
from service.reports.prereg.markdown import parse_plan
from service.reports.prereg.print import print_plan
from tests.domain import sample

LOSES_15 = sample.binary(500, 200, 30, 105)
ALIKE = sample.binary(2000, 1500, 12, 10)
REASON = "the audit of 2026 allows that much."


def asked(margin, unit="pp", reason=None):
    """With an equivalence test of that margin."""
    use = {"id": "eq", "test": "equivalence", "version": 1, "parameters": {"method": "tango"}}
    if margin is not None:
        use["parameters"]["margin"] = {"value": margin, "unit": unit}
    return {"tests.1": use if reason is None else {**use, "margin_reason": reason}}


def claims(claim, rule, statement, **more):
    return {
        "hypotheses.0.claim": claim,
        "hypotheses.0.rule": rule,
        "hypotheses.0.statement": statement,
        **more,
    }


NOT_WORSE = claims("non_inferiority", "eq.noninferior is true", "C2 is not worse than C1 by more than 2 pp")
ALIKE_BY_2 = claims("equivalence", "eq.equivalent is true", "C2 and C1 differ by less than 2 pp")
BY_2 = claims("minimum_effect", "eq.minimum_effect is true", "C2 beats C1 by at least 2 pp")
BESIDE = claims(
    "superiority", "delta > 0 and m.p_value < 0.05", "C2 beats C1", **{"hypotheses.0.equivalence": "eq"}
)
UNSAID = {"hypotheses.0.statement": "C2 and C1 compare"}


def codes(changes, severity="error"):
    plan = sample.plan(changes)
    facts = sample.facts_of(plan)
    return [each.code for each in sample.service_lint.lint(plan, facts) if each.severity == severity]


def judged(changes, data):
    return sample.verdict_of(changes, sample.outcomes(*data)).hypotheses[0]


@pytest.mark.parametrize(
    "claim", [NOT_WORSE, ALIKE_BY_2, BY_2, BESIDE], ids=lambda each: each["hypotheses.0.claim"]
)
@pytest.mark.parametrize(
    ("margin", "unit", "same"),
    [(None, "pp", True), (2, "pp", True), (0.02, "proportion", True), (30, "pp", False), (1.9, "pp", False)],
)
def test_a_margin_of_its_own_is_the_number_of_the_plan(claim, margin, unit, same):
    assert ("MARGIN_DIFFERS" in codes({**claim, **asked(margin, unit)})) is not same


def test_a_margin_of_scores_is_compared_in_scores():
    changes = {
        **NOT_WORSE,
        "endpoints.0.kind": "continuous",
        "sesoi": {"accuracy": {"value": 2, "unit": "score"}},
        "hypotheses.0.statement": "C2 is not worse than C1 by more than 2 points",
    }
    own = asked(2, "score")
    own["tests.1"]["parameters"]["method"] = "t"
    assert "MARGIN_DIFFERS" not in codes({**changes, **own})
    own["tests.1"]["parameters"]["margin"]["value"] = 3
    assert "MARGIN_DIFFERS" in codes({**changes, **own})


@pytest.mark.parametrize(
    ("changes", "statement", "found"),
    [
        (NOT_WORSE, "C2 is not worse than C1 by more than 1 pp", "MARGIN_DIFFERS"),
        (NOT_WORSE, "C2 is not worse than C1 by more than 3 pp", "MARGIN_DIFFERS"),
        (ALIKE_BY_2, "C2 与 C1 相差不超过 3 个百分点", "MARGIN_DIFFERS"),
        (BY_2, "C2 beats C1 by at least 3 pp", "MARGIN_DIFFERS"),
        (
            {**NOT_WORSE, "hypotheses.0.rule": "m.ci.low > -2 pp"},
            "not worse by more than 1 pp",
            "CLAIM_NOT_ASSERTED",
        ),
        ({**BY_2, "hypotheses.0.rule": "m.ci.low > 2 pp"}, "better by at least 3 pp", "CLAIM_NOT_ASSERTED"),
        ({**NOT_WORSE, "hypotheses.0.rule": "m.ci.low > -1 pp"}, "not worse by more than 1 pp", None),
    ],
)
def test_the_number_of_the_statement_is_read_for_every_claim(changes, statement, found):
    errors = codes({**changes, **asked(None), "hypotheses.0.statement": statement})
    assert errors == ([] if found is None else [found])


@pytest.mark.parametrize("claim", [NOT_WORSE, ALIKE_BY_2], ids=lambda each: each["hypotheses.0.claim"])
def test_a_locked_plan_with_another_margin_is_not_supported_beyond_its_own_number(claim):
    verdict = judged({**claim, **asked(30)}, LOSES_15)
    assert verdict.rule_holds
    assert verdict.outcome == "inconclusive"
    assert "nothing in it shows" in verdict.sentence
    assert (
        "The margin of eq is ±30.00 pp, while the SESOI is ±2.00 pp and the statement says ±2.00 pp (the plan gives no "
        "reason)." in verdict.sentence
    )


def test_an_effect_beyond_a_smaller_margin_is_none_beyond_the_sesoi():
    verdict = judged({**BY_2, **UNSAID, **asked(0.1)}, sample.binary(2000, 1500, 42, 10))
    assert verdict.rule_holds
    assert verdict.outcome == "inconclusive"


def test_a_wider_fallback_finds_no_equivalence_without_a_reason():
    verdict = judged({**BESIDE, **asked(30)}, LOSES_15)
    assert verdict.outcome == "not_supported"
    assert "but its margin is wider than the SESOI, and the plan gives no reason, so it decides nothing" in (
        verdict.sentence
    )
    plan = sample.plan({**BESIDE, **asked(30)})
    assert "其界值比 SESOI 宽，而计划没有说明原因，因此不作为结论" in sentence(
        resolve(plan).require(verdict.id), verdict, language="zh"
    )
    assert judged({**BESIDE, **asked(1)}, ALIKE).outcome == "equivalent"  # narrower says more


@pytest.mark.parametrize("claim", [{**NOT_WORSE, **UNSAID}, {**ALIKE_BY_2, **UNSAID}, BESIDE])
def test_a_reason_is_acknowledged_and_repeated_with_the_number(claim):
    changes = {**claim, **asked(30, reason=REASON)}
    assert "MARGIN_DIFFERS" not in codes(changes)
    assert "MARGIN_DIFFERS" in codes(changes, "warning")
    verdict = judged(changes, LOSES_15)
    assert verdict.outcome in ("supported", "equivalent")
    told = "The margin of eq is ±30.00 pp, while the SESOI is ±2.00 pp (the plan's reason: the audit of 2026"
    assert told in verdict.sentence
    plan = sample.plan(changes)
    chinese = sentence(resolve(plan).require(verdict.id), verdict, language="zh")
    assert (
        "eq 的界值为 ±30.00 个百分点，而 SESOI 为 ±2.00 个百分点（计划说明的原因：the audit of 2026"
        in chinese
    )


@pytest.mark.parametrize("claim", [NOT_WORSE, ALIKE_BY_2], ids=lambda each: each["hypotheses.0.claim"])
def test_no_reason_lets_a_test_show_less_than_the_statement_says(claim):
    changes = {**claim, **asked(30, reason=REASON)}
    assert "MARGIN_DIFFERS" in codes(changes)
    assert judged(changes, LOSES_15).outcome == "inconclusive"


@pytest.mark.parametrize(
    ("changes", "data", "told"),
    [
        (NOT_WORSE, ALIKE, "So differences of -2.00 pp or less are rejected, by eq at alpha = 0.05."),
        (
            {**NOT_WORSE, "endpoints.0.better": "lower", "hypotheses.0.rule": "eq.equivalent is true"},
            ALIKE,
            "So differences of +2.00 pp or more are rejected, by eq at alpha = 0.05.",
        ),
        (
            BY_2,
            sample.binary(2000, 1200, 160, 10),
            "So differences of +2.00 pp or less are rejected, by eq at alpha = 0.05.",
        ),
        (ALIKE_BY_2, ALIKE, "So differences beyond ±2.00 pp are rejected, by eq at alpha = 0.05."),
    ],
)
def test_a_verdict_names_the_margin_that_its_test_used(changes, data, told):
    verdict = judged({**changes, **asked(None)}, data)
    assert verdict.outcome in ("supported", "equivalent")
    assert told in verdict.sentence


def test_plans_without_a_reason_keep_their_text_and_one_with_it_goes_through_markdown():
    before = sample.plan({**NOT_WORSE, **asked(30)})
    assert "margin_reason" not in before.canonical_text()
    after = sample.plan({**NOT_WORSE, **asked(30, reason=REASON)})
    assert Plan.from_json(after.canonical_text()) == after
    for language in ("en", "zh"):
        text = print_plan(after, language)
        assert REASON in text
        assert parse_plan(text)[0] == after
