"""The policy `max_t`: p-values by the signs that a family's differences share, and what has to hold for it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from service.domain.calibration.calibration import Calibrator, block_count, conclude
from service.domain.calibration.case import case_of
from service.domain.deviations.as_run import apply, as_run, verdicts_of
from service.domain.deviations.changes import ExcludedItems, MultiplicityChange
from service.domain.deviations.doubtful_items import Doubts
from service.domain.deviations.fillings import PAIRS
from service.domain.deviations.tipping_point import tipping_point
from service.domain.lint import lint as service_lint
from service.domain.multiverse.multiverse import multiverse
from service.domain.plans.plan import TestUse
from service.domain.power.rule_power import rule_powers
from service.domain.rules.feeding import build_request, parameter
from service.domain.rules.settings import resolve
from service.domain.verdicts.analyses import analyse
from service.domain.verdicts.hypotheses import judge_hypotheses
from service.domain.verdicts.joint import JointFamily, joint_family, seconds, sign_tests
from service.domain.verdicts.outcomes import Outcomes, Rows
from service.kernels.randomization.joint_flips import joint_of, step_down
from service.kernels.randomization.sign_flip import sign_flip
from tests.domain import sample
from tests.domain.power.plan_uses import IN_PLANS, asked
from tests.drawing import mostly_slow

N = 120
ABOUT = {"preregistration_id": "p1", "plan_sha256": "0" * 64, "data": "record", "left_out": []}
SIGNS = {"id": "m", "test": "clustered-mcnemar", "version": 1, "parameters": {"method": "sign_flip"}}
ENDPOINTS = ("accuracy", "format", "safety")


def differences(clusters: int | None = None) -> np.ndarray[Any, Any]:
    """Three endpoints that mostly change together, (N, 3)."""
    rng = np.random.default_rng(21)
    shared = rng.choice([1.0, 0.0, -1.0], N, p=[0.25, 0.69, 0.06])
    own = rng.random((N, 3)) < 0.1
    return np.where(own, rng.choice([-1.0, 1.0], (N, 3)), shared[:, None])


def plan_of(policy: str = "max_t", clusters: int | None = None, **changes: Any):
    first = sample.VALUE["hypotheses"][0]
    value = {
        "populations.0.n": N,
        "endpoints": [{"id": each, "kind": "binary", "role": "primary"} for each in ENDPOINTS],
        "sesoi": {each: {"value": 2, "unit": "pp"} for each in ENDPOINTS},
        "hypotheses": [
            first | {"id": f"H{at}", "endpoint": each, "rule": "delta >= 2.0 pp and m.p_value < 0.05"}
            for at, each in enumerate(ENDPOINTS)
        ],
        "multiplicity": {"policy": policy, "family": [f"H{at}" for at in range(3)]},
    }
    if clusters is not None:
        value |= {
            "populations.0.independence": None,
            "populations.0.clusters": {"key": "c", "n": clusters},
            "tests.0": SIGNS,
        }
    return sample.plan(value | changes)


def rows_of(plan, values=None) -> Rows:
    values = differences() if values is None else values
    cells = {}
    for at, name in enumerate(ENDPOINTS):
        cells["one", "C1", name] = sample.cell((values[:, at] < 0).astype(float))
        cells["one", "C2", name] = sample.cell((values[:, at] > 0).astype(float))
    return Rows(resolve(plan), sample.manifests(plan), Outcomes(cells))


def verdict_of(rows: Rows):
    return sample.judged(rows.plan, rows.manifests, rows.outcomes)


@pytest.mark.parametrize("clusters", [None, 30])
def test_clauses_are_judged_by_the_shared_signs(clusters):
    plan = plan_of(clusters=clusters)
    found = verdict_of(rows_of(plan))
    sums = differences()
    if clusters is not None:
        codes = np.arange(N) % clusters
        sums = np.stack([np.bincount(codes, weights=each) for each in sums.T], axis=1)
    own = np.array([sign_flip(each).two_sided for each in sums.T])
    expected = np.maximum(step_down(joint_of(sums), np.zeros(3, dtype=np.int64), 5, range(200)), own)
    holm = multipletests(own, method="holm")[1]
    for hypothesis, p, adjusted, beside in zip(found.hypotheses, own, expected, holm, strict=True):
        assert hypothesis.family.p_value == pytest.approx(p, rel=1e-9)
        assert hypothesis.family.adjusted == pytest.approx(adjusted, abs=0.01)
        assert p <= hypothesis.family.adjusted
        assert own.argmin() != int(hypothesis.id[1]) or hypothesis.family.adjusted < beside
        assert hypothesis.family.holm == pytest.approx(beside, rel=1e-9)
        clause = hypothesis.clauses[1]
        assert (clause.observed, clause.unadjusted) == (hypothesis.family.adjusted, hypothesis.family.p_value)
        assert hypothesis.family.joint.units == ("items" if clusters is None else "clusters")
    assert found.multiplicity == "max_t over 3 hypotheses, by one random sign per item or cluster"
    assert "adjusted by max_t over 3 hypotheses" in found.hypotheses[0].sentence


def test_no_reason_is_given_where_the_signs_are_shared():
    rows = rows_of(plan_of())
    assert (
        json.loads(verdict_of(rows).model_dump_json())["hypotheses"][0]["family"]["joint"]["reason"] is None
    )


def test_shared_signs_are_expected_to_take_longer_the_more_items_they_flip():
    waits = [seconds(plan_of(), n) for n in (10, 10_000, 1_000_000)]
    # Every item's sign is drawn as often as there are draws, whatever a draw costs here.
    assert waits == sorted(set(waits))
    assert (waits[2] - waits[0]) / (waits[1] - waits[0]) == pytest.approx(100, rel=0.01)
    assert waits[2] > 10 * waits[0] > 0
    assert seconds(plan_of("holm"), 1_000_000) == 0


def test_other_policies_keep_their_bytes():
    rows = rows_of(plan_of("holm"))
    assert analyse(rows).joint is None
    assert "joint" not in verdict_of(rows).hypotheses[0].family.model_dump(mode="json")


def test_drawn_p_values_near_the_threshold_decide_nothing():
    """An adjusted p whose range holds .05 leaves its clause open, as any drawn p does."""
    rows = rows_of(plan_of())
    found = analyse(rows)
    shared = found.joint.shared.model_copy(update={"exact": False, "draws": 100_000})
    near = JointFamily(shared, np.array([[[p] * 3] for p in (0.0501, 0.048, 0.052)]))
    told = judge_hypotheses(rows, replace(found, joint=near))[0]
    assert (told.outcome, told.clauses[1].holds) == ("inconclusive", None)


def test_what_was_judged_in_one_family_is_judged_anew_in_another():
    """The evidence is the same; what a clause is held against is not."""
    analyses = analyse(rows := rows_of(plan_of()))
    own = judge_hypotheses(rows, analyses)[0].clauses[1]
    other = JointFamily(analyses.joint.shared, np.array([[[p] * 3] for p in (0.5, 0.5, 0.5)]))
    judged = judge_hypotheses(rows, replace(analyses, joint=other))[0].clauses[1]
    assert own.observed < 0.5
    assert (judged.observed, judged.holds, judged.unadjusted) == (0.5, False, own.unadjusted)


def test_results_that_break_the_plan_leave_holm():
    rows = rows_of(plan_of(missing="fail"))
    rows.outcomes.cells["one", "C1", "safety"].statuses[0] = 2
    found = verdict_of(rows)
    own = [sign_flip(each).two_sided for each in differences().T[:2]]
    holm = multipletests([*own, 1.0], method="holm")[1]
    assert [each.family.adjusted for each in found.hypotheses[:2]] == pytest.approx(holm[:2])
    assert "H2 break the plan" in found.hypotheses[0].family.joint.reason
    assert "adjusted by holm over 3 hypotheses" in found.hypotheses[0].sentence
    assert found.multiplicity == (
        "holm over 3 hypotheses: the policy is `max_t`, and the family shares no signs, because the results of H2 "
        "break the plan"
    )


def test_items_left_out_of_one_endpoint_keep_their_place_in_the_others():
    rows = rows_of(plan_of())
    rows.outcomes.cells["one", "C1", "safety"].statuses[:10] = 2
    values = differences()
    values[:10, 2] = 0
    expected = step_down(joint_of(values), np.zeros(3, dtype=np.int64), 5, range(200))
    found = verdict_of(rows)
    assert [each.family.adjusted for each in found.hypotheses] == pytest.approx(expected, abs=0.01)


def test_one_member_keeps_its_own_p():
    plan = plan_of(**{"multiplicity.family": ["H1"]})
    found = verdict_of(rows_of(plan)).hypotheses[1]
    assert found.family.adjusted == found.family.p_value


def test_where_nothing_differs_no_p_is_small():
    found = verdict_of(rows_of(plan_of(), np.zeros((N, 3))))
    assert [each.family.adjusted for each in found.hypotheses] == [1.0, 1.0, 1.0]


def test_another_policy_as_a_deviation_is_applied_to_the_rows():
    rows = rows_of(plan_of("holm"))
    planned = {each.id: each.outcome for each in verdict_of(rows).hypotheses}
    found = as_run(rows, {1: MultiplicityChange(kind="multiplicity", policy="max_t")}, planned)
    as_planned = {each.id: each.outcome for each in verdict_of(rows_of(plan_of())).hypotheses}
    assert {each.hypothesis: each.outcome for each in found.hypotheses} == as_planned


@pytest.mark.parametrize(
    ("changes", "words"),
    mostly_slow(
        [
            ({}, None),
            ({"clusters": 30}, None),
            ({"tests.0.parameters": {"method": "midp"}}, "random signs, and `m.p_value` does not"),
            ({"clusters": 30, "tests.0.parameters.method": "cr2_t"}, "takes the clusters"),
            ({"stopping": {"kind": "anytime_valid"}}, "stop at 'fixed_n'"),
            ({"hypotheses.1.claim": "equivalence"}, "equivalence is none"),
            (
                {
                    "tests.1": {
                        "id": "one",
                        "test": "mcnemar",
                        "version": 1,
                        "parameters": {"alternative": "greater"},
                    },
                    "hypotheses.2.rule": "one.p_value < 0.05",
                },
                "the same `alternative`",
            ),
            (
                {
                    "populations.1": {"id": "two", "dataset": "E", "n": 99, "independence": "drawn"},
                    "hypotheses.2.population": "two",
                },
                "on the same items",
            ),
        ],
        3,
    ),
)
def test_lint_says_which_members_cannot_share(changes, words):
    clusters = changes.pop("clusters", None) if "clusters" in changes else None
    plan = plan_of(clusters=clusters, **changes)
    facts = sample.facts_of(plan)
    found = [each.message for each in service_lint.lint(plan, facts) if each.code == "MULTIPLICITY"]
    if words is None:
        assert found == []
    else:
        assert any(words in each and "'holm'" in each for each in found), found


def test_tests_that_can_be_members_are_named():
    assert {"mcnemar", "clustered-mcnemar", "randomization"} <= set(sign_tests())


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_what_is_said_to_flip_signs_does(alternative):
    """Every test that may be a member, with every parameter it may have: its p is that of the sign flips."""
    rng = np.random.default_rng(13)
    difference = rng.choice([1.0, 0.0, -1.0], 90, p=[0.3, 0.5, 0.2])
    columns = {"baseline": (difference < 0) * 1.0, "candidate": (difference > 0) * 1.0}
    tails = {"two-sided": "two_sided", "greater": "at_least", "less": "at_most"}
    tried = 0
    for name, test in IN_PLANS.items():
        for given in ({**each, "alternative": alternative} for each in asked(name)):
            use = TestUse(id="m", test=name, version=test.version, parameters=given)
            if "alternative" not in test.request.model_fields or not test.plan.flips_signs(
                partial(parameter, use)
            ):
                continue
            labels = [f"c{k % 15}" for k in range(90)] if test.plan.clusters == "required" else None
            sums = difference if labels is None else np.bincount(np.arange(90) % 15, weights=difference)
            request = build_request(
                test,
                use,
                **{key: each.tolist() for key, each in columns.items()},
                clusters=labels,
                margin=None,
            )
            p = test.compute(request).p_value
            assert p == pytest.approx(getattr(sign_flip(sums), tails[alternative]), rel=1e-9), (name, given)
            tried += 1
    assert tried >= 3


@pytest.mark.slow
def test_power_is_simulated_and_above_holm():
    stated = {"effect": {"value": 10, "unit": "pp"}, "discordance": 0.3}

    def power(policy):
        plan = plan_of(policy, assumptions=stated, missing="fail")
        facts = sample.facts_of(plan)
        return next(iter(rule_powers(plan, facts))).reference

    ours, theirs = power("max_t"), power("holm")
    assert theirs.power <= ours.power < theirs.power + 0.05
    assert ours.standard_error is not None


@pytest.mark.slow
def test_twins_pay_nothing_where_holm_makes_them_pay():
    """Two hypotheses on one set of data are one to the shared signs, also in the power that lint simulates."""
    stated = {"effect": {"value": 10, "unit": "pp"}, "discordance": 0.3}
    twins = [
        {**sample.VALUE["hypotheses"][0], "id": f"H{k}", "rule": "delta >= 2.0 pp and m.p_value < 0.05"}
        for k in range(2)
    ]

    def power(policy):
        plan = sample.plan({"populations.0.n": N, "hypotheses": twins, "assumptions": stated,
                            "multiplicity": {"policy": policy, "family": ["H0", "H1"]}})  # fmt: skip
        facts = sample.facts_of(plan)
        return next(iter(rule_powers(plan, facts))).reference.power

    assert power("max_t") == pytest.approx(power("none"), abs=0.03)
    assert power("holm") < power("none") - 0.05


def few(values, **changes):
    """Three endpoints on few items, so that all patterns of signs and all fillings can be tried."""
    rules = {f"hypotheses.{at}.rule": "delta >= 2.0 pp and m.p_value < 0.2" for at in range(3)}
    return rows_of(
        plan_of(**{"populations.0.n": len(values), **rules, **changes}), np.asarray(values, dtype=float)
    )


SEVEN = [[1, 1, 0], [1, 0, 1], [1, 1, 1], [1, 0, 0], [1, 1, 0], [0, 0, -1], [-1, 0, 1]]


@pytest.mark.slow
def test_calibration_judges_every_flip_by_the_shared_signs():
    rows = few(SEVEN)
    case = case_of(rows.plan, rows.manifests, rows.outcomes.cells, runs=2**7, seed=1, about=ABOUT)
    found = conclude(case, Calibrator(case).draw(range(block_count(case))))
    passed = np.zeros(3)
    any_passed = 0
    for signs in product((1, -1), repeat=7):
        judged = verdict_of(few(np.array(SEVEN) * np.array(signs)[:, None])).hypotheses
        holds = [each.rule_holds is True for each in judged]
        passed += holds
        any_passed += any(holds)
    assert found.enumerated
    assert [each.rate for each in found.hypotheses] == pytest.approx(passed / 2**7)
    assert found.family.rate == pytest.approx(any_passed / 2**7)
    assert 0 < found.family.rate <= 0.2
    assert "max_t" in found.family.sentence


@pytest.mark.parametrize("policy", ["max_t", pytest.param("holm", marks=pytest.mark.slow)])
def test_the_tipping_point_agrees_with_every_filling(policy):
    """Doubtful items that differ on another endpoint of the family are not alike: by `max_t` they share a sign."""
    values = [
        [1, 0, -1],
        [1, -1, -1],
        [0, -1, 1],
        [0, -1, 1],
        [-1, 1, -1],
        [0, -1, 1],
        [1, -1, 1],
        [1, -1, -1],
    ]
    rows = few(values, multiplicity={"policy": policy, "family": ["H0", "H1", "H2"]})
    hypothesis = rows.plan.hypotheses[0]
    doubtful = (4, 5, 6, 7)
    for arm in ("C1", "C2"):
        rows.outcomes.cells["one", arm, "accuracy"].statuses[list(doubtful)] = 2
    none = np.zeros(8, dtype=bool)
    found = tipping_point(rows, hypothesis, Doubts(none, none), budget=1e9)

    def outcome(filling):
        cells = dict(rows.outcomes.cells)
        for arm, at in (("C1", 0), ("C2", 1)):
            cell = cells["one", arm, "accuracy"]
            values, statuses = cell.values.copy(), cell.statuses.copy()
            for position, pair in filling.items():
                values[position], statuses[position] = pair[at], 0
            cells["one", arm, "accuracy"] = type(cell)(values, statuses)
        return verdict_of(Rows(rows.resolved, rows.manifests, Outcomes(cells))).hypotheses[0].outcome

    start, least = outcome({}), None
    for chosen in product((None, *PAIRS), repeat=len(doubtful)):
        filling = {p: pair for p, pair in zip(doubtful, chosen, strict=True) if pair is not None}
        if (least is None or len(filling) < least) and outcome(filling) != start:
            least = len(filling)
    assert (found.outcome, found.items) == (start, least)
    assert least is not None


def test_every_universe_shares_the_signs_of_its_own_rows():
    rows = rows_of(plan_of())
    gone = ExcludedItems(
        kind="exclude_items", population="one", item_ids=tuple(f"item {k}" for k in range(9))
    )
    changes = {1: gone, 2: MultiplicityChange(kind="multiplicity", policy="holm")}
    planned = tuple(verdicts_of(rows).values())
    found = multiverse(rows, changes, planned)
    assert found.computed == 4
    for universe in found.universes:
        picked = [
            change
            for number, change in changes.items()
            if universe.choices[f"deviation-{number}"] == "as deviated"
        ]
        judged = verdict_of(apply(rows, picked)).hypotheses
        for each in judged:
            seen = universe.hypotheses[each.id]
            assert (seen.outcome, seen.passes, seen.n) == (each.outcome, each.rule_holds, each.n)
            assert each.family.policy == ("holm" if changes[2] in picked else "max_t")


@pytest.mark.parametrize("stopping", [{"kind": "anytime_valid"}, {"kind": "group_sequential", "looks": 2}])
def test_looks_are_refused_before_the_lock_and_leave_holm_after_it(stopping):
    plan = plan_of(stopping=stopping)
    facts = sample.facts_of(plan)
    (first, *_) = [each for each in service_lint.lint(plan, facts) if each.code == "MULTIPLICITY"]
    assert first.severity == "error"
    assert "looks before the end" in first.message
    joint = joint_family(rows_of(plan))
    assert joint.adjusted is None
    assert joint.shared.reason
