"""The whole service in one process: the API over its test client, and a runner that steps when told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from service.api.calculators.pool import Calculators
from service.app import create_app
from service.config import Settings
from service.domain.access import SCOPES
from service.jobs.runner import Runner
from service.keyring.keyring import Keyring
from service.processes.wake import Alarm
from service.store.database.engine import Database
from tests.api.conftest import add_key, add_project
from tests.calculating import computing_by
from tests.loopback import Loopback, serving
from tests.pools import InlinePool

only_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""Where no statement is asked that another test does not ask of both."""


@dataclass
class Service:
    """A running service as a test uses it."""

    client: TestClient
    database: Database
    keyring: Keyring
    settings: Settings
    runner: Runner
    project_id: str
    app: FastAPI

    def key(self, *scopes: str, project_id: str | None = None) -> str:
        """A new API key with these scopes (all of them when none is named)."""
        held = tuple(scope for scope in SCOPES if scope in scopes or not scopes)
        _key, secret = add_key(self.database, project_id or self.project_id, held)
        return secret

    def project(self, name: str) -> str:
        """A new project."""
        return add_project(self.database, name)

    def read(self, path: str) -> httpx.Response:
        """What the service answers about a record; the path begins with its id."""
        answer = self.client.get(f"/v1/preregistrations/{path}")
        assert answer.status_code == 200, answer.text
        return answer

    def run_jobs(self) -> int:
        """Let the runner work until nothing is queued; returns how many jobs it took."""
        count = 0
        while self.runner.step():
            count += 1
        return count


@pytest.fixture
def service(database: Database, tmp_path: Path, calculators: Calculators) -> Iterator[Service]:
    """The service on each kind of database, with one project and a client that holds every scope."""
    settings = Settings(data_dir=tmp_path, key_cache_seconds=0, artefacts="directory")
    keyring = Keyring.create(tmp_path / "keys")
    app = computing_by(calculators, create_app(settings, database, Keyring.load(tmp_path / "keys")))
    runner = Runner(
        database=database,
        keyring=keyring,
        pool=InlinePool(),
        alarm=Alarm(tmp_path / "runner.sock"),
        settings=settings,
    )
    with TestClient(app, raise_server_exceptions=False) as client:
        built = Service(client, database, keyring, settings, runner, "", app)
        built.project_id = built.project("default")
        client.headers["Authorization"] = f"Bearer {built.key()}"
        yield built
    runner.close()


@pytest.fixture
def loopback_may_be_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service may call addresses of this machine."""
    monkeypatch.setenv("FORELOCK_OUTGOING_ALLOW", "127.0.0.1")


@pytest.fixture
def receiver() -> Iterator[Loopback]:
    """Takes every message that is posted to it."""
    with serving() as server:
        server.answer(204, b"")
        yield server
