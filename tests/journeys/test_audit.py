"""The audit log: who did what and read what, seen by whom, and never an outcome."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import pytest

from service.api.http.reads import Reads
from service.api.http.serving.route import Route
from service.app import routes
from service.domain.access import SCOPES
from service.errors import Unavailable
from tests.journeys.audit_log import log

from .conftest import Service
from .plans import draft, items, lock, locked, post, small_plan

pytestmark = pytest.mark.any_database

N = 8
ROOT = Path(__file__).resolve().parents[2]
WITHOUT_OUTCOMES = {
    "get_preregistration", "get_prereg_markdown", "get_osf_markdown", "get_aspredicted_markdown",
    "get_items", "get_plan_version", "list_plan_versions", "list_runs", "get_progress", "list_labels",
    "get_receipt", "get_visibility", "list_view_links", "list_batches", "list_order", "list_stamps",
    "list_links", "list_linked_runs", "get_lock_statement", "get_signed_lock_statement", "get_prml_manifest",
}  # fmt: skip
"""Reads of a record whose answer follows from no outcome, at any time: they are not in the log."""


def actions(service: Service, **query: object) -> list[str]:
    """Oldest first."""
    return [each["action"] for each in reversed(log(service, **query))]


def fill(service: Service, prereg_id: str, outcomes: int = 0) -> None:
    for arm in ("A", "B"):
        values = [(outcomes >> i) & 1 for i in range(N)]
        assert post(service.client, prereg_id, arm, items(N), values).status_code == 201


def test_the_life_of_a_record_is_in_the_log(service: Service) -> None:
    client = service.client
    prereg_id = draft(client, small_plan(N))
    path = f"/v1/preregistrations/{prereg_id}"
    lock(client, prereg_id)
    assert client.put(f"{path}/populations/p/items", json={"item_ids": items(N)}).status_code == 409
    post(client, prereg_id, "A", items(2), [1, 0])
    assert client.post(f"{path}/batches/1/void", json={"reason": "wrong"}).status_code == 200
    assert client.get(f"{path}/results").json()["code"] == "blinded"
    fill(service, prereg_id)
    service.run_jobs()
    for part in ("verdict", "results", "multiverse", "evidence"):
        assert client.get(f"{path}/{part}").status_code == 200
    found = actions(service, subject=prereg_id)
    assert found == [
        "preregistration.create",
        "preregistration.items",
        "preregistration.lock",
        "preregistration.items.refused",
        "results.post",
        "batch.void",
        "results.read.refused",
        "results.post",
        "results.post",
        "verdict.record",
        "verdict.read",
        "results.read",
        "multiverse.read",
        "evidence.read",
    ]


def test_who_is_named_by_id_and_name(service: Service) -> None:
    made = service.client.post("/v1/keys", json={"name": "Ada", "kind": "person", "scopes": ["plans:write"]})
    ada, secret = made.json()["key"], made.json()["secret"]
    service.client.post(
        "/v1/preregistrations", json=small_plan(N), headers={"Authorization": f"Bearer {secret}"}
    )
    (event,) = log(service, action="preregistration.create")
    assert (event["key_id"], event["key_name"]) == (ada["id"], "Ada")
    assert [each["action"] for each in log(service, key=ada["id"])] == ["preregistration.create"]


def test_pages_and_filters_find_every_event_once(service: Service) -> None:
    for _ in range(7):
        draft(service.client, small_plan(N))
    whole = log(service, action="preregistration.create")
    assert len(whole) == 7
    paged, cursor = [], None
    while True:
        query = {"limit": 2, "action": "preregistration.create"} | ({"cursor": cursor} if cursor else {})
        page = service.client.get("/v1/audit", params=query).json()
        paged += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert paged == whole
    since = log(service, action="preregistration.create", since=whole[3]["at"])
    assert since == whole[:4]
    wrong = service.client.get("/v1/audit", params={"cursor": "x"})
    assert (wrong.status_code, wrong.json()["errors"][0]["path"]) == (422, "cursor")


def test_events_of_one_moment_are_paged_too(service: Service) -> None:
    """Batches that are stored together have one time."""
    with service.database.write() as session:
        from service.store.database import clock
        from service.store.projects import audit

        now = clock.read_now(session)
        audit.record_all(
            session,
            [
                audit.Act(
                    project_id=service.project_id,
                    key_id=None,
                    action="test.tied",
                    subject=str(number),
                    facts={},
                    created_at=now,
                )
                for number in range(5)
            ],
        )
    seen, cursor = [], None
    while True:
        query = {"limit": 2, "action": "test.tied"} | ({"cursor": cursor} if cursor else {})
        page = service.client.get("/v1/audit", params=query).json()
        seen += [each["subject"] for each in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == ["4", "3", "2", "1", "0"]


def test_the_log_is_for_admins_of_the_project_and_the_operator(service: Service) -> None:
    draft(service.client, small_plan(N))
    lacking = [scope for scope in SCOPES if scope not in ("admin", "operator")]
    bare = {"Authorization": f"Bearer {service.key(*lacking)}"}
    for path in ("/v1/audit", "/v1/audit/deployment"):
        assert service.client.get(path, headers=bare).status_code == 403
    admin = {"Authorization": f"Bearer {service.key('admin')}"}
    assert service.client.get("/v1/audit/deployment", headers=admin).status_code == 403
    assert service.client.post("/v1/projects", json={"name": "second"}).status_code == 201
    events = service.client.get("/v1/audit/deployment").json()["items"]
    assert [each["action"] for each in events] == ["project.create"]
    assert events[0]["facts"] == {"name": "second"}


def test_another_projects_log_and_how_much_is_in_it_stay_unknown(service: Service) -> None:
    stranger = {
        "Authorization": f"Bearer {service.key('admin', 'plans:write', project_id=service.project('x'))}"
    }
    for _ in range(3):
        assert service.client.post("/v1/preregistrations", json={}, headers=stranger).status_code == 201
    before = service.client.get("/v1/audit?limit=1&action=preregistration.create", headers=stranger).json()
    for _ in range(20):
        draft(service.client, small_plan(N))
    after = service.client.get("/v1/audit?limit=1&action=preregistration.create", headers=stranger).json()
    assert before == after
    cursor = after["next_cursor"]
    at, shown = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    assert (at, shown) == (after["items"][0]["at"].replace("Z", "+00:00"), 1)
    assert "audit.read" in [
        each["action"] for each in service.client.get("/v1/audit", headers=stranger).json()["items"]
    ]


def test_a_read_is_answered_although_it_cannot_be_written_down(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    prereg_id = locked(service.client, small_plan(N))
    fill(service, prereg_id)
    service.run_jobs()

    def away(*_arguments: object) -> None:
        raise Unavailable("the database is away")

    with monkeypatch.context() as patch:
        patch.setattr(Reads, "_store", away)
        assert service.client.get(f"/v1/preregistrations/{prereg_id}/verdict").status_code == 200
        assert service.client.get("/v1/audit").status_code == 503
    assert "verdict.read" in actions(service, subject=prereg_id)


def test_nothing_in_the_log_follows_from_outcomes(service: Service) -> None:
    """Two records alike but for their outcomes, one of which cannot even be judged, leave the same log."""
    logs = []
    for outcomes in (0b00000000, 0b10110101):
        prereg_id = locked(service.client, small_plan(N))
        post(service.client, prereg_id, "A", items(N), [(outcomes >> i) & 1 for i in range(N)])
        post(service.client, prereg_id, "A", items(N), [1] * N)
        service.client.get(f"/v1/preregistrations/{prereg_id}/results")
        text = json.dumps(log(service, subject=prereg_id))
        logs.append(re.sub(r"\d{4}-\d\d-\d\dT[^\"]*", "TIME", text.replace(prereg_id, "ID")))
    assert logs[0] == logs[1]


def test_every_read_of_a_record_is_in_the_log_or_follows_from_no_outcome() -> None:
    for route in routes():
        if isinstance(route, Route) and "GET" in (route.methods or ()) and "prereg_id" in route.path:
            audited = hasattr(route.endpoint, "reads")
            assert audited is not (route.endpoint.__name__ in WITHOUT_OUTCOMES), route.path


def test_every_action_is_described() -> None:
    described = set(re.findall(r"^\| `([^`]+)`", (ROOT / "docs/audit.md").read_text("utf-8"), re.MULTILINE))
    text = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "service").rglob("*.py")))
    found = set(
        re.findall(
            r'(?:action=|audits\(|\.note(?:_stranger)?\([^")]*?|(?:record_act|_audit)\([^")]*?|queue_job\([^")]*?)"([a-z]+\.[a-z]+)"',
            text,
        )
    )
    found |= {
        "look.record",
        "reading.record",
        "look.read",
        "monitor.read",
        "calibration.read",
    }  # made of a kind
    assert found == described
