"""A score of several tasks is the suite's mean, against its threshold by the suite's interval."""

from __future__ import annotations

import numpy as np
import pytest

from service.domain.score.request import ScoreRequest
from service.domain.score.score import score
from service.errors import InvalidData
from tests.stats.suites import golden

GOLDEN = golden()


def ask(values=GOLDEN["candidate"], tasks=GOLDEN["tasks"], **more):
    body = {
        "item_ids": [f"q{at}" for at in range(len(values))],
        "values": list(values),
        "tasks": list(tasks),
        **more,
    }
    return score(ScoreRequest.model_validate(body))


def means(values, tasks):
    return [
        np.mean([v for v, t in zip(values, tasks, strict=True) if t == name]) for name in dict.fromkeys(tasks)
    ]


def test_the_mean_is_that_of_the_tasks():
    found = ask()
    assert found.mean == pytest.approx(np.mean(means(GOLDEN["candidate"], GOLDEN["tasks"])))
    assert found.suite.item_weighted == pytest.approx(np.mean(GOLDEN["candidate"]))
    assert "1150 items of 3 tasks" in found.sentence
    assert f"{100 * found.suite.item_weighted:.1f}%" in found.sentence
    assert found.reasons["suite.losses"]


@pytest.mark.parametrize(
    ("threshold", "outcome"), [(0.4, "meets"), (0.54, "cannot_tell"), (0.7, "falls_short")]
)
def test_a_threshold_is_held_against_the_interval(threshold, outcome):
    found = ask(threshold=threshold)
    assert found.outcome == outcome
    assert (found.against.p_meets < 0.025) == (outcome == "meets")
    assert (found.against.p_falls_short < 0.025) == (outcome == "falls_short")
    turned = ask(threshold=threshold, prefers="lower")
    assert turned.outcome == {"meets": "falls_short", "falls_short": "meets"}.get(outcome, outcome)


def test_runs_of_an_item_are_averaged():
    ids = [f"q{at // 2}" for at in range(80)]
    values = np.random.default_rng(2).integers(0, 2, 80).tolist()
    body = {"item_ids": ids, "values": values, "replicates": [1, 2] * 40, "tasks": ["a"] * 30 + ["b"] * 50}
    found = score(ScoreRequest.model_validate(body))
    assert (found.n, found.n_values) == (40, 80)
    assert found.mean == pytest.approx((np.mean(values[:30]) + np.mean(values[30:])) / 2)


def test_a_task_without_any_result_is_told_and_its_worst_case_decides():
    values = [*GOLDEN["candidate"][:1100], *[None] * 50]
    found = ask(values, threshold=0.4)
    assert found.suite.lacking == ("small",)
    assert found.outcome == "cannot_tell"
    assert {"TASKS_LACKING", "MISSING_RESULTS"} <= {warning.code for warning in found.warnings}


def test_weights_of_a_task_that_is_missing_stay_out():
    weights = {"large": 1, "middle": 1, "small": 8}
    found = ask([*GOLDEN["candidate"][:1100], *[None] * 50], suite={"weights": weights})
    assert [task.weight for task in found.suite.tasks] == [0.5, 0.5]


def test_refusals_name_the_field():
    with pytest.raises(InvalidData, match="suite: has no tasks"):
        score(ScoreRequest.model_validate({"item_ids": ["a"], "values": [1], "suite": {}}))
    with pytest.raises(InvalidData, match="slices: are of one task"):
        ask(slices=["x"] * 1150)
    with pytest.raises(InvalidData, match="have none of task 'middle'"):
        ask(suite={"weights": {"large": 1}})


@pytest.mark.parametrize("threshold", [None, 0.5])
def test_a_mean_without_an_interval_is_not_offered_as_one_to_report(threshold):
    answer = ask([1, 1, 0], ["a", "b", "b"], threshold=threshold)
    assert answer.ci is None
    assert answer.next.startswith(
        "Nothing is decided by a mean without an interval (task 'a' lies in a single"
    )
