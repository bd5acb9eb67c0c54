from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from service.domain.access import SCOPES
from service.store.projects import audit

pytestmark = pytest.mark.any_database

LATER = "2999-01-01T00:00:00Z"


def create(client, **body):
    return client.post("/v1/keys", json={"name": "job", "scopes": ["read"], **body})


def test_a_created_key_works_and_is_listed_without_its_secret(client, project):
    made = create(client, kind="job", scopes=["tests:run", "read"], expires_at=LATER)
    assert made.status_code == 201
    key, secret = made.json()["key"], made.json()["secret"]
    assert key["project_id"] == project
    assert secret.startswith(key["prefix"])
    own = {"Authorization": f"Bearer {secret}"}
    assert client.get("/v1/limits", headers=own).status_code == 200
    listed = client.get("/v1/keys").text
    assert key["id"] in listed
    assert secret not in listed


def test_a_key_cannot_grant_what_it_lacks(client, key_with):
    lacking = key_with("admin", "read")
    refused = client.post("/v1/keys", json={"name": "x", "scopes": ["read", "unblind"]}, headers=lacking)
    assert refused.status_code == 403
    assert refused.json()["code"] == "scope_not_held"
    assert "unblind" in refused.json()["detail"]
    assert client.post("/v1/keys", json={"name": "x", "scopes": ["read"]}, headers=lacking).status_code == 201


def test_a_revoked_key_is_refused_at_once_and_revoking_again_changes_nothing(client):
    made = create(client).json()
    own = {"Authorization": f"Bearer {made['secret']}"}
    assert client.get("/v1/limits", headers=own).status_code == 200
    first = client.delete(f"/v1/keys/{made['key']['id']}")
    assert first.status_code == 200
    assert first.json()["revoked_at"] is not None
    assert client.get("/v1/limits", headers=own).status_code == 401
    assert client.delete(f"/v1/keys/{made['key']['id']}").json() == first.json()


def test_another_projects_keys_do_not_exist(client, key_with, new_key, new_project):
    other = new_project("other")
    theirs, _ = new_key("read", project_id=other)
    admin = key_with("admin", "read")
    assert client.delete(f"/v1/keys/{theirs.id}", headers=admin).status_code == 404
    assert client.delete(f"/v1/keys/{theirs.id}?project_id={other}", headers=admin).status_code == 404
    assert client.get(f"/v1/keys?project_id={other}", headers=admin).status_code == 404
    body = {"name": "x", "scopes": ["read"], "project_id": other}
    assert client.post("/v1/keys", json=body, headers=admin).status_code == 404
    assert theirs.id not in client.get("/v1/keys", headers=admin).text


def test_an_operator_governs_another_project(client, new_project):
    other = new_project("other")
    made = create(client, project_id=other)
    assert made.json()["key"]["project_id"] == other
    key_id = made.json()["key"]["id"]
    assert [key["id"] for key in client.get(f"/v1/keys?project_id={other}").json()["items"]] == [key_id]
    assert client.delete(f"/v1/keys/{key_id}").status_code == 404
    assert client.delete(f"/v1/keys/{key_id}?project_id={other}").status_code == 200


def test_faulty_requests_name_the_field(client):
    for body, path in (
        ({"scopes": []}, "scopes"),
        ({"scopes": ["everything"]}, "scopes[0]"),
        ({"name": ""}, "name"),
        ({"name": "n" * 201}, "name"),
        ({"kind": "robot"}, "kind"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "2999-01-01T00:00:00"}, "expires_at"),
        ({"expires_at": 5}, "expires_at"),
        ({"secret": "mine"}, "secret"),
    ):
        refused = create(client, **body)
        assert refused.status_code == 422, body
        assert [error["path"] for error in refused.json()["errors"]] == [path]


def test_keys_are_paged(client, new_key):
    made = {new_key("read")[0].id for _ in range(5)}
    seen, cursor = [], ""
    while cursor is not None:
        page = client.get(f"/v1/keys?limit=2{cursor and '&cursor=' + cursor}").json()
        assert len(page["items"]) <= 2
        seen += [key["id"] for key in page["items"]]
        cursor = page["next_cursor"]
    assert len(seen) == len(set(seen)) == 6  # the client's own is the sixth
    assert made < set(seen)


def test_making_and_revoking_is_audited_without_the_secret(client, database, project):
    made = create(client).json()
    client.delete(f"/v1/keys/{made['key']['id']}")
    with database.read() as session:
        events, _ = audit.read_page(session, project)
    assert [(event.action, event.subject) for event in events] == [
        ("key.revoke", made["key"]["id"]),
        ("key.create", made["key"]["id"]),
    ]
    assert all(made["secret"] not in str(event) for event in events)


def test_expiry_is_kept_to_the_second(client):
    soon = datetime.now(UTC) + timedelta(days=1)
    key = create(client, expires_at=soon.isoformat(), scopes=list(SCOPES)).json()["key"]
    assert datetime.fromisoformat(key["expires_at"]) == soon
