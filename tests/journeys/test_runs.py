"""Runs are bound before their results, and what contradicts the locked plan stands against the verdict."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from service.domain.results.runs import VIOLATIONS
from tests.journeys.conftest import Service
from tests.journeys.plans import draft, idempotent, items, locked, post, small_plan
from tests.journeys.states import amend, path, verdict, withdraw

pytestmark = pytest.mark.any_database

N = 6
LONG_AGO = "2000-01-01T00:00:00Z"


def asking(effect: str, **more: Any) -> dict[str, Any]:
    return small_plan(N, runs={"on_violation": effect, **more})


def bind(service: Service, prereg_id: str, arm: str, **more: Any) -> Any:
    return service.client.post(path(prereg_id, "runs"), json={"arm": arm, **more})


def token(service: Service, prereg_id: str, arm: str, **more: Any) -> str:
    answer = bind(service, prereg_id, arm, **more)
    assert answer.status_code == 201, answer.text
    run: str = answer.json()["run"]
    return run


def run(service: Service, prereg_id: str, arm: str, name: str | None, **more: Any) -> Any:
    said = {} if name is None else {"run": name}
    answer = post(service.client, prereg_id, arm, items(N), [float(arm == "B")] * N, **said, **more)
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_a_run_that_was_bound_before_its_results_leaves_no_mark(service: Service) -> None:
    prereg_id = locked(service.client, asking("invalid", environment={"harness": "h-1"}))
    for arm in ("A", "B"):
        name = token(service, prereg_id, arm, environment={"harness": "h-1"}, models={"generator": "m"})
        run(service, prereg_id, arm, name)
    assert service.client.get(path(prereg_id, "runs")).json()["marks"] == []
    told = verdict(service, prereg_id)
    assert "marks" not in told
    assert told["hypotheses"][0]["outcome"] == "supported"


def test_a_run_is_answered_with_its_receipt_and_listed(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    made = [bind(service, prereg_id, arm, run=f"run-{arm}").json() for arm in ("A", "B")]
    assert [each["number"] for each in made] == [1, 2]
    assert made[0]["receipt"]["kind"] == "run"
    assert made[0]["run_sha256"] in made[0]["receipt"]["leaf"]
    page = service.client.get(path(prereg_id, "runs"), params={"limit": 1}).json()
    rest = service.client.get(path(prereg_id, "runs"), params={"cursor": page["next_cursor"]}).json()
    assert [*page["items"], *rest["items"]] == made[::-1]


@pytest.mark.parametrize("effect", ["invalid", "flag"])
@pytest.mark.parametrize("code", VIOLATIONS)
def test_a_violation_does_what_the_plan_says(service: Service, code: str, effect: str) -> None:
    plan = asking(effect, environment={"harness": "h-1"})
    plan["endpoints"] = [plan["endpoints"][0] | {"judge": {"model": "judge-1"}}]
    prereg_id = locked(service.client, plan)
    right: dict[str, Any] = {"environment": {"harness": "h-1"}, "judges": {"accuracy": {"model": "judge-1"}}}
    run(service, prereg_id, "A", token(service, prereg_id, "A", **right))
    wrong: dict[str, Any] = {
        "run_before_lock": {"started_at": LONG_AGO},
        "judge_differs": {"judges": {"accuracy": {"model": "judge-2"}}},
        "environment_differs": {"environment": {"harness": "h-2"}},
    }.get(code, {})
    name: str | None = token(
        service, prereg_id, "A" if code == "run_of_another_arm" else "B", **right | wrong
    )
    name = {"run_missing": None, "run_unknown": "never-bound"}.get(code, name)
    run(service, prereg_id, "B", name)
    told = verdict(service, prereg_id)
    (mark,) = told["marks"]
    assert (mark["code"], mark["effect"], mark["batches"]) == (code, effect, [2])
    assert mark["runs"] == ([] if name is None else [name])
    (found,) = told["hypotheses"]
    assert found["outcome"] == ("invalid" if effect == "invalid" else "supported")
    assert mark["says"] in found["sentence"]
    words = service.client.get(path(prereg_id, "verdict", "sentences")).json()
    assert len(words["marks"]) == 1
    page = service.client.get(f"/preregistrations/{prereg_id}", headers=dict(service.client.headers))
    assert page.status_code in (200, 303)


def test_rows_that_were_observed_before_the_lock_tell_when_a_run_began(service: Service) -> None:
    prereg_id = locked(service.client, asking("invalid", required=True))
    names = {arm: token(service, prereg_id, arm) for arm in ("A", "B")}
    run(service, prereg_id, "A", names["A"], observed_at=[datetime.now(UTC).isoformat()] * N)
    run(service, prereg_id, "B", names["B"], observed_at=[None] * (N - 1) + [LONG_AGO])
    seen = service.client.get(path(prereg_id, "runs")).json()["marks"]
    assert seen == []  # times of rows are as sealed as their values
    (mark,) = verdict(service, prereg_id)["marks"]
    assert (mark["code"], mark["batches"], mark["runs"]) == ("run_before_lock", [2], [names["B"]])


def test_a_run_that_is_bound_after_its_results_came_too_late(service: Service) -> None:
    prereg_id = locked(service.client, asking("invalid"))
    run(service, prereg_id, "A", "mine")
    token(service, prereg_id, "A", run="mine")
    run(service, prereg_id, "B", token(service, prereg_id, "B"))
    (mark,) = verdict(service, prereg_id)["marks"]
    assert (mark["code"], mark["batches"]) == ("run_unknown", [1])


def test_a_batch_that_stands_against_the_verdict_can_be_voided_and_posted_again(service: Service) -> None:
    prereg_id = locked(service.client, asking("invalid"))
    names = {arm: token(service, prereg_id, arm) for arm in ("A", "B")}
    run(service, prereg_id, "A", names["B"])
    (mark,) = service.client.get(path(prereg_id, "runs")).json()["marks"]
    assert mark["batches"] == [1]
    voided = service.client.post(path(prereg_id, "batches", "1", "void"), json={"reason": "wrong run"})
    assert voided.status_code == 200
    for arm in ("A", "B"):
        run(service, prereg_id, arm, names[arm])
    assert "marks" not in verdict(service, prereg_id)


def test_only_the_hypotheses_that_rest_on_it_are_marked(service: Service) -> None:
    plan = asking("invalid")
    first = plan["hypotheses"][0]
    plan["hypotheses"] = [first, first | {"id": "H1b", "baseline": "A", "candidate": "C"}]
    plan["multiplicity"] = {"policy": "fixed_sequence", "family": [first["id"], "H1b"]}
    prereg_id = locked(service.client, plan)
    for arm in ("A", "B", "C"):
        name = token(service, prereg_id, "A" if arm == "C" else arm)
        post(service.client, prereg_id, arm, items(N), [float(arm != "A")] * N, run=name)
    told = verdict(service, prereg_id)
    assert told["marks"][0]["hypotheses"] == ["H1b"]
    assert [each["outcome"] for each in told["hypotheses"]][1] == "invalid"
    assert told["hypotheses"][0]["outcome"] != "invalid"


def test_a_label_without_a_bound_run_means_nothing_where_the_plan_asks_nothing(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    for arm in ("A", "B"):
        run(service, prereg_id, arm, "seed-0", observed_at=[LONG_AGO] * N)
    assert "marks" not in verdict(service, prereg_id)


def test_what_a_bound_run_says_itself_flags_a_plan_that_asks_nothing(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    for arm in ("A", "B"):
        run(service, prereg_id, arm, token(service, prereg_id, arm, started_at=LONG_AGO))
    told = verdict(service, prereg_id)
    assert [(each["code"], each["effect"]) for each in told["marks"]] == [("run_before_lock", "flag")]
    assert told["hypotheses"][0]["outcome"] == "supported"


def test_a_run_from_before_an_amendment_began_before_the_plan_was_locked(service: Service) -> None:
    prereg_id = locked(service.client, asking("flag"))
    started = datetime.now(UTC).isoformat()
    early = token(service, prereg_id, "A", started_at=started)
    assert amend(service, prereg_id, {"title": "Later"}).status_code == 200
    run(service, prereg_id, "A", early)
    run(service, prereg_id, "B", token(service, prereg_id, "B"))
    (mark,) = verdict(service, prereg_id)["marks"]
    assert (mark["code"], mark["batches"]) == ("run_before_lock", [1])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"arm": "Z"}, "arm"),
        ({"arm": "A", "judges": {"nothing": {"model": "m"}}}, "judges"),
        ({"arm": "A", "started_at": "2999-01-01T00:00:00Z"}, "started_at"),
        ({"arm": "A", "environment": {f"e{i}": "x" for i in range(51)}}, "environment"),
        ({"arm": "A", "environment": {"e": "x" * 301}}, "environment"),
        ({"arm": "A", "environment": {"e": 1}}, "environment"),
        ({"arm": "A", "started_at": "2020-01-01T00:00:00"}, "started_at"),
        ({}, "arm"),
    ],
)
def test_a_binding_that_cannot_be_is_refused(service: Service, body: dict[str, Any], field: str) -> None:
    prereg_id = locked(service.client, small_plan(N))
    refused = service.client.post(path(prereg_id, "runs"), json=body)
    assert refused.status_code == 422, refused.text
    assert refused.json()["errors"][0]["path"].startswith(field)
    assert service.client.get(path(prereg_id, "runs")).json()["items"] == []


def test_a_run_stays_as_it_was_bound(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    token(service, prereg_id, "A", run="mine")
    again = bind(service, prereg_id, "B", run="mine")
    assert (again.status_code, again.json()["code"]) == (409, "run_exists")
    headers = idempotent()
    body = {"arm": "A"}
    answers = [service.client.post(path(prereg_id, "runs"), json=body, headers=headers) for _ in range(2)]
    assert answers[0].json() == answers[1].json()


def test_runs_are_bound_while_results_are_taken_and_by_keys_that_post_them(service: Service) -> None:
    draft_id = draft(service.client, small_plan(N))
    assert bind(service, draft_id, "A").status_code == 409
    prereg_id = locked(service.client, small_plan(N))
    writer = {"Authorization": f"Bearer {service.key('results:write')}"}
    reader = {"Authorization": f"Bearer {service.key('read')}"}
    body = {"arm": "A"}
    assert service.client.post(path(prereg_id, "runs"), json=body, headers=reader).status_code == 403
    assert service.client.post(path(prereg_id, "runs"), json=body, headers=writer).status_code == 201
    assert service.client.get(path(prereg_id, "runs"), headers=writer).status_code == 403
    assert withdraw(service, prereg_id).status_code == 200
    assert bind(service, prereg_id, "A").status_code == 409
