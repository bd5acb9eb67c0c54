"""What batches say of their runs, held against the plan."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from service.domain.plans.sections.endpoint import Judge
from service.domain.results.runs import VIOLATIONS, BoundRun, NamedBatch, Run, find_concerned, violations
from tests.domain import sample

JUDGE = {"model": "judge-1", "version": "2027-01", "prompt_sha256": None}
ASKED = {"required": True, "on_violation": "invalid", "environment": {"harness": "h-1"}}


def plan(**changes: Any) -> Any:
    judge = {"model": "judge-1", "version": "2027-01"}
    found = {"endpoints.0.judge": judge, "runs": ASKED, **changes}
    return sample.plan({name: each for name, each in found.items() if each is not None})


def batch(run: str | None = "r", arm: str = "C1", sequence: int = 10, **more: Any) -> NamedBatch:
    said = {"batch": 1, "population": "one", "endpoint": "accuracy", **more}
    return NamedBatch(arm=arm, run=run, sequence=sequence, **said)


def bound(sequence: int = 5, observed: int | None = None, **changes: Any) -> dict[str, BoundRun]:
    said = {
        "preregistration_id": "p1",
        "run": "r",
        "number": 1,
        "arm": "C1",
        "models": {},
        "environment": {"harness": "h-1", "more": "is no fault"},
        "judges": {"accuracy": Judge.model_validate(JUDGE)},
        "started_at": None,
        "plan_sha256": "",
        "bound_by": "job",
        "bound_at": sample.NOW,
    }
    return {"r": BoundRun(Run(**(said | changes)), sequence, observed)}


def broken(batches: Any, bound_runs: Any, **changes: Any) -> list[str]:
    return list(violations(plan(**changes), sample.NOW, batches, bound_runs))


LATE = int((sample.NOW - timedelta(seconds=1)).timestamp() * 1_000_000)
CASES: list[tuple[NamedBatch, dict[str, BoundRun], list[str]]] = [
    (batch(), bound(), []),
    (batch(None), bound(), ["run_missing"]),
    (batch("other"), bound(), ["run_unknown"]),
    (batch(sequence=4), bound(), ["run_unknown"]),
    (batch(arm="C2"), bound(), ["run_of_another_arm"]),
    (batch(), bound(started_at=sample.NOW - timedelta(seconds=1)), ["run_before_lock"]),
    (batch(), bound(started_at=sample.NOW), []),
    (batch(), bound(observed=LATE), ["run_before_lock"]),
    (batch(), bound(observed=LATE + 1_000_000), []),
    (batch(), bound(judges={}), ["judge_differs"]),
    (batch(), bound(judges={"accuracy": Judge(model="judge-2")}), ["judge_differs"]),
    (batch(), bound(environment={"harness": "h-2"}), ["environment_differs"]),
    (batch(), bound(environment={}), ["environment_differs"]),
]


@pytest.mark.parametrize(("posted", "runs", "expected"), CASES)
def test_a_batch_breaks_what_the_plan_asks(
    posted: NamedBatch, runs: dict[str, BoundRun], expected: list[str]
) -> None:
    assert broken([posted], runs) == expected


def test_every_violation_has_a_case() -> None:
    assert {each for *_, expected in CASES for each in expected} == set(VIOLATIONS)


def test_a_plan_that_asks_for_no_runs_is_contradicted_by_what_a_run_says_alone() -> None:
    nothing = {"runs": None}
    for posted in (batch(None), batch("other"), batch(sequence=4)):
        assert broken([posted], bound(), **nothing) == []
    assert broken([batch()], bound(judges={}), **nothing) == []
    other = bound(judges={"accuracy": Judge(model="judge-2")}, arm="C2")
    assert broken([batch()], other, **nothing) == ["run_of_another_arm", "judge_differs"]


def test_runs_that_need_not_be_named_must_still_be_right() -> None:
    asked = {"runs": ASKED | {"required": False}}
    assert broken([batch(None)], bound(), **asked) == []
    assert broken([batch("other")], bound(), **asked) == ["run_unknown"]
    assert broken([batch()], bound(judges={}), **asked) == []


def test_a_violation_concerns_the_hypotheses_that_rest_on_its_batches() -> None:
    other = {**sample.VALUE["hypotheses"][0], "id": "H2", "baseline": "C3", "candidate": "C4"}
    two = plan(**{"hypotheses.1": other})
    assert find_concerned(two, [batch(arm="C2")]) == ("H1",)
    assert find_concerned(two, [batch(arm="C4"), batch(arm="C1")]) is None
    assert find_concerned(two, [batch(arm="C9")]) == ()


def test_a_plan_without_the_section_has_the_text_that_it_had_before_there_was_one() -> None:
    assert '"runs"' not in sample.plan().canonical_text()
    assert (
        '"runs":{"on_violation":"flag","required":true}'
        in plan(runs={"on_violation": "flag"}).canonical_text()
    )


@pytest.mark.parametrize(
    "runs", [{}, {"on_violation": "ignore"}, {"on_violation": "flag", "environment": {}}, {"required": False}]
)
def test_a_section_says_what_a_violation_does(runs: Any) -> None:
    with pytest.raises(ValueError, match="runs"):
        plan(runs=runs)
