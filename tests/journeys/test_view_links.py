"""Records that are read without a key: by a view-only link, or because they are public. Nothing else is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from starlette.testclient import TestClient

from service.actions.projects import view_links as actions
from service.domain.access import new_token
from service.store.database import clock
from service.store.plans import preregistrations
from service.store.projects import view_links as stored
from tests.api.conftest import add_key, bearer
from tests.journeys.audit_log import log
from tests.journeys.filings import CANDIDATE, N, deviations, file, judged

from .conftest import Service, only_sqlite
from .plans import draft, idempotent, items, locked, post, small_plan

pytestmark = only_sqlite  # what the databases do of it is tested on both in `tests/store`

FILES = ("", "/verdict.json", "/receipt.json", "/charts/power.json", "/charts/forest.json")


@pytest.fixture
def stranger(service: Service) -> TestClient:
    """Somebody without a key."""
    return TestClient(service.app, raise_server_exceptions=False, follow_redirects=False)


def share(service: Service, prereg_id: str, visibility: str = "link") -> None:
    path = f"/v1/preregistrations/{prereg_id}/visibility"
    answer = service.client.put(path, json={"visibility": visibility})
    assert (answer.status_code, answer.json()["visibility"]) == (200, visibility)
    assert service.client.get(path).json() == answer.json()


def link(service: Service, prereg_id: str, **options: Any) -> dict[str, Any]:
    made = service.client.post(f"/v1/preregistrations/{prereg_id}/view-links", json={"name": "R2", **options})
    assert made.status_code == 201, made.text
    return made.json()


def statuses(stranger: TestClient, path: str) -> list[int]:
    return [stranger.get(path + each).status_code for each in FILES]


def test_a_link_opens_one_record_and_nothing_after_it_was_revoked(
    service: Service, stranger: TestClient
) -> None:
    prereg_id, other = judged(service), locked(service.client, small_plan(N))
    share(service, prereg_id)
    made = link(service, prereg_id)
    path, token = made["path"], made["token"]
    assert statuses(stranger, path) == [200] * len(FILES)
    verdict = service.client.get(f"/v1/preregistrations/{prereg_id}/verdict")
    assert stranger.get(f"{path}/verdict.json").content == verdict.content
    receipt = service.client.get(f"/v1/preregistrations/{prereg_id}/receipt")
    assert stranger.get(f"{path}/receipt.json").json() == receipt.json()
    page = stranger.get(path)
    assert "A record of the project default." in page.text
    assert page.headers["cache-control"] == "no-store"
    for elsewhere in (f"/public/{prereg_id}", f"/preregistrations/{prereg_id}", f"{path}/results"):
        assert stranger.get(elsewhere).status_code in (303, 404)
    for asked in (prereg_id, other):
        refused = stranger.get(f"/v1/preregistrations/{asked}", headers=bearer(token))
        assert refused.status_code == 401
    revoked = service.client.delete(f"/v1/preregistrations/{prereg_id}/view-links/{made['link']['id']}")
    assert revoked.json()["revoked_at"] is not None
    assert statuses(stranger, path) == [404] * len(FILES)
    again = service.client.delete(f"/v1/preregistrations/{prereg_id}/view-links/{made['link']['id']}")
    assert again.json() == revoked.json()
    assert service.client.get(f"/v1/preregistrations/{prereg_id}/view-links").json()["items"] == [
        revoked.json()
    ]


def test_whatever_opens_nothing_is_answered_alike(service: Service, stranger: TestClient) -> None:
    prereg_id = locked(service.client, small_plan(N))
    share(service, prereg_id)
    closed, ended = link(service, prereg_id), link(service, prereg_id)
    service.client.delete(f"/v1/preregistrations/{prereg_id}/view-links/{closed['link']['id']}")
    with service.database.write() as session:
        early = clock.read_now(session) - timedelta(days=100)
        record = preregistrations.get(session, service.project_id, prereg_id)
        key = service.app.state.services.keys.look_up(str(service.client.headers["Authorization"]))
        late = new_token(bytes(32))
        about = {"name": "x", "anonymous": False, "expires_at": None, "link_id": "late"}
        actions.create(session, key, record, **about, token=late, now=early)
    paths = [closed["path"], f"/shared/{late}", f"/shared/{new_token(bytes([7] * 32))}", "/shared/flv_x"]
    answers = {(found.status_code, found.text) for found in map(stranger.get, paths)}
    assert len(answers) == 1
    assert stranger.get(ended["path"]).status_code == 200
    share(service, prereg_id, "private")
    assert {(found.status_code, found.text) for found in [stranger.get(ended["path"])]} == answers
    share(service, prereg_id, "public")
    assert stranger.get(ended["path"]).status_code == 200
    none = [stranger.get(f"/public/{each}") for each in (draft(service.client, small_plan(N)), "none", "%00")]
    assert len({(found.status_code, found.text) for found in none}) == 1


def test_before_the_verdict_a_stranger_is_told_what_the_page_tells(
    service: Service, stranger: TestClient
) -> None:
    prereg_id = locked(service.client, small_plan(N))
    assert post(service.client, prereg_id, "B", items(N), CANDIDATE).status_code == 201
    share(service, prereg_id, "public")
    path = f"/public/{prereg_id}"
    assert statuses(stranger, path) == [200, 409, 200, 200, 409]
    assert stranger.get(f"{path}/verdict.json").json()["code"] == "blinded"
    assert stranger.get(f"{path}/charts/arms.svg").json()["code"] == "blinded"
    assert stranger.get(f"{path}/charts/none.svg").status_code == 404
    assert f"{N} of {2 * N} results are in" in stranger.get(path).text


def test_a_reader_is_told_the_deviations_that_were_decided_and_how_many_wait(
    service: Service, stranger: TestClient
) -> None:
    waiting = locked(service.client, small_plan(N))
    decided = judged(service)
    key = service.client.get("/v1/keys").json()["items"][0]["name"]
    for prereg_id in (waiting, decided):
        share(service, prereg_id)
        path = link(service, prereg_id, anonymous=True)["path"]
        assert '<h2 id="deviations">' not in stranger.get(path).text or prereg_id == decided
        file(service, prereg_id, title="F1 instead of accuracy", reason="It is finer.")
        file(service, prereg_id, title="Another prompt")
        answered = service.client.post(
            f"{deviations(prereg_id)}/1/decision", json={"classification": "reject"}
        )
        assert answered.status_code == 201, answered.text
        page = stranger.get(path).text
        assert ("F1 instead of accuracy" in page) == ("It is finer." in page) == (prereg_id == decided)
        assert "Another prompt" not in page
    assert "decided by the project" in page
    assert f"decided by {key}" not in page
    assert "Filed, and not decided yet: 1." in page
    chinese = stranger.get(path + "?lang=zh").text
    assert "由项目方决定" in chinese
    assert "已登记、尚未决定的偏离：1 项。" in chinese


def test_an_anonymous_link_tells_nothing_that_the_service_knows_of_its_authors(
    service: Service, stranger: TestClient
) -> None:
    prereg_id = judged(service)
    share(service, prereg_id)
    made = link(service, prereg_id, anonymous=True, name="Reviewer 2 of Acme")
    key = service.client.get("/v1/keys").json()["items"][0]
    origin = (
        service.client.get(f"/v1/preregistrations/{prereg_id}/receipt").json()["checkpoint"].split("\n")[0]
    )
    told = ["project default", service.project_id, key["id"], key["prefix"], origin, "Acme"]
    for each in FILES:
        answer = stranger.get(made["path"] + each)
        assert answer.status_code == 200
        for words in told:
            assert words not in answer.text, (each, words)
    receipt = stranger.get(f"{made['path']}/receipt.json").json()
    assert (receipt["checkpoint"], receipt["leaf"], receipt["family"]) == (None, None, None)
    assert receipt["leaf_sha256"]


def test_links_have_an_end_a_number_and_a_scope(service: Service) -> None:
    client, prereg_id = service.client, locked(service.client, small_plan(N))
    path = f"/v1/preregistrations/{prereg_id}"
    private = client.post(f"{path}/view-links", json={"name": "R2"})
    assert (private.status_code, "is private" in private.json()["detail"]) == (409, True)
    share(service, prereg_id)
    now = datetime.now(UTC)
    for wrong in (now - timedelta(seconds=5), now + timedelta(days=400)):
        refused = client.post(f"{path}/view-links", json={"name": "R2", "expires_at": wrong.isoformat()})
        assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "expires_at")
    reader = bearer(service.key("read"))
    assert client.put(f"{path}/visibility", json={"visibility": "public"}, headers=reader).status_code == 403
    assert client.post(f"{path}/view-links", json={"name": "R2"}, headers=reader).status_code == 403
    unlocked = draft(client, small_plan(N))
    refused = client.put(f"/v1/preregistrations/{unlocked}/visibility", json={"visibility": "public"})
    assert refused.status_code == 409
    once = idempotent()
    first, again = (
        client.post(f"{path}/view-links", json={"name": "R2"}, headers=once).json() for _ in range(2)
    )
    assert again == first | {"token": None, "path": None}
    with service.database.read() as session:
        assert stored.count(session, prereg_id, clock.read_now(session)) == 1


def test_a_key_that_ends_makes_nothing_that_outlives_it(service: Service) -> None:
    client, prereg_id = service.client, locked(service.client, small_plan(N))
    share(service, prereg_id)
    ends = datetime.now(UTC).replace(microsecond=0) + timedelta(days=7)
    _key, secret = add_key(service.database, service.project_id, expires_at=ends)
    paths = {
        f"/v1/preregistrations/{prereg_id}/view-links": {"name": "R2"},
        "/v1/keys": {"name": "nightly", "scopes": ["read"]},
    }
    for path, body in paths.items():
        later = body | {"expires_at": (ends + timedelta(seconds=1)).isoformat()}
        refused = client.post(path, json=later, headers=bearer(secret))
        assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "expires_at")
        made = client.post(path, json=body, headers=bearer(secret)).json()
        assert datetime.fromisoformat((made.get("link") or made["key"])["expires_at"]) == ends


def test_no_more_links_than_may_be(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "MOST_LINKS", 1)
    prereg_id = locked(service.client, small_plan(N))
    share(service, prereg_id)
    made = link(service, prereg_id)
    path = f"/v1/preregistrations/{prereg_id}/view-links"
    assert service.client.post(path, json={"name": "R3"}).json()["code"] == "too_many"
    service.client.delete(f"{path}/{made['link']['id']}")
    link(service, prereg_id)


def test_sharing_and_reading_by_a_link_are_in_the_log(service: Service, stranger: TestClient) -> None:
    prereg_id = locked(service.client, small_plan(N))
    hash_before = service.client.get(f"/v1/preregistrations/{prereg_id}").json()["plan_sha256"]
    share(service, prereg_id)
    share(service, prereg_id)
    made = link(service, prereg_id)
    stranger.get(made["path"])
    share(service, prereg_id, "public")
    stranger.get(f"/public/{prereg_id}")
    service.client.delete(f"/v1/preregistrations/{prereg_id}/view-links/{made['link']['id']}")
    service.app.state.services.reads.write(everything=True)
    found = [(each["action"], each["key_id"] is None) for each in log(service, subject=prereg_id)]
    assert sorted(found) == [
        ("preregistration.create", False),
        ("preregistration.items", False),
        ("preregistration.lock", False),
        ("public.read", True),
        ("viewlink.create", False),
        ("viewlink.revoke", False),
        ("visibility.set", False),
        ("visibility.set", False),
    ]
    (read,) = log(service, action="viewlink.read")
    assert (read["subject"], read["key_id"]) == (made["link"]["id"], None)
    assert made["token"] not in service.client.get("/v1/audit").text
    assert service.client.get(f"/v1/preregistrations/{prereg_id}").json()["plan_sha256"] == hash_before


def test_strangers_are_answered_at_a_bounded_rate(
    service: Service, stranger: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    prereg_id = locked(service.client, small_plan(N))
    share(service, prereg_id, "public")
    turns = service.app.state.services.strangers
    monkeypatch.setattr(turns, "_clock", lambda: turns._at)
    turns.take(turns._left)
    assert stranger.get(f"/public/{prereg_id}").status_code == 429
    assert stranger.get(f"/public/{prereg_id}/verdict.json").json()["code"] == "too_fast"
    assert service.client.get(f"/v1/preregistrations/{prereg_id}").status_code == 200
