"""Several hypotheses in one verdict: the family's policy, and endpoints that are secondary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats as reference
from statsmodels.stats.multitest import multipletests

from service.domain.decision.family import places
from service.domain.deviations.as_run import apply, as_run, why_not
from service.domain.deviations.changes import EndpointChange, MultiplicityChange
from service.domain.plans.plan import Plan
from service.domain.rules.settings import resolve
from service.domain.verdicts.outcomes import Outcomes, Rows
from tests.domain import sample

N = 100
ARMS = {"C1": (0, 0), "C2": (12, 2), "C3": (11, 2), "C4": (9, 2)}
"""Discordant items for and against each arm beside C1: exact p .0129, .0225 and .0654."""
P = {arm: reference.binomtest(wins, wins + losses).pvalue for arm, (wins, losses) in list(ARMS.items())[1:]}
OTHERS = {"bonferroni", "holm", "hochberg", "hommel", "bh", "by"}
NAMES = {
    "hochberg": "simes-hochberg",
    "bh": "fdr_bh",
    "by": "fdr_by",
}


def arm(name: str) -> np.ndarray[Any, Any]:
    """C1 is right on the first 50 items; an arm wins on items from 50 and loses on items from 0."""
    wins, losses = ARMS[name]
    values = np.zeros(N)
    values[:50] = 1
    values[50 : 50 + wins] = 1
    values[:losses] = 0
    return values


def plan_of(policy: str, family: list[str] | None = None, **changes: Any) -> Plan:
    """Three hypotheses on one population: each of the other arms beside C1."""
    hypotheses = [
        sample.VALUE["hypotheses"][0] | {"id": f"H{each[1]}", "candidate": each, "rule": "m.p_value < 0.05"}
        for each in P
    ]
    return sample.plan(
        {
            "populations.0.n": N,
            "hypotheses": hypotheses,
            "multiplicity": {"policy": policy, "family": ["H2", "H3", "H4"] if family is None else family},
            **changes,
        }
    )


def rows_of(plan: Plan) -> Rows:
    cells = {
        ("one", each, endpoint.id): sample.cell(arm(each))
        for each in ARMS
        for endpoint in plan.endpoints or ()
    }
    return Rows(resolve(plan), sample.manifests(plan), Outcomes(cells))


def verdict_of(plan: Plan):
    rows = rows_of(plan)
    return sample.judged(plan, rows.manifests, rows.outcomes)


@pytest.mark.parametrize("policy", sorted(OTHERS))
def test_clauses_are_judged_on_the_adjusted_p(policy):
    expected = multipletests(list(P.values()), method=NAMES.get(policy, policy))[1]
    found = verdict_of(plan_of(policy))
    for hypothesis, p, adjusted in zip(found.hypotheses, P.values(), expected, strict=True):
        (clause,) = hypothesis.clauses
        assert clause.observed == pytest.approx(adjusted, rel=1e-9)
        assert clause.unadjusted == pytest.approx(p, rel=1e-9)
        assert hypothesis.analyses["m"]["analysis"]["p_value"] == pytest.approx(p, rel=1e-9)
        assert clause.holds is bool(adjusted < 0.05)
        assert hypothesis.outcome == ("supported" if adjusted < 0.05 else "not_supported")
        assert hypothesis.family.adjusted == clause.observed
        assert (hypothesis.family.policy, hypothesis.family.size) == (policy, 3)
    assert found.multiplicity == f"{policy} over 3 hypotheses"


def test_policies_change_outcomes_in_the_direction_they_should():
    def outcomes(policy, family=None):
        return [each.outcome == "supported" for each in verdict_of(plan_of(policy, family)).hypotheses]

    assert outcomes("none") == [True, True, False]
    assert outcomes("holm") == [True, True, False]
    assert outcomes("bonferroni") == [True, False, False]
    assert outcomes("fixed_sequence") == [True, True, False]
    assert outcomes("fixed_sequence", ["H4", "H2", "H3"]) == [False, False, False]
    assert outcomes("bonferroni", ["H3", "H4"]) == [True, True, False]


def test_none_adjusts_nothing_and_shows_holm_beside_it():
    found = verdict_of(plan_of("none"))
    holm = multipletests(list(P.values()), method="holm")[1]
    for hypothesis, p, beside in zip(found.hypotheses, P.values(), holm, strict=True):
        assert hypothesis.clauses[0].observed == pytest.approx(p, rel=1e-9)
        assert hypothesis.clauses[0].unadjusted is None
        assert hypothesis.family.adjusted == hypothesis.family.p_value
        assert hypothesis.family.holm == pytest.approx(beside, rel=1e-9)
    assert "uncorrected" in found.multiplicity


@pytest.mark.parametrize("policy", ["none", "bonferroni"])
@pytest.mark.parametrize("family", [[], ["H2", "H3", "H2"]])
def test_the_words_count_the_hypotheses_that_the_policy_counts(policy, family):
    # H4 is on a secondary endpoint, and H2 is listed twice: either way the family is H2 and H3
    plan = plan_of(
        policy,
        family,
        **{"endpoints.1": sample.VALUE["endpoints"][0] | {"id": "f1", "role": "secondary"}},
        **{"hypotheses.2.endpoint": "f1"},
    )
    found = verdict_of(plan)
    assert [each.family and each.family.size for each in found.hypotheses] == [2, 2, None]
    assert found.multiplicity.endswith(" 2 hypotheses")
    assert places(plan) == 2


def test_a_hypothesis_outside_the_family_is_left_alone():
    found = verdict_of(plan_of("bonferroni", ["H2", "H4"]))
    assert found.hypotheses[1].family is None
    assert found.hypotheses[1].clauses[0].observed == pytest.approx(P["C3"], rel=1e-9)


def test_what_has_no_p_counts_as_one():
    """C4's results break the plan: the other two are still adjusted as members of three."""
    rows = rows_of(plan_of("bonferroni"))
    rows.outcomes.cells["one", "C4", "accuracy"].values[0] = 0.5
    found = sample.judged(rows.plan, rows.manifests, rows.outcomes)
    first, _, broken = found.hypotheses
    assert first.family.adjusted == pytest.approx(3 * P["C2"], rel=1e-9)
    assert (broken.outcome, broken.family.p_value, broken.family.adjusted) == ("invalid", None, None)
    assert broken.family.reason


def test_of_several_clauses_the_largest_p_stands_for_the_hypothesis():
    """`a` is one-sided and half of `m`, and each clause keeps a number of its own."""
    tests = [
        {"id": "m", "test": "mcnemar", "version": 1, "parameters": {}},
        {"id": "a", "test": "mcnemar", "version": 1, "parameters": {"alternative": "greater"}},
    ]
    rule = "a.p_value < 0.05 and m.p_value < 0.05"
    found = verdict_of(plan_of("bonferroni", tests=tests, **{"hypotheses.0.rule": rule})).hypotheses[0]
    assert found.family.p_value == pytest.approx(P["C2"], rel=1e-9)
    assert [each.observed for each in found.clauses] == pytest.approx([1.5 * P["C2"], 3 * P["C2"]], rel=1e-9)


@pytest.mark.parametrize(
    ("rule", "refused"),
    [
        ("delta >= 2 pp and m.p_value < 0.05", False),
        ("delta >= 2 pp", True),
        ("m.p_value < 0.05 or delta >= 2 pp", True),
        ("delta >= 2 pp and not m.p_value >= 0.05", True),
        ("delta >= 2 pp and m.p_value < 0.05 and m.p_value > 0.01", True),
    ],
)
def test_lint_wants_one_p_value_that_the_rule_needs(rule, refused):
    def codes(policy, family):
        multiplicity = {"policy": policy, "family": family}
        return [
            code
            for code, _ in sample.codes({"hypotheses.0.rule": rule, "multiplicity": multiplicity})
            if code in ("MULTIPLICITY", "NOT_YET_SUPPORTED")
        ]

    assert codes("holm", ["H1"]) == (["MULTIPLICITY"] if refused else [])
    assert codes("holm", []) == (["MULTIPLICITY"] if refused else [])
    assert codes("none", ["H1"]) == []


SECONDARY = {
    "endpoints": [
        {"id": "accuracy", "kind": "binary", "role": "primary"},
        {"id": "brevity", "kind": "binary", "role": "secondary"},
    ],
    "hypotheses.1.endpoint": "brevity",
}


def test_secondary_endpoints_are_reported_as_secondary():
    found = verdict_of(plan_of("none", [], **SECONDARY))
    assert [each.role for each in found.hypotheses] == ["primary", "secondary", "primary"]
    assert found.primary_outcomes == {"supported": 1, "not_supported": 1}
    assert [each.outcome for each in found.hypotheses] == ["supported", "supported", "not_supported"]
    assert [each.family is None for each in found.hypotheses] == [False, True, False]
    assert {each.family.size for each in found.hypotheses if each.family} == {2}


def test_a_switched_endpoint_is_secondary_as_run_and_the_plan_stays():
    plan = plan_of("none", [], endpoints=SECONDARY["endpoints"])
    rows = rows_of(plan)
    planned = {each.id: each.outcome for each in verdict_of(plan).hypotheses}
    change = EndpointChange(kind="endpoint", hypothesis="H2", endpoint="brevity")
    found = as_run(rows, {1: change}, planned)
    assert [each.role for each in found.hypotheses] == ["secondary", "primary", "primary"]
    assert [each.role for each in verdict_of(plan).hypotheses] == ["primary"] * 3
    assert plan.hypothesis("H2").endpoint == "accuracy"


def test_another_policy_as_a_deviation_is_applied_to_the_rows():
    plan = plan_of("none")
    change = MultiplicityChange(kind="multiplicity", policy="bonferroni")
    assert why_not(plan, change) is None
    assert apply(rows_of(plan), [change]).plan.multiplicity.family == ("H2", "H3", "H4")
    planned = {each.id: each.outcome for each in verdict_of(plan).hypotheses}
    found = as_run(rows_of(plan), {1: change}, planned)
    assert [(each.outcome, each.outcome_planned) for each in found.hypotheses] == [
        ("supported", "supported"),
        ("not_supported", "supported"),
        ("not_supported", "not_supported"),
    ]
