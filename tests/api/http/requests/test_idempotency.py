from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from service.api.http.answers.answers import answer
from service.api.http.requests.body import StrictBody
from service.api.http.requests.deps import AnyCaller
from service.api.http.requests.idempotency import RequiredOnce
from service.api.http.serving.housekeeping import KEEP_ANSWERS, forget_old_answers
from service.api.http.serving.route import Route
from service.domain.access import Project
from service.errors import Conflict
from service.store.database import idempotency
from service.store.projects import projects


def post(client, name="lab", key="k1", **headers):
    return client.post("/v1/projects", json={"name": name}, headers={"Idempotency-Key": key, **headers})


def count(client):
    return len(client.get("/v1/projects").json()["items"])


def test_a_repeated_request_answers_the_same_and_writes_once(client):
    first = post(client)
    before = count(client)
    again = post(client)
    assert again.status_code == first.status_code == 201
    assert again.content == first.content
    assert again.headers["content-type"] == first.headers["content-type"]
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert count(client) == before


def test_another_request_under_the_same_key_is_422(client):
    post(client)
    refused = post(client, name="other")
    assert (refused.status_code, refused.json()["code"]) == (422, "idempotency_key_reused")
    assert post(client, name="other", key="k2").status_code == 201


def test_keys_are_scoped_by_api_key_and_route(client, key_with):
    post(client)
    assert post(client, name="second", **key_with("operator")).status_code == 201
    made = client.post("/v1/keys", json={"name": "x", "scopes": ["read"]}, headers={"Idempotency-Key": "k1"})
    assert made.status_code == 201
    assert "idempotency-replayed" not in made.headers


def test_errors_are_not_stored(client):
    client.post("/v1/projects", json={"name": "taken"})
    assert post(client, name="taken").status_code == 409
    assert post(client, name="free").status_code == 201


def test_a_secret_is_not_stored(client, database):
    def make():
        body = {"name": "x", "scopes": ["read"]}
        return client.post("/v1/keys", json=body, headers={"Idempotency-Key": "k"}).json()

    first, again = make(), make()
    assert again == {"key": first["key"], "secret": None}
    with database.engine.connect() as connection:
        stored = connection.exec_driver_sql("SELECT body, headers FROM idempotency").all()
    assert first["secret"] not in str(stored)


def test_unusable_keys_are_422(client):
    for key in ("", "k" * 256, "two words", "\t", "caf\u00e9".encode("latin-1")):
        refused = client.post("/v1/projects", json={"name": "lab"}, headers={"Idempotency-Key": key})
        assert refused.status_code == 422, key
        assert refused.json()["errors"][0]["path"] == "header.Idempotency-Key"


def test_the_longest_key_is_usable(client):
    assert post(client, key="~" * 255).status_code == 201


class Note(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    text: str


NoteBody = Annotated[Note, StrictBody(Note)]


def add_route(app, work):
    """A route that requires a key."""

    def write_note(_caller: AnyCaller, once: RequiredOnce, note: NoteBody) -> Response:
        return once.run(lambda session: work(session, note))

    app.router.routes.append(Route("/notes/{id}", write_note, methods=["POST"]))


def note(client, text, key="k", number=1):
    return client.post(
        f"/notes/{number}", json={"text": text}, headers={"Idempotency-Key": key} if key else {}
    )


def test_a_required_key_is_400_when_missing(app, client):
    add_route(app, lambda _session, note: answer(note))
    refused = note(client, "a", key=None)
    assert (refused.status_code, refused.json()["code"]) == (400, "idempotency_key_required")


def test_method_path_and_body_decide_what_is_the_same(app, client):
    add_route(app, lambda _session, note: answer(note))
    assert note(client, "abc").json() == {"text": "abc"}
    assert note(client, "abc").headers["idempotency-replayed"] == "true"
    assert note(client, "xyz").status_code == 422
    assert note(client, "xyz", number=2).json() == {"text": "xyz"}


def test_a_failed_write_leaves_the_key_free(app, client):
    def fail(_session, note):
        if note.text == "bad":
            raise Conflict("not now")
        return answer(note)

    add_route(app, fail)
    assert note(client, "bad").status_code == 409
    assert note(client, "good").status_code == 200


def test_concurrent_requests_write_once(app, client):
    calls = []
    lock = threading.Lock()

    def work(session, note):
        projects.create(session, Project(id=note.text, name=note.text, created_at=datetime.now(UTC)))
        with lock:
            calls.append(note.text)
        return answer(note, 201)

    add_route(app, work)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: note(client, "once"), range(16)))
    assert len(calls) == 1
    for response in answers:
        assert (response.status_code, response.json().get("code")) in (
            (201, None),
            (409, "idempotency_in_flight"),
        )
    assert note(client, "once").headers["idempotency-replayed"] == "true"


def test_old_answers_are_forgotten(client, app, database):
    post(client, key="old")
    post(client, name="second", key="new")
    with database.write() as session:
        rows = session.connection().exec_driver_sql("SELECT count(*) FROM idempotency").scalar()
        assert rows == 2
        assert idempotency.sweep(session, datetime.now(UTC) - KEEP_ANSWERS) == 0
    forget_old_answers(app.state.services)
    assert post(client, key="old").headers["idempotency-replayed"] == "true"
    with database.write() as session:
        assert idempotency.sweep(session, datetime.now(UTC) + timedelta(seconds=1)) == 2
    assert "idempotency-replayed" not in post(client, name="third", key="old").headers
