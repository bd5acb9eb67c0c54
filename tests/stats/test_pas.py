"""Agreement of replication decisions: the document's rules, the reference code's, and where they part."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from service.errors import InvalidData
from service.stats.pas import PASRequest, pas
from tests.stats.cases import Cases
from tests.stats.oracle import codes, named

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def score(tests, variant="document"):
    return pas(PASRequest.model_validate_json(json.dumps({"tests": tests, "variant": variant})))


def pair(human, agent, **fields):
    sides = [value if isinstance(value, dict) else {"pi": value} for value in (human, agent)]
    return {"finding": "F", "human": sides[0], "agent": sides[1], **fields}


def oracle(*prefixes):
    return named("pas", *prefixes)


def known(test):
    """A test of the oracle, whose PAS is given."""
    fields = {"human": {"pi": test["pi_h"]}} if "pi_h" in test else {}
    return {"finding": test.get("finding", "F"), "pas": test["pas"], "n_eff": test.get("n_eff", 1), **fields}


def test_against_the_posterior_cases():
    (case,) = oracle("posterior")
    names = ("big", "nan", "none", "bf3_odds10", "bf0", "direction_mismatch")
    sent = zip(*(case["input"][name] for name in ("bf", "prior_odds", "direction_match")), strict=True)
    for name, (bf, odds, match) in zip(names, sent, strict=True):
        side = {"bf10": bf, "prior_odds": odds, "direction_match": match}
        found = score([pair(1.0, side)])
        assert found.tests[0].pi_agent == pytest.approx(case["expected"][name], abs=1e-10)
        assert found.fallback_used == (name in ("nan", "none"))


def test_against_the_test_level_cases():
    for case in oracle("pas-test-"):
        sent, expected = case["input"], case["expected"]
        assert score([pair(sent["pi_h"], sent["pi_a"])]).pas == pytest.approx(expected["pas"], abs=1e-12)
        clamped = score([pair(sent["pi_h"], sent["pi_a"])], "reference_code").pas
        assert clamped == pytest.approx(expected["hsb_code_clamped_1e_6"], abs=1e-12)


def test_against_the_finding_level_cases():
    for case in oracle("pas-finding-"):
        tests, expected = [known(test) for test in case["input"]["tests"]], case["expected"]
        document, code = score(tests), score(tests, "reference_code")
        assert document.pas == pytest.approx(expected["pas_raw_doc_n_eff_weighted"], abs=1e-10)
        assert document.normalized == pytest.approx(expected["pas_norm_doc"], abs=1e-10)
        assert code.pas == pytest.approx(expected["pas_raw_hsb_code_unweighted"], abs=1e-10)
        assert code.normalized == pytest.approx(expected["pas_norm_hsb_code"], abs=1e-10)


def test_against_the_study_level_cases():
    for case in oracle("pas-study-"):
        tests, expected = [known(test) for test in case["input"]["tests"]], case["expected"]
        document, code = score(tests), score(tests, "reference_code")
        assert document.pas == pytest.approx(
            expected["pas_study_doc_simple_mean_of_weighted_findings"], abs=1e-10
        )
        assert document.normalized == pytest.approx(expected["pas_study_norm_doc_simple_mean"], abs=1e-10)
        assert code.pas == pytest.approx(expected["pas_study_hsb_code_mean_of_z"], abs=1e-10)
        assert code.normalized == pytest.approx(expected["pas_study_norm_hsb_code"], abs=1e-10)


def test_against_published_studies():
    for case in oracle("pas-published-"):
        tests = [{"finding": f"F{i}", "pas": value} for i, value in enumerate(case["input"]["finding_pas"])]
        expected = case["expected"]
        assert score(tests).pas == pytest.approx(expected["study_pas_simple_mean_as_documented"], abs=1e-6)
        published = score(tests, "reference_code").pas
        assert published == pytest.approx(expected["study_pas_published_mean_of_fisher_z"], abs=1e-6)


@PATIENT
@given(st.floats(0, 1), st.floats(0, 1))
def test_two_states_by_definition(human, agent):
    found = score([pair(human, agent)])
    assert found.pas == pytest.approx(human * agent + (1 - human) * (1 - agent), abs=1e-15)
    assert found.pas == pytest.approx(score([pair(agent, human)]).pas, abs=1e-15)
    assert 0 <= found.pas <= 1


def test_pooling_by_hand():
    tests = [pair(0.9, 0.8, n_eff=104), pair(0.97, 0.2, n_eff=40)]
    scores = [0.9 * 0.8 + 0.1 * 0.2, 0.97 * 0.2 + 0.03 * 0.8]
    z = [math.atanh(2 * value - 1) for value in scores]
    assert score(tests).pas == pytest.approx((math.tanh((104 * z[0] + 40 * z[1]) / 144) + 1) / 2, abs=1e-14)
    assert score(tests, "reference_code").pas == pytest.approx((math.tanh(sum(z) / 2) + 1) / 2, abs=1e-12)


PROBABILITIES = st.floats(0, 1)
TESTS = st.lists(
    st.builds(
        lambda finding, h, a, n: {**pair(h, a), "finding": finding, "n_eff": n},
        st.sampled_from("ABC"), PROBABILITIES, PROBABILITIES, st.integers(0, 1000),
    ),
    min_size=1,
    max_size=8,
)  # fmt: skip


@PATIENT
@given(TESTS, st.randoms(), st.sampled_from(["document", "reference_code", "three_state"]))
def test_order_does_not_matter(tests, random, variant):
    found = score(tests, variant)
    shuffled = list(tests)
    random.shuffle(shuffled)
    other = score(shuffled, variant)
    assert other.pas == pytest.approx(found.pas, abs=1e-12)
    assert {f.finding: f.n_used for f in other.findings} == {f.finding: f.n_used for f in found.findings}
    if found.normalized is not None:
        assert other.normalized == pytest.approx(found.normalized, abs=1e-9)


@PATIENT
@given(TESTS, st.sampled_from(["document", "reference_code", "three_state"]))
def test_pooled_scores_stay_between_their_tests(tests, variant):
    found = score(tests, variant)
    for finding in found.findings:
        scores = [test.pas for test in found.tests if test.finding == finding.finding]
        assert min(scores) - 1e-6 <= finding.pas <= max(scores) + 1e-6
    assert 0 <= found.pas <= 1


def test_one_test_is_neither_pooled_nor_clamped():
    assert score([pair(1.0, 1.0)]).findings[0].pas == 1
    assert score([pair(1.0, 1.0), pair(1.0, 1.0)]).findings[0].pas == pytest.approx(1 - 5e-7, abs=1e-12)


def test_studies_are_simple_means_of_findings():
    tests = [
        {**pair(0.9, 0.9), "finding": "F1", "study": "S1"},
        {**pair(0.9, 0.1), "finding": "F2", "study": "S1"},
        {**pair(0.5, 0.1), "finding": "F1", "study": "S2"},
    ]
    found = score(tests)
    assert [study.pas for study in found.studies] == pytest.approx([(0.82 + 0.18) / 2, 0.5])
    assert found.pas == pytest.approx(0.5)
    assert [(f.study, f.finding) for f in found.findings] == [("S1", "F1"), ("S1", "F2"), ("S2", "F1")]


def test_seed3_two_states_call_opposite_effects_agreement():
    human, agent = {"pi": 0.965, "direction": 1}, {"pi": 0.965, "direction": -1}
    two, three = score([pair(human, agent)]), score([pair(human, agent)], "three_state")
    assert two.pas == pytest.approx(0.93, abs=0.005)
    assert "DIRECTION_IGNORED" in codes(two)
    assert three.pas < 0.002
    assert "DIRECTION_IGNORED" not in codes(three)
    assert "DIRECTION_IGNORED" not in codes(score([pair(human, {"pi": 0.1, "direction": -1})]))
    assert "DIRECTION_IGNORED" not in codes(score([pair(human, {"pi": 0.965, "direction": 1})]))


def test_three_states_by_hand():
    human, agent = {"pi": 0.8, "direction": 1}, {"pi": 0.6, "direction": 0}
    expected = 0.8 * 0.9999 * 0.3 + 0.8 * 0.0001 * 0.3 + 0.2 * 0.4
    found = score([pair(human, agent)], "three_state")
    assert found.pas == pytest.approx(expected, abs=1e-15)
    assert found.normalized is None
    assert found.reasons["normalized"] == "defined for two states only"


def test_seed3_ceiling_is_no_maximum():
    found = score([pair(0.8, 1.0)])
    assert found.normalized == pytest.approx(0.6 / 0.36)
    assert "CEILING_EXCEEDED" in codes(found)
    same = score([pair(0.8, 0.8)])
    assert same.normalized == pytest.approx(1)
    assert "CEILING_EXCEEDED" not in codes(score([pair(0.8, 0.7)]))
    assert score([pair(0.8, 1.0)], "reference_code").normalized == pytest.approx(1 - 1e-6)


def test_neutral_human_evidence_is_skipped_in_normalizing():
    alone = score([pair(0.5, 0.9)])
    assert (alone.normalized, alone.fallback_used) == (0.0, True)
    assert alone.reasons == {"tests.0.normalized": "no human posterior, or a neutral one"}
    both = score([pair(0.5, 0.9), pair(0.9, 0.8)])
    assert both.normalized == pytest.approx(score([pair(0.9, 0.8)]).normalized, abs=1e-12)
    assert not both.fallback_used
    assert score([pair(0.5001, 0.9)]).normalized is not None


def test_no_tests_give_the_fallbacks_flagged():
    for variant in ("document", "reference_code"):
        found = score([], variant)
        assert (found.pas, found.normalized, found.fallback_used) == (0.5, 0.0, True)
        assert "FALLBACK_USED" in codes(found)


def test_a_test_without_both_sides_is_skipped():
    half = {"finding": "F", "human": {"pi": 0.9}}
    found = score([half, pair(0.9, 0.8)])
    assert found.pas == pytest.approx(0.74, abs=1e-12)
    assert (found.findings[0].n_used, found.findings[0].n_tests) == (1, 2)
    assert found.reasons["tests.0.pas"] == "not sent"
    alone = score([half])
    assert (alone.pas, alone.fallback_used) == (0.5, True)
    assert "FALLBACK_USED" in codes(alone)
    assert "FALLBACK_USED" not in codes(score([pair(0.9, 0.8)]))


def test_weights_that_sum_to_zero_are_dropped_and_flagged():
    tests = [pair(0.9, 0.8, n_eff=0), pair(0.9, 0.1, n_eff=0)]
    found = score(tests)
    assert found.pas == pytest.approx(score([{**test, "n_eff": 7} for test in tests]).pas, abs=1e-14)
    assert found.fallback_used


def test_a_bayes_factor_becomes_a_posterior():
    by_bf = score([pair({"bf10": 4.0, "prior_odds": 0.5}, {"log_bf10": 1000.0})])
    assert by_bf.tests[0].pi_human == pytest.approx(2 / 3)
    assert by_bf.tests[0].pi_agent == 1
    assert score([pair({"bf10": 0}, 0.5)]).tests[0].pi_human == 0


def test_the_reference_code_is_labelled():
    assert codes(score([pair(0.9, 0.8)], "reference_code")) == {"REFERENCE_CODE"}
    assert codes(score([pair(0.9, 0.8)])) == set()


@pytest.mark.parametrize(
    "test",
    [
        pair(1.1, 0.5),
        pair({"pi": 0.5, "bf10": 2.0}, 0.5),
        {**pair(0.9, 0.8), "pas": 0.3},
        pair(0.5, 0.5, n_eff=-1),
        pair({"bf10": -1}, 0.5),
        pair({"bf10": "-inf"}, 0.5),
        pair({"pi": True}, 0.5),
        {"human": {"pi": 0.5}, "agent": {"pi": 0.5}},
        {"finding": "F", "pas": "0.5"},
    ],
)
def test_unusable_tests_are_refused(test):
    with pytest.raises((InvalidData, ValidationError)):
        score([test])


@PATIENT
@given(TESTS, st.sampled_from(["document", "reference_code", "three_state"]))
def test_answers_hold_no_nan(tests, variant):
    text = score(tests, variant).model_dump_json()
    json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert np.isfinite(score(tests, variant).pas)


def agreements():
    """Evidence of both sides: none, certain, undefined."""
    sides = [
        None, {}, {"pi": 0.0}, {"pi": 1.0}, {"pi": 0.5}, {"bf10": "inf"}, {"bf10": "nan"}, {"bf10": 0},
        {"log_bf10": 1e300}, {"log_bf10": -1e300}, {"pi": 1.0, "direction": 1},
    ]  # fmt: skip
    yield {"tests": []}
    for human in sides:
        for agent in sides:
            test = {"finding": "f", "human": human, "agent": agent}
            yield {"tests": [test]}
            yield {"tests": [test | {"n_eff": 0.0}, {"finding": "f", "human": {"pi": 0.9}, "pas": 0.0}]}


CASES = Cases(
    degenerate=agreements,
    growing="counted per test: see test_agreement_is_estimated_by_its_tests",
)
