"""A comparison of several tasks carries what the suite's interval carries, and says what its tasks say."""

from __future__ import annotations

import numpy as np
import pytest

from service.domain.comparison.compare import compare
from service.domain.comparison.request import ComparisonRequest
from service.errors import InvalidData
from service.stats.shared.declaring import registry
from tests.stats.suites import golden

GOLDEN = golden()
IDS = [f"q{at}" for at in range(1150)]
SCALED = {"large": {"floor": 0, "ceiling": 1}}
TWO_PP = {"value": 2, "unit": "pp"}


def arm(values, **more):
    return {"item_ids": IDS[: len(values)], "values": list(values), **more}


def ask(tasks=True, **more):
    labels = {"tasks": GOLDEN["tasks"]} if tasks else {}
    arms = {"baseline": arm(GOLDEN["baseline"], **labels), "candidate": arm(GOLDEN["candidate"])}
    return compare(ComparisonRequest.model_validate({**arms, "margin": TWO_PP, **more}))


def test_a_suite_gains_where_its_items_together_lose():
    pooled, suite = ask(tasks=False), ask()
    assert (round(100 * pooled.delta, 2), pooled.outcome) == (-0.61, "cannot_tell")
    assert (round(100 * suite.delta, 2), suite.outcome) == (8.5, "better")
    assert "-0.61 pp" in suite.sentence
    assert "of 3 tasks" in suite.sentence
    assert suite.reasons["min_attainable_p"]
    assert suite.candidate_mean - suite.baseline_mean == pytest.approx(suite.delta)


def test_the_registered_test_says_the_same():
    test = registry.serving("weighted")
    found = test.compute(test.request.model_validate({**GOLDEN, "margin": TWO_PP}))
    suite = ask()
    assert suite.ci == found.ci
    assert suite.suite.tasks == found.tasks
    assert suite.suite.losses == found.losses


def test_weights_and_the_estimand_are_asked_for():
    assert ask(suite={"weights": "items"}).delta == pytest.approx(-7 / 1150)
    named = ask(suite={"weights": {"large": 1, "middle": 1, "small": 2}})
    assert named.delta == pytest.approx((-0.025 + 0.08 + 0.4) / 4)
    assert named.suite.weights == "named"
    new = ask(suite={"estimand": "new_tasks"})
    assert (new.outcome, new.ci.method) == ("cannot_tell", "furthest")


def test_where_lower_is_better_all_is_turned_round():
    higher, lower = ask(), ask(prefers="lower")
    assert (lower.outcome, lower.delta, lower.ci.low) == ("worse", higher.delta, higher.ci.low)
    for task, turned in zip(higher.suite.tasks, lower.suite.tasks, strict=True):
        assert (turned.estimate, turned.simultaneous.low) == pytest.approx(
            (task.estimate, task.simultaneous.low)
        )
        assert turned.arms.baseline_mean == pytest.approx(task.arms.baseline_mean)
    # who lost is who got worse
    assert lower.suite.losses.lost == ("small",) == higher.suite.losses.gained


def test_a_task_that_one_arm_lacks_is_told_and_decides_nothing():
    arms = {
        "baseline": arm(GOLDEN["baseline"], tasks=GOLDEN["tasks"]),
        "candidate": arm(GOLDEN["candidate"][:1100]),
    }
    found = compare(ComparisonRequest.model_validate({**arms, "margin": TWO_PP}))
    assert found.suite.lacking == ("small",)
    assert "TASKS_LACKING" in {warning.code for warning in found.warnings}
    # 50 of 1150 items are less than a twentieth, and a third of the suite
    assert found.outcome == "cannot_tell"
    assert "outcome" in found.reasons


def test_clusters_span_tasks():
    rng = np.random.default_rng(3)
    rooms = [f"room {at}" for at in rng.integers(0, 25, 1150)]
    labels = {"tasks": GOLDEN["tasks"], "clusters": rooms}
    arms = {"baseline": arm(GOLDEN["baseline"], **labels), "candidate": arm(GOLDEN["candidate"])}
    found = compare(ComparisonRequest.model_validate(arms))
    assert (found.n_clusters, found.suite.n_spanning, found.unit) == (25, 25, "clusters")


def test_rescaled_scores_take_a_margin_in_score_units():
    scales = {"large": {"floor": 0, "ceiling": 2}}
    found = ask(suite={"rescale": scales}, margin={"value": 0.02, "unit": "score"})
    assert found.delta == pytest.approx((-0.0125 + 0.08 + 0.2) / 3)
    assert not found.points
    with pytest.raises(InvalidData, match="belongs"):
        ask(suite={"rescale": scales})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"suite": {"weights": {"large": 1}}}, "suite.weights: have none of task 'middle'"),
        (
            {"suite": {"weights": {"large": 1, "middle": 1, "small": 1, "x": 1}}},
            "suite.weights.x: is no task",
        ),
        ({"suite": {"rescale": {"x": {"floor": 0, "ceiling": 1}}}}, "suite.rescale.x"),
        ({"suite": {"rescale": SCALED}, "prefers": "lower"}, "rescale: says itself"),
        ({"tasks": False, "suite": {}}, "suite: has no tasks"),
        ({"pairing": "none"}, "baseline.tasks: are compared on pairs"),
        ({"unseen": "clusters"}, "unseen: clusters is of one task"),
    ],
)
def test_refusals_name_the_field(change, said):
    with pytest.raises(InvalidData, match=said):
        ask(**change)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"item_ids": ["1", "1"], "tasks": ["a", "b"]}, "has item '1' again"),
        ({"item_ids": ["1", "2"], "tasks": ["a", None]}, "1 of 2 items have no task"),
        ({"item_ids": ["1", "2"], "tasks": ["a", "b"], "slices": ["a", "b"]}, "slices: are of one task"),
    ],
)
def test_items_have_one_task_each_and_all_of_them(columns, said):
    body = {"values": [1, 0], **columns}
    with pytest.raises(InvalidData, match=said) as refused:
        compare(ComparisonRequest.model_validate({"baseline": body, "candidate": body}))
    assert refused.value.faults[0].fix


@pytest.mark.parametrize(
    ("values", "tasks"),
    [
        ([1], ["a"]),
        ([1, 1], ["a", "b"]),
        ([1, 1, 0, 0], [*"aabb"]),
        ([3.0, 3.0, 5.0, 5.0], [*"aabb"]),
        ([None, None], [*"ab"]),
    ],
)
def test_degenerate_data_carry_no_claim(values, tasks):
    ids = [str(at) for at in range(len(values))]
    body = {"item_ids": ids, "values": values, "tasks": tasks}
    found = compare(ComparisonRequest.model_validate({"baseline": body, "candidate": body}))
    assert found.outcome == "cannot_tell"
    if found.ci.low is None:
        assert found.reasons["ci"]
