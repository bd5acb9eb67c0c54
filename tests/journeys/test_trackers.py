"""A verdict on the runs of the project's MLflow: tags at the lock, everything else after the verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from service.store.database import clock, tables
from tests.loopback import serving
from tests.mlflow_server import FakeMlflow, basic

from .conftest import Service, only_sqlite
from .outbox import N, drain, judge, lock, sender
from .plans import draft, idempotent, items, locked, post, small_plan

pytestmark = [pytest.mark.any_database, pytest.mark.usefixtures("loopback_may_be_called")]


@pytest.fixture
def mlflow() -> Iterator[FakeMlflow]:
    with serving() as loopback:
        yield FakeMlflow(loopback)


def connect(service: Service, mlflow: FakeMlflow, **credentials: str) -> None:
    answer = service.client.put("/v1/trackers/mlflow", json={"url": mlflow.url, **credentials})
    assert answer.status_code == 200, answer.text


def link(service: Service, prereg_id: str, run: str) -> Any:
    return service.client.put(f"/v1/preregistrations/{prereg_id}/mlflow-runs/{run}")


def last(service: Service, prereg_id: str) -> dict[str, Any]:
    """The last thing that was sent to the record's one run."""
    (run,) = service.client.get(f"/v1/preregistrations/{prereg_id}/mlflow-runs").json()["items"]
    return run["last"]


def test_a_run_named_at_the_lock_carries_lock_and_then_verdict(service: Service, mlflow: FakeMlflow) -> None:
    connect(service, mlflow)
    run = mlflow.add("r1", tags={"mlflow.note.content": "What we tried."})
    prereg_id = draft(service.client, small_plan(N))
    path = f"/v1/preregistrations/{prereg_id}"
    body = {"acknowledge": "all", "mlflow_run": "r1"}
    record = service.client.post(f"{path}/lock", json=body, headers=idempotent(**{"If-Match": "*"}))
    assert record.status_code == 200, record.text
    sending = sender(service)
    assert drain(sending) == 1
    assert run.tags == {
        "mlflow.note.content": "What we tried.",
        "forelock.preregistration": prereg_id,
        "forelock.plan_sha256": record.json()["plan_sha256"],
        "forelock.state": "locked",
        "forelock.checkpoint": service.client.get(path).json()["receipt"]["checkpoint"],
        "forelock.url": f"https://evals.example.org/preregistrations/{prereg_id}",
    }
    assert run.metrics == set()
    assert mlflow.artifacts == {}

    judge(service, prereg_id)
    assert drain(sending) == 1
    assert run.tags["forelock.state"] == "judged"
    assert run.tags["forelock.verdict"] == "supported"
    assert run.tags["forelock.verdict.H1a"] == "supported"
    verdict = service.client.get(f"{path}/verdict")
    judged_at = datetime.fromisoformat(verdict.json()["judged_at"])
    at = int(judged_at.timestamp() * 1000)
    assert ("forelock.H1a.delta", 1.0, at, 0) in run.metrics
    assert ("forelock.H1a.n", float(N), at, 0) in run.metrics
    assert any(key == "forelock.H1a.mcnemar.p_value" for key, *_ in run.metrics)
    note = run.tags["mlflow.note.content"]
    assert note.startswith("What we tried.\n\n<!-- forelock")
    assert "supported" in note
    assert mlflow.artifacts[f"1/r1/artifacts/forelock/{prereg_id}/verdict.json"] == verdict.content
    lock_, judged = json.loads(mlflow.artifacts[f"1/r1/artifacts/forelock/{prereg_id}/receipt.json"])
    assert (lock_["kind"], judged["kind"]) == ("plan_locked", "verdict")
    assert judged["proof"]


def test_a_push_that_is_repeated_changes_nothing(service: Service, mlflow: FakeMlflow) -> None:
    connect(service, mlflow)
    run = mlflow.add("r1")
    prereg_id = lock(service)
    judge(service, prereg_id)
    assert link(service, prereg_id, "r1").status_code == 200
    assert drain(sender(service)) == 1
    before = dict(run.tags), set(run.metrics), dict(mlflow.artifacts)
    with service.database.write() as session:
        again = {"state": "waiting", "next_at": clock.read_now(session)}
        session.execute(sa.update(tables.deliveries).values(again))
    assert drain(sender(service)) == 1
    assert (run.tags, run.metrics, mlflow.artifacts) == before


def test_a_run_linked_later_is_told_what_there_is(service: Service, mlflow: FakeMlflow) -> None:
    connect(service, mlflow)
    run = mlflow.add("r1")
    prereg_id = lock(service)
    first = link(service, prereg_id, "r1")
    assert first.status_code == 200
    assert link(service, prereg_id, "r1").json() == first.json()
    assert drain(sender(service)) == 1
    assert run.tags["forelock.state"] == "locked"
    path = f"/v1/preregistrations/{prereg_id}/mlflow-runs/r1"
    assert service.client.delete(path).status_code == 204
    assert service.client.delete(path).status_code == 404
    judge(service, prereg_id)
    assert drain(sender(service)) == 0


@only_sqlite
def test_where_the_server_keeps_no_artifacts_the_receipt_is_a_tag(
    service: Service, mlflow: FakeMlflow
) -> None:
    connect(service, mlflow)
    run = mlflow.add("r1", artifact_uri="s3://bucket/1/r1/artifacts")
    prereg_id = lock(service)
    judge(service, prereg_id)
    link(service, prereg_id, "r1")
    drain(sender(service))
    assert mlflow.artifacts == {}
    assert json.loads(run.tags["forelock.receipt"])["kind"] == "verdict"


@only_sqlite
@pytest.mark.parametrize(
    ("credentials", "header"),
    [
        ({"username": "eval", "password": "pa:ss"}, basic("eval", "pa:ss")),
        ({"token": "abc.def"}, "Bearer abc.def"),
    ],
)
def test_credentials_are_sent_and_neither_shown_nor_kept_in_the_open(
    service: Service, mlflow: FakeMlflow, credentials: dict[str, str], header: str
) -> None:
    mlflow.authorization = header
    run = mlflow.add("r1")
    connect(service, mlflow)
    prereg_id = lock(service)
    link(service, prereg_id, "r1")
    drain(sender(service, waits=(timedelta(hours=1),)))
    assert "credentials" in last(service, prereg_id)["error"]
    assert run.tags == {}
    connect(service, mlflow, **credentials)
    shown = service.client.get("/v1/trackers/mlflow")
    with service.database.write() as session:
        session.execute(sa.update(tables.deliveries).values(next_at=clock.read_now(session)))
        kept = str(session.execute(sa.select(tables.trackers)).all())
    for secret in (*credentials.values(), header.split()[1]):
        assert secret not in shown.text or secret == "eval"
        assert secret not in kept
    drain(sender(service))
    assert run.tags["forelock.state"] == "locked"
    assert last(service, prereg_id)["state"] == "delivered"


@only_sqlite
def test_a_run_that_is_not_there_is_given_up_at_once(service: Service, mlflow: FakeMlflow) -> None:
    connect(service, mlflow)
    mlflow.add("gone", lifecycle_stage="deleted")
    for run in ("never", "gone"):
        prereg_id = lock(service)
        link(service, prereg_id, run)
        assert drain(sender(service)) == 1
        assert last(service, prereg_id)["state"] == "failed"


@only_sqlite
def test_what_is_no_mlflow_is_asked_again(service: Service, mlflow: FakeMlflow) -> None:
    mlflow.loopback.answer(200, b"<!doctype html>")
    connect(service, mlflow)
    prereg_id = lock(service)
    link(service, prereg_id, "r1")
    drain(sender(service, waits=(timedelta(hours=1),)))
    found = last(service, prereg_id)
    assert found["state"] == "waiting"
    assert "MLflow tracking server" in found["error"]


@only_sqlite
def test_a_run_needs_a_tracker_and_a_locked_record(service: Service, mlflow: FakeMlflow) -> None:
    prereg_id = lock(service)
    refused = link(service, prereg_id, "r1")
    assert (refused.status_code, refused.json()["code"]) == (409, "tracker_missing")
    connect(service, mlflow)
    unlocked = draft(service.client, small_plan(N))
    assert link(service, unlocked, "r1").status_code == 409
    assert link(service, prereg_id, "a%2Fb").status_code in (404, 422)
    assert service.client.delete("/v1/trackers/mlflow").status_code == 204
    assert service.client.delete("/v1/trackers/mlflow").status_code == 404
    assert service.client.get("/v1/trackers/mlflow").status_code == 404


@only_sqlite
def test_a_lock_that_names_a_run_without_a_tracker_does_not_happen(service: Service) -> None:
    prereg_id = draft(service.client, small_plan(N))
    body = {"acknowledge": "all", "mlflow_run": "r1"}
    path = f"/v1/preregistrations/{prereg_id}"
    answer = service.client.post(f"{path}/lock", json=body, headers=idempotent(**{"If-Match": "*"}))
    assert answer.json()["code"] == "tracker_missing"
    assert service.client.get(path).json()["state"] == "draft"


@only_sqlite
@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"url": "http://example.org"}, "url"),
        ({"url": "https://example.org/?a=b"}, "url"),
        ({"url": "https://example.org", "username": "a"}, "password"),
        ({"url": "https://example.org", "password": "a"}, "username"),
        ({"url": "https://example.org", "username": "a", "password": "b", "token": "c"}, "token"),
        ({"url": "https://example.org", "username": "a:b", "password": "c"}, "username"),
        ({"url": "https://example.org", "token": "a\nb"}, "token"),
    ],
)
def test_a_tracker_that_cannot_be_is_refused(service: Service, body: dict[str, str], path: str) -> None:
    answer = service.client.put("/v1/trackers/mlflow", json=body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["path"] == path


@only_sqlite
def test_who_deleted_the_tracker_is_not_pushed_to(service: Service, mlflow: FakeMlflow) -> None:
    connect(service, mlflow)
    mlflow.add("r1")
    prereg_id = lock(service)
    link(service, prereg_id, "r1")
    service.client.delete("/v1/trackers/mlflow")
    drain(sender(service))
    assert mlflow.loopback.requests == []
    assert last(service, prereg_id)["state"] == "failed"


@only_sqlite
def test_of_several_hypotheses_the_gravest_outcome_is_the_tag(service: Service, mlflow: FakeMlflow) -> None:
    """And each has its own beside it."""
    connect(service, mlflow)
    run = mlflow.add("r1")
    (first,) = small_plan(N)["hypotheses"]
    plan = small_plan(N, hypotheses=[first, first | {"id": "H2", "baseline": "B", "candidate": "A"}])
    prereg_id = locked(service.client, plan)
    for arm, value in (("A", 0), ("B", 1)):
        post(service.client, prereg_id, arm, items(N), [value] * N)
    service.run_jobs()
    outcomes = {
        each["id"]: each["outcome"]
        for each in service.client.get(f"/v1/preregistrations/{prereg_id}/verdict").json()["hypotheses"]
    }
    link(service, prereg_id, "r1")
    drain(sender(service))
    assert run.tags["forelock.verdict.H1a"] == outcomes["H1a"] == "supported"
    assert run.tags["forelock.verdict.H2"] == outcomes["H2"] != "supported"
    assert run.tags["forelock.verdict"] == outcomes["H2"]
