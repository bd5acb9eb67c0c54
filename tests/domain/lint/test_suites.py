"""What lint says of suites, and of claims about them."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from service.domain.lint.lint import lint
from service.domain.plans.plan import Plan
from service.errors import ForelockError
from tests.domain.suites_sample import facts, suite_plan


def findings(changes=None, sizes=None):
    plan = suite_plan(changes, sizes)
    return {(one.code, one.path): one.message for one in lint(plan, facts(plan))}


def asked(changes=None, sizes=None):
    """Codes that stop a lock, or that it asks about."""
    plan = suite_plan(changes, sizes)
    return {one.code for one in lint(plan, facts(plan)) if one.severity == "error" or one.asks}


def test_a_plan_about_a_suite_locks_as_it_is():
    assert not asked()


def test_a_plan_without_suites_keeps_its_text():
    plan = suite_plan()
    assert '"suites"' in plan.canonical_text()
    bare = Plan.from_dict({name: value for name, value in plan.as_dict().items() if name != "suites"})
    assert "suites" not in bare.canonical_text()


@pytest.mark.parametrize(
    ("changes", "code", "path", "says"),
    [
        (
            {"suites.0.populations.2": "smal"},
            "UNKNOWN_NAME",
            "suites[0].populations",
            "did you mean 'small'?",
        ),
        ({"suites.0.populations.2": "large"}, "SUITE", "suites[0].populations", "'large' is listed twice"),
        ({"suites.0.id": "small"}, "SUITE", "suites[0].id", "a population is called 'small' as well"),
        (
            {"suites.0.weights": {"large": 1, "middle": 1}},
            "SUITE",
            "suites[0].weights",
            "no weight of 'small'",
        ),
        (
            {"suites.0.weights": {"large": 1, "middle": 1, "small": 1, "other": 2}},
            "SUITE",
            "suites[0].weights.other",
            "'other' is no task of this suite",
        ),
        (
            {"suites.0.rescale": {"small": {"floor": 1, "ceiling": 0.25}}},
            "SUITE",
            "suites[0].rescale.small",
            "the ceiling lies below the floor",
        ),
        (
            {"endpoints.0.populations": ["large", "middle"]},
            "UNKNOWN_NAME",
            "hypotheses[0].endpoint",
            "bench",
        ),
        (
            {
                "tests.0": {"id": "suite", "test": "mcnemar", "version": 1},
                "hypotheses.0.rule": "suite.p_value < 0.05",
            },
            "TEST_SUITE",
            "hypotheses[0].rule",
            "name 'suite'",
        ),
        (
            {"hypotheses.0.population": "large"},
            "TEST_SUITE",
            "hypotheses[0].rule",
            "speaks of one population",
        ),
        (
            {"hypotheses.0.population": "large", "hypotheses.0.about": "every_task"},
            "ABOUT_DIFFERS",
            "hypotheses[0].about",
            "its population is no suite",
        ),
        (
            {"suites.0.estimand": "new_tasks", "hypotheses.0.about": "every_task"},
            "ESTIMAND",
            "hypotheses[0].about",
            "of which nobody sees every one",
        ),
        (
            {"stopping": {"kind": "group_sequential", "looks": 3}},
            "NOT_YET_SUPPORTED",
            "stopping",
            "judged once",
        ),
        ({"suites.0.estimand": "new_tasks"}, "SMALL_SUITE", "suites[0].estimand", "rests on 3 of them"),
        # the mean of the tasks says nothing of every one, and every one says nothing of less than all
        (
            {"hypotheses.0.about": "every_task"},
            "CLAIM_NOT_ASSERTED",
            "hypotheses[0].rule",
            "suite.every.low > 0",
        ),
    ],
)
def test_what_does_not_fit_is_named_with_a_way_out(changes, code, path, says):
    message = findings(changes).get((code, path))
    assert message is not None, findings(changes)
    assert says in message


@pytest.mark.parametrize(("n", "code"), [(1, "SUITE"), (6, "SMALL_SUITE"), (40, None)])
def test_tasks_of_few_items_are_told(n, code):
    paths = findings(sizes={"large": 100, "small": n})
    assert {name for name, path in paths if path == "suites[0].populations"} == ({code} if code else set())


def test_tasks_that_may_share_clusters_are_told_and_not_asked_about():
    key = {"key": "document", "n": 40}
    changes = {}
    for at in range(2):
        changes |= {f"populations.{at}.clusters": key, f"populations.{at}.independence": None}
    told = findings(changes)
    assert "at most what is told here" in told["SPANNING_CLUSTERS", "suites[0].populations"]
    assert "SPANNING_CLUSTERS" not in asked(changes)


def test_a_suite_of_scores_needs_the_ends_of_their_scale():
    scores = {"endpoints.0.kind": "continuous", "sesoi.accuracy": {"value": 0.1, "unit": "score"}}
    assert ("BOUNDS", "hypotheses[0].rule") in findings(scores)
    bounded = {**scores, "endpoints.0.bounds": {"low": 0, "high": 1}}
    assert not {code for code, _ in findings(bounded)} & {"BOUNDS", "LEVEL_UNKNOWN", "POWER_UNKNOWN"}


def test_one_arm_is_asked_for_bounds_and_not_for_a_difference():
    one_arm = {
        "id": "H1",
        "claim": "at_least",
        "statement": "C2 reaches 60 %",
        "population": "bench",
        "candidate": "C2",
        "reference": {"value": 60, "unit": "%"},
        "endpoint": "accuracy",
    }
    assert not asked({"hypotheses.0": {**one_arm, "rule": "suite.ci.low >= 60%"}})
    every = {**one_arm, "about": "every_task", "statement": "C2 reaches 60 % on every task"}
    assert not asked({"hypotheses.0": {**every, "rule": "suite.every.low >= 60%"}})
    assert ("TEST_ARMS", "hypotheses[0].rule") in findings(
        {"hypotheses.0": {**one_arm, "rule": "suite.p_value < 0.05"}}
    )
    # all of fifty right show 92.9 % of the smallest task
    never = {**every, "reference": {"value": 95, "unit": "%"}, "statement": "95 % on every task"}
    assert ("RULE_NEVER_PASSES", "hypotheses[0].rule") in findings(
        {"hypotheses.0": {**never, "rule": "suite.every.low >= 95%"}}
    )


def test_the_opposite_and_the_absence_of_evidence_are_refused():
    for rule in ("suite.ci.high < 0", "suite.p_value < 0.05", "suite.estimate > 0", "suite.p_value > 0.05"):
        codes = asked({"hypotheses.0.claim": "non_inferiority", "hypotheses.0.rule": rule})
        assert codes & {"CLAIM_NOT_ASSERTED", "ABSENCE_OF_EVIDENCE"}, rule


@pytest.mark.parametrize("ends", [(0, 1e10), (-1e29, 1e29), (1e29, 2e29), (0, 1e-29)])
def test_scales_far_from_the_scores_are_linted_all_the_same(ends):
    floor, ceiling = ends
    plan = suite_plan({"suites.0.rescale": {"large": {"floor": floor, "ceiling": ceiling}}})
    assert not [one for one in lint(plan, facts(plan)) if one.code == "SUITE"]


@pytest.mark.parametrize("ends", [(1e308, -1e308), (0, 1e-320), (0, 1e31), (-1e99, 1e99)])
def test_a_scale_that_nothing_can_be_computed_with_is_refused(ends):
    floor, ceiling = ends
    with pytest.raises(ForelockError) as refused:
        suite_plan({"suites.0.rescale": {"large": {"floor": floor, "ceiling": ceiling}}})
    assert "no distance from the floor" in str(refused.value.faults)


@pytest.mark.parametrize("weight", [0, 5e-324, 1e-320, 9e-10, 1.1e9, 1e308])
def test_a_weight_that_nothing_can_be_computed_with_is_refused(weight):
    with pytest.raises(ValidationError, match="small"):
        suite_plan({"suites.0.weights": {"large": 1, "middle": 1, "small": weight}})


@pytest.mark.parametrize("estimand", ["these_tasks", "new_tasks"])
def test_weights_that_lie_far_apart_are_linted_all_the_same(estimand):
    weights = {"large": 1e9, "middle": 1e-9, "small": 1e-9}
    plan = suite_plan({"suites.0.weights": weights, "suites.0.estimand": estimand})
    assert not [one for one in lint(plan, facts(plan)) if one.code == "SUITE"]
