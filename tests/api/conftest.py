"""An application on a migrated database, and clients that carry keys."""

from __future__ import annotations

import secrets
import shutil
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import uvicorn
from fastapi import FastAPI
from starlette.testclient import TestClient

from service.app import create_app
from service.config import Settings
from service.domain.access import SCOPES, Key, Project, Scope, new_secret, secret_prefix, secret_sha256
from service.keyring.keyring import Keyring
from service.store.database.engine import Database
from service.store.projects import keys, projects

NOW = datetime(2027, 1, 4, 9, tzinfo=UTC)


def add_project(database: Database, name: str) -> str:
    """A project's id."""
    with database.write() as session:
        return projects.create(session, Project(id=uuid4().hex, name=name, created_at=NOW)).id


def add_key(
    database: Database, project_id: str, scopes: Sequence[Scope] = SCOPES, **fields: Any
) -> tuple[Key, str]:
    """A key of the project and its secret."""
    secret = new_secret(secrets.token_bytes(32))
    key = Key(
        id=uuid4().hex,
        project_id=project_id,
        name="test",
        kind="person",
        scopes=tuple(scopes),
        prefix=secret_prefix(secret),
        created_at=NOW,
        **fields,
    )
    with database.write() as session:
        keys.insert(session, key, secret_sha256(secret))
    return key, secret


def bearer(secret: str) -> dict[str, str]:
    """The header that carries a key."""
    return {"Authorization": f"Bearer {secret}"}


@contextmanager
def on_a_socket(app: FastAPI) -> Iterator[str]:
    """The address of the application on a free port of this machine."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:  # a test that fails stops its server too
        server.should_exit = True
        thread.join()
        listening.close()


@pytest.fixture
def sqlite_url(tmp_path: Path, sqlite_template: Path) -> str:
    """A migrated SQLite database; what modules whose subject is not the database run on."""
    shutil.copyfile(sqlite_template, tmp_path / "forelock.db")
    return f"sqlite:///{tmp_path / 'forelock.db'}"


@pytest.fixture
def settings(tmp_path: Path, database: Database) -> Settings:
    return Settings(
        data_dir=tmp_path,
        database_url=database.url.render_as_string(hide_password=False),
        max_body_bytes=200_000,
        max_expanded_bytes=400_000,
        pool_size=5,
    )


@pytest.fixture
def keyring(tmp_path: Path) -> Keyring:
    return Keyring.create(tmp_path / "keys")


@pytest.fixture
def app(settings: Settings, database: Database, keyring: Keyring) -> FastAPI:
    return create_app(settings, database, keyring)


@pytest.fixture
def project(database: Database) -> str:
    """Id of the project that `client` belongs to."""
    return add_project(database, "default")


@pytest.fixture
def anonymous(app: FastAPI) -> Iterator[TestClient]:
    """A client without a key."""
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def client(anonymous: TestClient, database: Database, project: str) -> TestClient:
    """A client whose key has every scope."""
    anonymous.headers.update(bearer(add_key(database, project)[1]))
    return anonymous


@pytest.fixture
def new_project(database: Database) -> Callable[[str], str]:
    """Makes another project; returns its id."""
    return lambda name: add_project(database, name)


@pytest.fixture
def new_key(database: Database, project: str) -> Callable[..., tuple[Key, str]]:
    """Makes a key with these scopes, in the client's project unless another is named; and its secret."""

    def make(*scopes: Scope, project_id: str = project, **fields: Any) -> tuple[Key, str]:
        return add_key(database, project_id, scopes or SCOPES, **fields)

    return make


@pytest.fixture
def key_with(new_key: Callable[..., tuple[Key, str]]) -> Callable[..., dict[str, str]]:
    """The header of a new key with these scopes."""
    return lambda *scopes, **fields: bearer(new_key(*scopes, **fields)[1])
