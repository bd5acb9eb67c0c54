"""Jobs over HTTP: a long test answers 202, is followed, waited for, called off; tenants stay apart."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from service.errors import InvalidData
from service.jobs.pool import PoolUnavailable
from service.stats.shared.declaring import registry
from service.store.database import clock, tables
from service.store.jobs import job_leases
from service.store.jobs import jobs as stored
from tests.journeys.queued import ASYNC, BODY, events, run
from tests.pools import InlinePool

from .conftest import Service
from .plans import items, locked, post, small_plan

pytestmark = pytest.mark.any_database


@contextmanager
def working(service: Service) -> Iterator[None]:
    """A runner beside the test, until it has done one job."""

    def work() -> None:
        while not service.run_jobs():
            pass

    runner = threading.Thread(target=work)
    runner.start()
    yield
    runner.join()


def test_a_job_answers_what_the_request_answers_at_once(service: Service) -> None:
    queued = run(service, ASYNC)
    assert (queued.status_code, queued.headers["Preference-Applied"]) == (202, "respond-async")
    job = queued.json()
    assert (job["kind"], job["state"], job["result"], job["error"]) == ("mcnemar", "queued", None, None)
    assert queued.headers["Location"] == f"/v1/jobs/{job['id']}"
    assert service.run_jobs() == 1
    done = service.client.get(queued.headers["Location"]).json()
    assert (done["state"], done["progress"], done["eta_seconds"]) == ("succeeded", 1.0, None)
    assert done["result"] == run(service, {}).json()


@pytest.mark.parametrize("test", registry.latest().values(), ids=lambda test: test.name)
def test_every_test_computes_the_same_as_a_job(service: Service, test: registry.StatTest[Any, Any]) -> None:
    path, body = f"/v1/tests/{test.name}", dict(test.example)
    at_once = run(service, {}, body, path)
    job = run(service, ASYNC, body, path).json()
    service.run_jobs()
    done = service.client.get(f"/v1/jobs/{job['id']}").json()
    assert done["error"] is None
    assert done["result"] == (at_once.json() if at_once.status_code == 200 else done["result"])


def test_a_costly_request_becomes_a_job_unasked(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.api.routes.calculations.stats.AT_ONCE_SECONDS", 0.0)
    path, body = "/v1/tests/clustered-mcnemar", dict(registry.find("clustered-mcnemar").example)
    queued = run(service, {}, body, path)
    assert queued.status_code == 202
    assert "Preference-Applied" not in queued.headers
    service.run_jobs()
    # the answer is there: no second job
    assert run(service, {}, body, path).json()["test"] == "clustered-mcnemar"


def test_wait_gives_the_answer_when_it_comes_in_time(service: Service) -> None:
    with working(service):
        answer = run(service, {"Prefer": "respond-async, wait=30"})
    assert answer.status_code == 200
    assert answer.headers["Preference-Applied"] == "respond-async, wait=30"
    assert answer.json() == run(service, {}).json()


def test_wait_gives_the_job_when_it_does_not(service: Service) -> None:
    assert run(service, {"Prefer": "respond-async, wait=0"}).status_code == 202


def test_a_failed_job_is_its_problem(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    test = registry.find("mcnemar")
    strange = {**BODY, "both_wrong": 4_321}

    def broken(request: Any) -> Any:
        if request.both_wrong != strange["both_wrong"]:
            return test.compute(request)  # the service computes its examples beside, as it starts
        raise InvalidData.field("both_wrong", "is too strange", "send another")

    monkeypatch.setitem(registry._TESTS, ("mcnemar", test.version), replace(test, compute=broken))
    queued = run(service, ASYNC, strange)
    service.run_jobs()
    job = service.client.get(queued.headers["Location"]).json()
    assert (job["state"], job["result"]) == ("failed", None)
    assert (job["error"]["status"], job["error"]["errors"][0]["path"]) == (422, "both_wrong")
    with working(service):
        waited = run(service, {"Prefer": "respond-async, wait=30"}, strange)
    assert (waited.status_code, waited.headers["Content-Type"]) == (422, "application/problem+json")
    assert waited.json() == job["error"]


def test_events_follow_a_job_to_its_end(service: Service) -> None:
    job = run(service, ASYNC).json()
    got: list[str] = []

    def follow() -> None:
        got.append(service.client.get(f"/v1/jobs/{job['id']}/events").text)

    follower = threading.Thread(target=follow)
    follower.start()
    while not service.app.state.services.watch._waiters:
        pass
    service.run_jobs()
    follower.join(60)
    names = [name for name, _ in events(got[0])]
    assert (names[0], names[-1]) == ("queued", "succeeded")
    assert events(got[0])[-1][1] == {"state": "succeeded", "progress": 1.0, "eta_seconds": None}


@pytest.mark.any_database
def test_a_key_follows_and_waits_for_so_many_jobs_at_a_time(service: Service) -> None:
    shared = service.app.state.services
    limits = service.client.get("/v1/limits").json()
    assert (limits["key_streams"], limits["key_waits"]) == (shared.streams.most, shared.waits.most)
    shared.streams.most = shared.waits.most = 1
    job = run(service, ASYNC).json()
    stream, answers = f"/v1/jobs/{job['id']}/events", []
    followers = [
        threading.Thread(target=lambda: answers.append(service.client.get(stream))) for _ in range(3)
    ]
    for follower in followers:
        follower.start()
    while len(answers) < 2 or not shared.watch._waiters:
        pass
    assert [(each.status_code, each.json()["code"]) for each in answers] == [(429, "too_many")] * 2
    with working(service):
        other = {"Authorization": f"Bearer {service.key()}"}
        assert service.client.get(stream, headers=other).status_code == 200
    for follower in followers:
        follower.join(60)
    assert answers[-1].status_code == 200
    assert service.client.get(stream).status_code == 200
    assert not shared.streams._held

    later = BODY | {"both_wrong": 5}
    shared.waits.most = 0
    passed_over = run(service, {"Prefer": "respond-async, wait=60"}, later)
    assert (passed_over.status_code, passed_over.headers["Preference-Applied"]) == (202, "respond-async")
    shared.waits.most = 1
    with working(service):
        assert run(service, {"Prefer": "respond-async, wait=60"}, later).status_code == 200
    assert not shared.waits._held


def test_events_of_a_job_that_has_ended_are_one(service: Service) -> None:
    job = run(service, ASYNC).json()
    service.run_jobs()
    stream = service.client.get(f"/v1/jobs/{job['id']}/events")
    assert stream.headers["Content-Type"].startswith("text/event-stream")
    assert [name for name, _ in events(stream.text)] == ["succeeded"]


def test_a_waiting_job_can_be_called_off_and_asked_for_again(service: Service) -> None:
    job = run(service, ASYNC).json()
    assert service.client.delete(f"/v1/jobs/{job['id']}").status_code == 204
    assert service.client.get(f"/v1/jobs/{job['id']}").json()["state"] == "cancelled"
    again = service.client.delete(f"/v1/jobs/{job['id']}")
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    assert service.run_jobs() == 0
    assert run(service, ASYNC).json()["id"] != job["id"]


def test_a_verdict_job_cannot_be_called_off_and_shows_no_outcome(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(6))
    for arm in "AB":
        answer = post(service.client, prereg_id, arm, items(6), [1] * 6)
    job_id = answer.json()["job"]["id"] if "job" in answer.json() else verdict_job(service, prereg_id)
    refused = service.client.delete(f"/v1/jobs/{job_id}")
    assert (refused.status_code, refused.json()["code"]) == (409, "not_cancellable")
    shown = service.client.get(f"/v1/jobs/{job_id}").json()
    assert (shown["kind"], shown["progress"], shown["eta_seconds"]) == ("verdict", None, None)
    service.run_jobs()
    assert service.client.get(f"/v1/jobs/{job_id}").json()["result"] in (
        None,
        {"preregistration_id": prereg_id},
    )


def verdict_job(service: Service, prereg_id: str) -> str:
    from service.store.jobs import jobs

    with service.database.read() as session:
        job = jobs.find_latest(session, service.project_id, kind="verdict", subject=prereg_id)
    assert job is not None
    return job.id


def test_another_project_sees_no_job_and_shares_none(service: Service) -> None:
    job = run(service, ASYNC).json()
    stranger = {"Authorization": f"Bearer {service.key(project_id=service.project('other'))}"}
    for method, path in (("GET", ""), ("GET", "/events"), ("DELETE", "")):
        answer = service.client.request(method, f"/v1/jobs/{job['id']}{path}", headers=stranger)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert run(service, ASYNC | stranger).json()["id"] != job["id"]


def test_keys_that_run_tests_see_their_jobs_and_no_verdict_job(service: Service) -> None:
    tester = {"Authorization": f"Bearer {service.key('tests:run')}"}
    job = run(service, ASYNC | tester).json()
    assert service.client.get(f"/v1/jobs/{job['id']}", headers=tester).status_code == 200
    reader = {"Authorization": f"Bearer {service.key('read')}"}
    assert service.client.get(f"/v1/jobs/{job['id']}", headers=reader).status_code == 200
    assert service.client.delete(f"/v1/jobs/{job['id']}", headers=reader).status_code == 403
    writer = {"Authorization": f"Bearer {service.key('results:write')}"}
    assert service.client.get(f"/v1/jobs/{job['id']}", headers=writer).status_code == 403
    prereg_id = locked(service.client, small_plan(6))
    for arm in "AB":
        post(service.client, prereg_id, arm, items(6), [1] * 6)
    verdict = f"/v1/jobs/{verdict_job(service, prereg_id)}"
    assert service.client.get(verdict, headers=tester).status_code == 403
    assert service.client.get(verdict, headers=reader).status_code == 200


def test_a_project_with_as_many_jobs_as_it_may_is_told_so(service: Service) -> None:
    shared = service.app.state.services
    service.app.state.services = type(shared)(
        **{name: getattr(shared, name) for name in shared.__dataclass_fields__}
        | {"settings": shared.settings.model_copy(update={"project_jobs": 2})}
    )
    for number in (1, 2):
        assert run(service, ASYNC, BODY | {"both_wrong": number}).status_code == 202
    refused = run(service, ASYNC, BODY | {"both_wrong": 3})
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_jobs")
    assert refused.headers["Retry-After"]
    assert run(service, ASYNC, BODY | {"both_wrong": 2}).status_code == 202  # joins the one that waits
    other = {"Authorization": f"Bearer {service.key(project_id=service.project('other'))}"}
    assert run(service, ASYNC | other, BODY | {"both_wrong": 3}).status_code == 202


def test_a_job_that_waits_for_a_pool_says_so_and_so_does_readiness(service: Service) -> None:
    class Away(InlinePool):
        def submit(self, function: Callable[..., Any], *arguments: object) -> Any:
            raise PoolUnavailable("the worker pool at tls://secret:1 does not answer (TimeoutError)")

    service.runner._pool = Away()
    job = run(service, ASYNC).json()
    with pytest.raises(PoolUnavailable):
        service.runner.step()
    prereg_id = locked(service.client, small_plan(10))
    for arm in ("A", "B"):
        post(service.client, prereg_id, arm, items(10), [1] * 10)
    with pytest.raises(PoolUnavailable):
        service.runner.step()
    waiting = service.client.get(f"/v1/jobs/{job['id']}").json()
    assert (waiting["state"], waiting["error"]["code"]) == ("queued", "pool_unavailable")
    assert "secret" not in str(waiting)
    sealed = service.client.get(f"/v1/jobs/{verdict_job(service, prereg_id)}").json()
    assert (sealed["state"], sealed["error"]) == ("queued", None)
    ready = service.client.get("/health/ready")
    assert (ready.status_code, ready.json()["jobs"]) == (200, "wait for the worker pool")
    service.runner._pool = InlinePool()
    assert service.run_jobs() == 2
    done = service.client.get(f"/v1/jobs/{job['id']}").json()
    assert (done["state"], done["error"]) == ("succeeded", None)
    assert service.client.get("/health/ready").json()["jobs"] == "ok"


def test_readiness_sees_that_nobody_takes_jobs(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def said() -> str:
        answer = service.client.get("/health/ready")
        assert answer.status_code == 200
        word: str = answer.json()["jobs"]
        return word

    def expire(by: timedelta) -> None:
        with service.database.write() as session:
            ends = clock.read_now(session) - by
            held = tables.jobs.c.state == "running"
            session.execute(sa.update(tables.jobs).where(held).values(lease_expires_at=ends))

    run(service, ASYNC)
    assert said() == "ok"  # it was queued just now
    monkeypatch.setattr(stored, "SILENT", timedelta(seconds=-1))  # as if that were long ago
    assert said() == "wait for a runner"
    with service.database.write() as session:
        held = job_leases.claim(session, runner="r", lease_seconds=60, max_attempts=3)
    assert held is not None
    assert said() == "ok"
    waiting = run(service, ASYNC, BODY | {"alpha": 0.01}).json()["id"]
    assert said() == "ok"  # the runner is at the other one
    expire(timedelta(seconds=1))
    assert said() == "wait for a runner"
    assert service.client.delete(f"/v1/jobs/{waiting}").is_success
    monkeypatch.undo()
    assert said() == "ok"  # somebody takes it over soon
    expire(timedelta(minutes=2))
    assert said() == "wait for a runner"
