"""From results to a verdict."""

from __future__ import annotations

import copy
import json
import pickle
import re
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import Field

from service.domain.rules.grammar import parse
from service.domain.rules.settings import resolve
from service.domain.rules.truth import conjunction
from service.domain.verdicts.analyses import analyse
from service.domain.verdicts.hypotheses import judge_hypotheses
from service.domain.verdicts.judge import judge
from service.domain.verdicts.outcomes import Outcomes, Rows
from service.domain.verdicts.records import Verdict, VoidedBatch
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.common import Analysis, Interval, Margin, PairedColumns
from service.stats.shared.declaring.registry import PlanUse, stat_test
from tests.domain.sample import binary, cell, inputs_of, manifest, manifests, outcomes, plan, verdict_of
from tests.drawing import draws
from tests.strategies import paired_binary

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=draws(40))
FORBIDDEN = re.compile(r"no effect|confirm|marginally|no difference", re.IGNORECASE)


class EchoRequest(PairedColumns):
    clusters: list[str] | None = None
    margin: Margin | None = None
    low: float = Field(0.0)
    high: float = Field(0.0)
    undefined: str = "none"


class EchoAnalysis(Analysis):
    baseline: list[float]
    candidate: list[float]
    clusters: list[str] | None
    margin: Margin | None
    ci: Interval
    p_value: float | None
    equivalent: bool


@pytest.fixture
def echo(monkeypatch):
    """A test that tells how it was asked, registered for one test of this file alone."""
    registry.find("mcnemar")  # the register fills itself once, before it is copied
    monkeypatch.setattr(registry, "_TESTS", dict(registry._TESTS))

    def register(clusters="when_planned", version=901):
        use = PlanUse(endpoints=frozenset({"binary", "continuous"}), clusters=clusters)

        @stat_test(name="echo", version=version, title="Echo", asked="pairs", example={}, plan=use)
        def compute(request: EchoRequest) -> EchoAnalysis:
            """Echo."""
            reasons = {} if request.undefined == "none" else {"p_value": "one cluster"}
            return EchoAnalysis(
                sentence="",
                baseline=request.baseline,
                candidate=request.candidate,
                clusters=request.clusters,
                margin=request.margin,
                ci=Interval(low=request.low, high=request.high, level=0.9, method="echo"),
                p_value=None if reasons else 0.5,
                equivalent=request.low > -0.02 and request.high < 0.02,
                reasons=reasons,
            )

        return {"tests.0": {"id": "m", "test": "echo", "version": version, "parameters": {}}}

    return register


def only(verdict):
    (found,) = verdict.hypotheses
    return found


def test_a_rule_that_holds_is_supported():
    found = only(verdict_of({}, outcomes(*binary(500, 300, 40, 10))))
    assert found.outcome == "supported"
    assert found.delta == 0.06
    assert found.delta_exact == "3/50"
    assert found.rule == "delta >= 2.0 pp and m.p_value < 0.05 and m.ci excludes 0"
    assert [(clause.text, clause.holds) for clause in found.clauses] == [
        ("delta >= 2.0 pp", True),
        ("m.p_value < 0.05", True),
        ("m.ci excludes 0", True),
    ]
    assert found.clauses[0].observed == 0.06
    assert found.clauses[0].threshold == 0.02
    assert found.clauses[2].observed.low == found.analyses["m"]["analysis"]["ci"]["low"]
    assert found.clauses[2].threshold == 0.0
    assert found.reading == "positive"
    assert found.reading_of == "m.ci"
    assert (found.n, found.n_planned, found.excluded.pairs) == (500, 500, 0)


def test_exactly_two_points_reach_the_threshold_and_miss_on_p():
    """500 items, 30 against 20: +2.0 pp exactly, exact p .2026."""
    found = only(verdict_of({}, outcomes(*binary(500, 200, 30, 20))))
    assert [clause.holds for clause in found.clauses] == [True, False, False]
    assert found.clauses[1].observed == pytest.approx(0.20263875106454066, abs=1e-9)
    assert found.outcome == "not_supported"
    assert found.reading == "inconclusive"


@pytest.mark.parametrize(
    ("claim", "rule", "outcome"),
    [
        ("superiority", "delta > 0", "supported"),
        ("superiority", "delta > 10 pp", "not_supported"),
        ("non_inferiority", "m.ci.low > -2 pp", "supported"),
        ("equivalence", "m.ci within [-10 pp, 10 pp]", "inconclusive"),
        ("equivalence", "delta > 0", "inconclusive"),
        ("equivalence", "delta > 10 pp", "not_supported"),
        ("superiority", "delta > 10 pp or m.p_value < 0.05", "supported"),
        ("superiority", "not delta > 10 pp", "supported"),
    ],
)
def test_outcomes_follow_the_rule_and_the_claim(claim, rule, outcome):
    changes = {"hypotheses.0.claim": claim, "hypotheses.0.rule": rule}
    assert only(verdict_of(changes, outcomes(*binary(500, 300, 40, 10)))).outcome == outcome


@pytest.mark.parametrize(
    ("low", "high", "outcome", "reading"),
    [
        (-0.01, 0.01, "equivalent", "equivalent"),
        (-0.03, 0.01, "not_supported", "inconclusive"),
        (-0.02, 0.01, "not_supported", "inconclusive"),
        (0.01, 0.015, "equivalent", "positive"),
        (-0.05, -0.03, "not_supported", "negative"),
    ],
)
def test_a_false_rule_is_equivalent_where_the_named_test_finds_it(echo, low, high, outcome, reading):
    changes = {**echo(), "hypotheses.0.rule": "delta >= 20 pp", "hypotheses.0.equivalence": "m"}
    changes["tests.0"]["parameters"] = {"low": low, "high": high}
    found = only(verdict_of(changes, outcomes(*binary(50, 30, 4, 3))))
    assert (found.outcome, found.reading, found.rule_holds) == (outcome, reading, False)
    unnamed = {**changes, "hypotheses.0.equivalence": None}
    del unnamed["hypotheses.0.equivalence"]
    assert only(verdict_of(unnamed, outcomes(*binary(50, 30, 4, 3)))).outcome == "not_supported"


EQUIVALENCE = {
    "hypotheses.0.claim": "equivalence",
    "hypotheses.0.rule": "e.equivalent is true",
    "tests.0": {"id": "e", "test": "equivalence", "version": 1, "parameters": {"method": "tango"}},
}


@pytest.mark.parametrize(
    ("only_candidate", "only_baseline", "outcome"), [(10, 10, "equivalent"), (60, 60, "not_supported")]
)
def test_a_rule_asks_for_equivalence_itself(only_candidate, only_baseline, outcome):
    judged = only(verdict_of(EQUIVALENCE, outcomes(*binary(500, 300, only_candidate, only_baseline))))
    (clause,) = judged.clauses
    assert judged.outcome == outcome
    assert (clause.observed, clause.threshold) == (outcome == "equivalent", True)
    assert judged.analyses["e"]["analysis"]["equivalent"] is clause.holds is (outcome == "equivalent")


def test_an_undecided_equivalence_makes_the_rule_inconclusive():
    changes = copy.deepcopy(EQUIVALENCE)
    changes["tests.0"]["parameters"]["method"] = "t"
    judged = only(verdict_of(changes, outcomes(*binary(500, 300, 0, 0))))
    assert judged.outcome == "inconclusive"
    assert judged.clauses[0].observed is None
    assert "do not vary" in judged.clauses[0].reason


def test_a_truth_survives_the_stored_verdict():
    verdict = verdict_of(EQUIVALENCE, outcomes(*binary(500, 300, 10, 10)))
    read = Verdict.model_validate_json(verdict.model_dump_json())
    assert read == verdict
    assert only(read).clauses[0].observed is True


def test_equivalence_by_the_named_test_uses_the_sesoi():
    changes = {
        "tests.1": {"id": "same", "test": "equivalence", "version": 1, "parameters": {"method": "tango"}},
        "hypotheses.0.equivalence": "same",
    }
    close = only(verdict_of(changes, outcomes(*binary(2000, 1500, 10, 9))))
    assert close.outcome == "equivalent"
    assert close.analyses["same"]["analysis"]["margin"] == 0.02
    assert "rejects differences beyond its margin" in close.sentence
    apart = only(verdict_of(changes, outcomes(*binary(200, 150, 10, 9))))
    assert apart.outcome == "not_supported"
    assert "does not show that the arms are equal" in apart.sentence


def test_an_undefined_statistic_leaves_the_rule_open_only_where_it_matters(echo):
    changes = echo()
    changes["tests.0"]["parameters"] = {"undefined": "p"}
    results = outcomes(*binary(50, 30, 4, 3))

    def judged(rule):
        return only(verdict_of({**changes, "hypotheses.0.rule": rule}, results))

    open_rule = judged("delta > 0 and m.p < 0.05")
    assert open_rule.outcome == "inconclusive"
    assert open_rule.clauses[1].holds is None
    assert open_rule.clauses[1].observed is None
    assert open_rule.clauses[1].reason == "one cluster"
    assert "one cluster" in open_rule.reason
    assert judged("delta > 50 pp and m.p < 0.05").outcome == "not_supported"
    assert judged("delta > 0 or m.p < 0.05").outcome == "supported"


def test_a_test_that_refuses_the_data_is_a_reason_not_an_error():
    changes = {
        "populations.0.independence": None,
        "populations.0.clusters": {"key": "c", "n": 1},
        "tests.0": {"id": "m", "test": "clustered-mcnemar", "version": 1, "parameters": {}},
    }
    found = only(verdict_of(changes, outcomes(*binary(50, 30, 14, 3))))
    assert found.outcome == "inconclusive"
    assert found.analyses["m"]["analysis"] is None
    assert found.clauses[1].reason == found.analyses["m"]["reason"]
    assert found.clauses[0].holds is True


def test_missing_results_under_fail_make_it_invalid():
    baseline, candidate = binary(50, 30, 14, 3)
    candidate[7] = np.nan
    found = only(verdict_of({"missing": "fail"}, outcomes(baseline, candidate)))
    assert found.outcome == "invalid"
    assert "arm 'C2'" in found.reason
    assert {clause.holds for clause in found.clauses} == {None}
    assert (found.delta, found.reading, found.analyses) == (None, None, {})


def test_missing_results_under_exclude_pair_are_left_out_and_counted():
    baseline, candidate = binary(50, 30, 14, 3)
    candidate[7] = np.nan
    found = only(verdict_of({}, outcomes(baseline, candidate)))
    assert (found.n, found.n_planned, found.excluded.pairs) == (49, 50, 1)
    assert found.excluded.candidate.missing == 1
    assert found.analyses["m"]["analysis"]["n"] == 49
    assert found.delta_exact == str(Fraction(11, 49))
    assert "1 pair left out" in found.sentence


def test_nothing_left_is_inconclusive():
    found = only(verdict_of({}, outcomes([np.nan, 1], [1, np.nan])))
    assert found.outcome == "inconclusive"
    assert "no item is left" in found.reason
    assert found.delta is None


@pytest.mark.parametrize(
    "results",
    [
        Outcomes({}),
        outcomes([1, 0, 1], [1, 0]),
        outcomes([1, 0], [0.5, 0]),
        outcomes([1, 0], cell([np.inf, 0], [0, 0])),
    ],
)
def test_odd_data_never_raise(results):
    found = only(verdict_of({}, results, n=2))
    assert found.outcome == "invalid"
    assert found.reason


def test_another_manifest_is_invalid():
    changed = {"populations.0.n": 50, "populations.0.items_sha256": manifest(50).sha256()}
    results = outcomes(*binary(50, 30, 14, 3))
    assert only(verdict_of(changed, results)).outcome == "supported"
    swapped = {"one": manifest(50, 5)}
    assert only(verdict_of(changed, results, manifests=swapped)).outcome == "invalid"


def asked(changes, results):
    return only(verdict_of(changes, results)).analyses["m"]["analysis"]


def test_columns_come_in_manifest_order_with_the_clusters_of_the_kept_items(echo):
    clusters = {"populations.0.independence": None, "populations.0.clusters": {"key": "c", "n": 3}}
    results = outcomes([1, 0, np.nan, 1], [0, 1, 1, 1])
    analysis = asked({**echo(), **clusters}, results)
    assert analysis["baseline"] == [1, 0, 1]
    assert analysis["candidate"] == [0, 1, 1]
    assert analysis["clusters"] == ["c0", "c1", "c0"]


def test_clusters_are_given_only_where_the_test_and_the_plan_have_them(echo):
    clustered = {"populations.0.independence": None, "populations.0.clusters": {"key": "c", "n": 2}}
    results = outcomes([1, 0, 1], [0, 1, 1])
    assert asked(echo(), results)["clusters"] is None
    assert asked({**echo("never", 902), **clustered}, results)["clusters"] is None
    assert asked({**echo("required", 903), **clustered}, results)["clusters"] == ["c0", "c1", "c0"]


def test_the_sesoi_is_the_margin_unless_the_parameters_name_one(echo):
    results = outcomes([1, 0, 1], [0, 1, 1])
    assert asked(echo(), results)["margin"] == {"value": 2.0, "unit": "pp"}
    changes = echo(version=902)
    changes["tests.0"]["parameters"] = {"margin": {"value": 5, "unit": "pp"}}
    assert asked(changes, results)["margin"] == {"value": 5.0, "unit": "pp"}


def test_the_margin_has_the_unit_of_the_values(echo):
    mean = {**echo(), "endpoints.0.replicates": 2}
    replicated = outcomes([[1, 0], [1, 1]], [[1, 1], [0, 1]])
    assert asked(mean, replicated)["margin"] == {"value": 0.02, "unit": "score"}
    scores = {
        **echo(version=902),
        "endpoints.0.kind": "continuous",
        "sesoi.accuracy": {"value": 0.1, "unit": "score"},
    }
    assert asked(scores, outcomes([0.5, 1], [0, 1]))["margin"] == {"value": 0.1, "unit": "score"}
    assert asked(scores, outcomes([0, 1], [0, 1]))["margin"] == {"value": 0.1, "unit": "proportion"}


@PATIENT
@given(paired_binary(), st.sampled_from(["fail", "exclude_pair"]), st.data())
def test_any_binary_outcomes_are_judged_consistently(arms, missing, data):
    baseline, candidate = (arm.copy() for arm in arms)
    lost = data.draw(st.lists(st.integers(0, len(baseline) - 1), max_size=3))
    candidate[lost] = np.nan
    verdict = verdict_of({"missing": missing}, outcomes(baseline, candidate))
    found = only(verdict)
    truth = conjunction([clause.holds for clause in found.clauses])
    expected = {True: "supported", False: "not_supported", None: "inconclusive"}[truth]
    assert found.outcome == ("invalid" if lost and missing == "fail" else expected)
    assert all((clause.reason is None) == (clause.holds is not None) for clause in found.clauses)
    assert not FORBIDDEN.search(verdict.model_dump_json())
    assert found.sentence.startswith(f"H1 is {found.outcome.replace('_', ' ')}")


def test_the_verdict_is_json_that_reads_back_the_same():
    struck = VoidedBatch(batch=3, reason="posted under the wrong arm")
    verdict = verdict_of(
        {}, outcomes(*binary(50, 30, 14, 3)), voided=(struck, VoidedBatch(batch=9, reason="again"))
    )
    again = Verdict.model_validate_json(verdict.model_dump_json())
    assert again == verdict
    assert again.sha256() == verdict.sha256()
    assert "NaN" not in verdict.model_dump_json()
    written = json.loads(verdict.model_dump_json())
    assert [batch["batch"] for batch in written["voided_batches"]] == [3, 9]
    assert written["voided_batches"][0]["reason"] == "posted under the wrong arm"
    assert written["judged_at"] == "2027-01-01T00:00:00Z"
    assert set(written["versions"]) >= {"numpy", "scipy", "python"}
    assert written["multiplicity"].startswith("uncorrected")
    assert {"id", "outcome", "rule", "clauses", "analyses"} <= set(written["hypotheses"][0])
    assert {"text", "observed", "threshold", "holds"} <= set(written["hypotheses"][0]["clauses"][0])


def test_inputs_travel_between_processes_and_give_the_same_verdict():
    changed = plan({"populations.0.n": 50})
    inputs = inputs_of(changed, manifests(changed), outcomes(*binary(50, 30, 14, 3)))
    verdict = judge(inputs)
    assert inputs.rows.resolved.settings, "names that were looked up here stay here"
    sent = pickle.loads(pickle.dumps(inputs))
    assert judge(sent).model_dump_json() == verdict.model_dump_json()


def test_each_hypothesis_is_judged_on_its_own_arms():
    second = {**plan().as_dict()["hypotheses"][0], "id": "H2", "baseline": "C2", "candidate": "C1"}
    verdict = verdict_of({"hypotheses.1": second}, outcomes(*binary(500, 300, 40, 10)))
    assert [found.outcome for found in verdict.hypotheses] == ["supported", "not_supported"]
    assert [found.delta for found in verdict.hypotheses] == [0.06, -0.06]


def test_a_bound_is_not_compared_below_itself(echo, monkeypatch):
    """A p that is only known to lie below 1e-6 satisfies p < 0.05 and decides nothing about p < 1e-9."""
    changed = plan({"populations.0.n": 3, "hypotheses.0.rule": "m.p < 0.05 and m.p < 0.000000001"})
    items, results = manifests(changed), outcomes([1, 0, 1], [0, 1, 1])
    rows = Rows(resolve(changed), items, results)
    analyses = analyse(rows)
    evidence = analyses.evidence["H1"]
    answers = dict(evidence.fillings[0].answers)
    answers["m"]["analysis"] |= {"p_value": 1e-6, "bounds": {"p_value": "< 1e-06"}}
    bounded = replace(evidence, fillings=(replace(evidence.fillings[0], answers=answers),))
    (found,) = judge_hypotheses(rows, replace(analyses, evidence={"H1": bounded}))
    assert [clause.holds for clause in found.clauses] == [True, None]
    assert found.clauses[1].reason == "known only as < 1e-06"
    assert found.outcome == "inconclusive"


def test_the_rule_is_printed_canonically():
    found = only(
        verdict_of({"hypotheses.0.rule": "NOT(delta<2pp OR m.p>=.05)"}, outcomes(*binary(50, 30, 14, 3)))
    )
    assert found.rule == "not (delta < 2 pp or m.p_value >= 0.05)"
    assert parse(found.rule) == parse("not (delta < 2 pp or m.p_value >= 0.05)")


@pytest.mark.slow
def test_a_million_items_are_judged_within_a_minute_of_computing():
    rng = np.random.default_rng(1)
    arms = (rng.random(10**6) < 0.5).astype(float), (rng.random(10**6) < 0.52).astype(float)
    changed = plan({"populations.0.n": 10**6})
    items, results = manifests(changed), outcomes(*arms)
    started = time.process_time()
    judge(inputs_of(changed, items, results))
    assert time.process_time() - started < 60
