"""The API and the runner as roles of their own on Postgres: each can do its work, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
import yaml
from psycopg import sql
from starlette.testclient import TestClient

from service.app import create_app
from service.config import Settings
from service.jobs.runner import Runner
from service.keyring.keyring import Keyring
from service.processes.wake import Alarm
from service.store.database import roles, schema
from service.store.database.engine import Database
from service.store.database.every_table import metadata
from tests.api.conftest import add_key, add_project
from tests.journeys.conftest import Service
from tests.journeys.outbox import drain, judge, sender
from tests.journeys.plans import draft, items, lock, locked, post, small_plan
from tests.loopback import serving
from tests.mlflow_server import FakeMlflow
from tests.pools import InlinePool
from tests.postgres import Postgres

N = 10
EXAMPLE = {"both_correct": 9, "only_baseline": 1, "only_candidate": 7, "both_wrong": 4}


OWNER = "forelock_owner"
COMPOSE = Path(__file__).parents[2] / "docker-compose.yml"


class Roles:
    """A migrated database whose owner is no superuser, and who may use it."""

    def __init__(self, server: Postgres) -> None:
        self.server, self.name = server, server.create()
        with self.connect(Postgres.USER) as connection:
            owned = sql.SQL("ALTER DATABASE {} OWNER TO {}")
            connection.execute(owned.format(sql.Identifier(self.name), sql.Identifier(OWNER)))
        owner = self.database(OWNER)
        schema.upgrade(owner.engine)
        owner.dispose()

    def connect(self, role: str) -> psycopg.Connection:
        return psycopg.connect(host=str(self.server.directory), user=role, dbname=self.name, autocommit=True)

    def database(self, role: str) -> Database:
        return Database(f"postgresql+psycopg://{role}@/{self.name}?host={self.server.directory}")


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server with the roles that docker-compose.yml makes."""
    script = yaml.safe_load(COMPOSE.read_text("utf-8"))["configs"]["roles"]["content"]
    found = re.search("<<SQL\n(.*)^SQL$", script, re.DOTALL | re.MULTILINE)
    assert found is not None
    server = Postgres()
    try:
        server.start()
        with psycopg.connect(
            host=str(server.directory), user=Postgres.USER, dbname="postgres", autocommit=True
        ) as admin:
            admin.execute("CREATE DATABASE forelock")
            for statement in found[1].split(";"):
                admin.execute(statement)
        yield server
    finally:
        server.stop()


@pytest.fixture
def apart(server: Postgres) -> Iterator[Roles]:
    """A migrated database with the three roles."""
    made = Roles(server)
    yield made
    server.drop(made.name)


@pytest.fixture
def service(apart: Roles, tmp_path: Path) -> Iterator[Service]:
    """The service, its API and its runner each under its own role."""
    settings = Settings(data_dir=tmp_path, key_cache_seconds=0)
    keyring = Keyring.create(tmp_path / "keys")
    owner, api, runs = (apart.database(role) for role in (OWNER, roles.API, roles.RUNNER))
    project_id = add_project(owner, "default")
    app = create_app(settings, api, Keyring.load(tmp_path / "keys"))
    alarm = Alarm(tmp_path / "runner.sock")
    runner = Runner(database=runs, keyring=keyring, pool=InlinePool(), alarm=alarm, settings=settings)
    with TestClient(app, raise_server_exceptions=False) as client:
        client.headers["Authorization"] = f"Bearer {add_key(owner, project_id)[1]}"
        yield Service(client, api, keyring, settings, runner, project_id, app)
    alarm.close()
    for database in (owner, api, runs):
        database.dispose()


def test_the_api_and_the_runner_do_all_their_work(service: Service) -> None:
    client = service.client
    assert client.get("/health/ready").status_code == 200
    key = client.post("/v1/keys", json={"name": "eval", "scopes": ["results:write"]}).json()["key"]
    assert client.delete(f"/v1/keys/{key['id']}").status_code == 200
    assert client.post("/v1/projects", json={"name": "second"}).status_code == 201
    gone = draft(client, small_plan(N))
    etag = client.get(f"/v1/preregistrations/{gone}").headers["ETag"]
    edited = client.patch(f"/v1/preregistrations/{gone}", json={"title": "New"}, headers={"If-Match": etag})
    assert edited.status_code == 200
    changed = {"If-Match": edited.headers["ETag"]}
    assert client.delete(f"/v1/preregistrations/{gone}", headers=changed).status_code == 204
    prereg_id = locked(client, small_plan(N))
    assert lock(client, prereg_id).status_code == 409  # and the refusal is in the audit log
    assert post(client, prereg_id, "A", items(N), [0.0] * N, key="once").status_code == 201
    assert post(client, prereg_id, "A", items(N), [0.0] * N, key="once").status_code == 201
    path = f"/v1/preregistrations/{prereg_id}"
    assert client.post(f"{path}/batches/1/void", json={"reason": "wrong"}).status_code == 200
    for arm, values in (("A", [0.0] * N), ("B", [1.0] * N)):
        assert post(client, prereg_id, arm, items(N), values).status_code == 201
    assert service.run_jobs() == 1
    for part in (
        "verdict",
        "results",
        "evidence",
        "deviations",
        "receipt",
        "batches",
        "progress",
        "multiverse",
    ):
        answer = client.get(f"{path}/{part}")
        assert answer.status_code == 200, answer.text
    filing = dict.fromkeys(("title", "original", "actual", "reason", "impact"), "Words.")
    filing |= {"direction": "unknown", "outcomes_seen": True}
    assert client.post(f"{path}/deviations", json=filing).status_code == 201
    started = client.post("/v1/tests/mcnemar", json=EXAMPLE, headers={"Prefer": "respond-async"})
    assert started.status_code == 202, started.text
    assert service.run_jobs() == 1
    assert client.get(started.headers["Location"]).json()["state"] == "succeeded"
    again = client.post(
        "/v1/tests/mcnemar", json=EXAMPLE | {"both_wrong": 3}, headers={"Prefer": "respond-async"}
    )
    assert client.delete(again.headers["Location"]).status_code == 204
    opened = locked(client, small_plan(N))
    assert post(client, opened, "A", items(N), [1.0] * N).status_code == 201
    reason = {"reason": "It broke."}
    assert client.post(f"/v1/preregistrations/{opened}/unblinding", json=reason).status_code == 201
    assert service.run_jobs() == 1
    assert client.get(f"/v1/preregistrations/{opened}/results").status_code == 200
    for each in (path, f"/v1/preregistrations/{opened}"):
        assert client.post(f"{each}/erasure", json=reason).status_code == 201
        assert client.get(f"{each}/results").json()["code"] == "erased"
    actions = [each["action"] for each in client.get("/v1/audit?limit=200").json()["items"]]
    assert {"verdict.record", "results.read", "preregistration.erase", "key.revoke"} <= set(actions)
    service.runner._tidied = 0
    service.runner._tidy()


def test_the_runner_sends_what_the_api_wrote(service: Service) -> None:
    client = service.client
    object.__setattr__(service.settings, "outgoing_allow", "127.0.0.1")
    with serving() as receiver, serving() as tracker:
        receiver.answer(204, b"")
        run = FakeMlflow(tracker).add("r1")
        hook = {"url": receiver.url("/"), "events": ["preregistration.locked", "verdict.published"]}
        webhook_id = client.post("/v1/webhooks", json=hook).json()["webhook"]["id"]
        assert client.put("/v1/trackers/mlflow", json={"url": tracker.url("")}).status_code == 200
        prereg_id = locked(client, small_plan(N))
        path = f"/v1/preregistrations/{prereg_id}"
        assert client.put(f"{path}/mlflow-runs/r1").status_code == 200
        assert client.put(f"{path}/links/a", json={"url": "https://example.org/"}).status_code == 200
        assert client.delete(f"{path}/links/a").status_code == 204
        sending = sender(service, service.runner._database)
        assert drain(sending) == 2
        judge(service, prereg_id)
        assert drain(sending) == 2
        assert run.tags["forelock.verdict"] == "supported"
        sent = client.get(f"/v1/webhooks/{webhook_id}/deliveries").json()["items"]
        assert [each["state"] for each in sent] == ["delivered", "delivered"]
        again = f"/v1/webhooks/{webhook_id}/deliveries/{sent[0]['id']}/redelivery"
        assert client.post(again).status_code == 202
        assert drain(sending) == 1
        assert sending.tidy() == 0
        assert client.post(f"/v1/webhooks/{webhook_id}/rotation").status_code == 200
        assert client.delete(f"{path}/mlflow-runs/r1").status_code == 204
        assert client.delete("/v1/trackers/mlflow").status_code == 204
        assert client.delete(f"/v1/webhooks/{webhook_id}").status_code == 204


@pytest.mark.parametrize("role", [roles.API, roles.RUNNER])
def test_neither_can_touch_the_guards_nor_what_is_locked(apart: Roles, role: str) -> None:
    statements = [
        "DROP TRIGGER plans_guard_update ON plans",
        "ALTER TABLE plans DISABLE TRIGGER ALL",
        "CREATE OR REPLACE FUNCTION forelock_guard_head() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "CREATE TABLE mine (n int)",
        "SET session_replication_role = replica",
        "UPDATE plans SET canonical = '{}'",
        "DELETE FROM batches",
        "UPDATE verdicts SET canonical = '{}'",
        "UPDATE keys SET scopes = 'operator'",
        "UPDATE ledger_entries SET leaf = 'x'",
        "DELETE FROM audit_events",
        "UPDATE alembic_version SET version_num = '9999'",
        "TRUNCATE preregistrations CASCADE",
        "INSERT INTO verdicts SELECT '1', '{}', 'x', now()" if role == roles.API else "SELECT * FROM keys",
    ]
    with apart.connect(role) as connection:
        for statement in statements:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


def test_every_table_is_granted_to_somebody(apart: Roles) -> None:
    assert set(roles.GRANTS) == {*metadata.tables, "alembic_version"}
    owner = apart.database(OWNER)
    with owner.read() as session:
        count = sa.text(
            "SELECT count(*) FROM pg_class WHERE relowner <> CAST('forelock_owner' AS regrole) "
            "AND relnamespace = CAST('public' AS regnamespace)"
        )
        assert session.scalar(count) == 0
    owner.dispose()
