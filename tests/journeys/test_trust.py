"""Holes of trust: who counts as another person, what a look tells, how long a key holds, and what times tell."""

from __future__ import annotations

import json
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from service.api.routes.calculations import jobs as api_jobs
from service.store.database import clock
from tests.api.conftest import add_key, bearer
from tests.journeys.filings import deviations, file, filing
from tests.journeys.queued import ASYNC, events
from tests.journeys.queued import run as start
from tests.journeys.sequential import order, plan, run

from .conftest import Service
from .plans import idempotent, items, locked, post, small_plan

pytestmark = pytest.mark.any_database


def decide(service: Service, prereg_id: str, headers: dict[str, str], wanted: str = "accept") -> Any:
    body = {"classification": wanted, "note": "The log shows why."}
    return service.client.post(f"{deviations(prereg_id)}/1/decision", json=body, headers=headers)


def waiting_for_review(service: Service, headers: dict[str, str] | None = None) -> str:
    prereg_id = locked(service.client, small_plan(10))
    seen = filing({"kind": "other"}, outcomes_seen=True)
    filed = service.client.post(deviations(prereg_id), json=seen, headers=headers)
    assert filed.json()["classification"] == "needs_review", filed.text
    return prereg_id


def made_by(service: Service, headers: dict[str, str], name: str) -> dict[str, str]:
    """A key that another key made."""
    body = {"name": name, "kind": "person", "scopes": ["plans:write", "deviations:review", "read", "admin"]}
    made = service.client.post("/v1/keys", json=body, headers=headers)
    assert made.status_code == 201, made.text
    return bearer(made.json()["secret"])


def test_a_key_that_the_author_made_is_not_another_person(service: Service) -> None:
    boss = {"Authorization": service.client.headers["Authorization"]}
    ada = made_by(service, boss, "Ada")
    grace, puppet = made_by(service, boss, "Grace"), made_by(service, ada, "Nobody")
    second = made_by(service, puppet, "Nobody else")
    prereg_id = waiting_for_review(service, ada)
    for not_another in (ada, puppet, second, boss):
        refused = decide(service, prereg_id, not_another)
        assert (refused.status_code, refused.json()["code"]) == (403, "reviewer_is_author")
    assert decide(service, prereg_id, puppet, "reject").status_code == 201
    decided = decide(service, prereg_id, grace)
    assert decided.status_code == 201, decided.text
    body = decided.json()
    named_by = {each["name"]: each["id"] for each in service.client.get("/v1/keys").json()["items"]}
    assert body["author_key"] == named_by["Ada"]
    assert body["decisions"][-1]["reviewer_key"] == named_by["Grace"]
    page = service.client.get(f"{deviations(prereg_id)}.md").text
    assert named_by["Ada"] in page
    assert named_by["Grace"] in page


def test_the_keys_of_an_author_do_not_review_by_turning_round(service: Service) -> None:
    boss = {"Authorization": service.client.headers["Authorization"]}
    ada = made_by(service, boss, "Ada")
    puppet = made_by(service, ada, "Nobody")
    prereg_id = waiting_for_review(service, puppet)
    assert decide(service, prereg_id, ada).json()["code"] == "reviewer_is_author"


def test_a_look_that_says_go_on_has_told_something(service: Service) -> None:
    prereg_id = locked(service.client, plan())
    before = file(service, prereg_id).json()
    assert (before["classification"], before["facts"]["unblinded"]) == ("accept", False)
    run(service, prereg_id, order(service, prereg_id)[:20], set())
    assert service.run_jobs() == 1
    taken = service.client.get(f"/v1/preregistrations/{prereg_id}/looks").json()["taken"]
    assert [each["decision"] for each in taken] == ["continue"]
    after = file(service, prereg_id).json()
    assert after["facts"]["unblinded"] is True
    assert (after["classification"], after["rule"]["id"]) == ("needs_review", "otherwise")


def test_a_key_ends_with_its_maker(service: Service) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=60)
    _, secret = add_key(service.database, service.project_id, expires_at=soon)
    body: dict[str, Any] = {"name": "child", "scopes": ["read"]}
    made = service.client.post("/v1/keys", json=body, headers=bearer(secret))
    assert made.status_code == 201
    assert datetime.fromisoformat(made.json()["key"]["expires_at"]) == soon
    late = (soon + timedelta(seconds=1)).isoformat()
    refused = service.client.post("/v1/keys", json=body | {"expires_at": late}, headers=bearer(secret))
    assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "expires_at")
    early = (soon - timedelta(seconds=1)).isoformat()
    sooner = service.client.post("/v1/keys", json=body | {"expires_at": early}, headers=bearer(secret))
    assert sooner.status_code == 201


@pytest.mark.parametrize("end", ["revoked", "expired"])
def test_a_stream_ends_with_its_key(service: Service, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    monkeypatch.setattr(api_jobs, "KEY_SECONDS", 0.05)
    job = start(service, ASYNC).json()
    ends = {"expires_at": datetime.now(UTC) + timedelta(seconds=1.5)} if end == "expired" else {}
    key, secret = add_key(service.database, service.project_id, **ends)
    got: list[str] = []

    def follow() -> None:
        got.append(service.client.get(f"/v1/jobs/{job['id']}/events", headers=bearer(secret)).text)

    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    until = time.monotonic() + 30
    while not service.app.state.services.watch._waiters and time.monotonic() < until:
        time.sleep(0.01)
    if end == "revoked":
        assert service.client.delete(f"/v1/keys/{key.id}").status_code == 200
    follower.join(30)
    assert [name for name, _ in events(got[0])] == ["queued"]


def test_times_of_a_look_do_not_tell_how_long_it_took(service: Service) -> None:
    prereg_id = locked(service.client, plan())
    run(service, prereg_id, order(service, prereg_id)[:20], set())
    asked = service.client.post(f"/v1/preregistrations/{prereg_id}/looks")
    assert asked.status_code == 202, asked.text
    assert service.run_jobs() == 1
    job = service.client.get(asked.headers["Location"]).json()
    assert job["state"] == "succeeded"
    for name in ("created_at", "finished_at"):
        moment = datetime.fromisoformat(job[name])
        assert (moment.second, moment.microsecond) == (0, 0)


def test_a_lock_that_is_dated_before_an_older_one_says_so(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def said(prereg_id: str) -> Any:
        receipt = service.client.get(f"/v1/preregistrations/{prereg_id}/receipt").json()
        return json.loads(receipt["leaf"])["body"].get("clock_set_back")

    usual, amended = locked(service.client, small_plan(10)), locked(service.client, small_plan(10))
    with monkeypatch.context() as patched:
        patched.setattr(clock, "read_now", lambda _session: datetime.now(UTC) - timedelta(hours=1))
        early = locked(service.client, small_plan(10))
        patched.setattr(clock, "read_now", lambda _session: datetime.now(UTC) - timedelta(hours=2))
        path = f"/v1/preregistrations/{amended}"
        changed = service.client.post(
            f"{path}/amendments",
            json={"reason": "a typing error", "changes": {"title": "Amended"}, "acknowledge": "all"},
            headers=idempotent(**{"If-Match": service.client.get(path).headers["ETag"]}),
        )
    assert changed.status_code in (200, 201), changed.text
    assert (said(usual), said(early)) == (None, True)
    first, second = service.client.get(f"{path}/versions").json()["items"]
    told = [json.loads(each["receipt"]["leaf"])["body"].get("clock_set_back") for each in (first, second)]
    assert told == [None, True]
    assert "before the newest entry of the ledger" in caplog.text
    for arm, value in (("A", 0), ("B", 1)):
        assert post(service.client, early, arm, items(10), [value] * 10).status_code == 201
    assert service.run_jobs() == 1
    verdict = service.client.get(f"/v1/preregistrations/{early}/verdict")
    assert verdict.status_code == 200, verdict.text
