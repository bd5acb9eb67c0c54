from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from sqlalchemy import event
from starlette.responses import Response
from starlette.testclient import TestClient

from service.api.http.answers.answers import answer
from service.api.http.requests.deps import AnyCaller, Shared
from service.api.http.serving.route import Route
from service.app import create_app
from service.domain.access import Project
from service.errors import Conflict, Unavailable
from service.store.database.engine import Database
from service.store.projects import projects


def names(client):
    return {project["name"] for project in client.get("/v1/projects").json()["items"]}


def fail_commits(database, error):
    def fail(_connection):
        raise error

    event.listen(database.engine, "commit", fail)
    return lambda: event.remove(database.engine, "commit", fail)


def test_a_failing_commit_is_5xx_and_stores_nothing(client, database):
    mend = fail_commits(database, RuntimeError("disk full: canary"))
    response = client.post("/v1/projects", json={"name": "lost"})
    mend()
    assert response.status_code == 500
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["code"] == "internal_error"
    assert "canary" not in response.text
    assert "lost" not in names(client)


def test_a_commit_that_lost_a_race_is_503_with_retry_after(client, database):
    mend = fail_commits(database, Unavailable("the database is busy"))
    response = client.post("/v1/projects", json={"name": "lost"}, headers={"Idempotency-Key": "k"})
    mend()
    assert (response.status_code, response.json()["code"]) == (503, "unavailable")
    assert response.headers["retry-after"] == "1"
    again = client.post("/v1/projects", json={"name": "lost"}, headers={"Idempotency-Key": "k"})
    assert again.status_code == 201
    assert "idempotency-replayed" not in again.headers


def test_the_commit_comes_before_the_response(app, client, database):
    """What the response says is stored is stored when its first byte leaves."""
    order = []
    event.listen(database.engine, "commit", lambda _connection: order.append("commit"))

    class Telling(Response):
        async def __call__(self, scope, receive, send):
            order.append("response")
            await super().__call__(scope, receive, send)

    def write(shared: Shared) -> Response:
        with shared.database.write() as session:
            projects.create(session, Project(id="p", name="p", created_at=datetime.now(UTC)))
            return Telling("{}")

    app.router.routes.append(Route("/telling", write, methods=["POST"]))
    assert client.post("/telling").status_code == 200
    assert order[-2:] == ["commit", "response"]


def test_an_error_after_a_write_stores_nothing(app, client):
    def write(shared: Shared) -> Response:
        with shared.database.write() as session:
            projects.create(session, Project(id="p", name="half", created_at=datetime.now(UTC)))
            raise Conflict("changed my mind")

    app.router.routes.append(Route("/half", write, methods=["POST"]))
    assert client.post("/half").status_code == 409
    assert "half" not in names(client)


def test_more_writers_than_connections_all_get_through(settings, database_url, keyring, key_with):
    """No writer holds a connection while it waits for a thread, of which there are as many."""
    number = itertools.count()

    def write(_caller: AnyCaller, shared: Shared) -> Response:
        name = f"w{next(number)}"
        with shared.database.write() as session:
            made = projects.create(session, Project(id=name, name=name, created_at=datetime.now(UTC)))
        return answer(made, 201)

    narrow = Database(database_url, pool_size=settings.pool_size)
    app = create_app(settings, narrow, keyring)
    app.router.routes.append(Route("/many", write, methods=["POST"]))
    with (
        TestClient(app, headers=key_with("read")) as client,
        ThreadPoolExecutor(6 * settings.pool_size) as pool,
    ):
        statuses = list(pool.map(lambda _: client.post("/many").status_code, range(60)))
    assert statuses == [201] * 60
    with narrow.read() as session:
        assert len(projects.read_page(session, limit=200)[0]) == 61
    narrow.dispose()
