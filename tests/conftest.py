"""Databases for tests: SQLite as a file, and a Postgres of our own on a socket in a short directory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from service.store import schema
from service.store.engine import Database
from tests.postgres import Postgres

# A loaded machine is no fault of the code. Where CI is set, every run draws the same examples.
settings.register_profile(
    "forelock",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
    print_blob=True,
)
settings.load_profile("forelock")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One server for the tests of this process, started when the first one asks."""
    server = Postgres()
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def postgres_template(postgres: Postgres) -> str:
    """An empty migrated database to copy from."""
    name = postgres.create()
    _migrate(postgres.url(name))
    return name


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty migrated database to copy from."""
    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    _migrate(f"sqlite:///{path}")
    return path


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a migrated database that is this test's own, once on each kind of database."""
    if request.param == "sqlite":
        path = tmp_path / "forelock.db"
        shutil.copyfile(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite:///{path}"
        return
    template = request.getfixturevalue("postgres_template")
    server: Postgres = request.getfixturevalue("postgres")
    name = server.create(template)
    yield server.url(name)
    server.drop(name)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A migrated database that is this test's own, once on each kind of database."""
    opened = Database(database_url)
    yield opened
    opened.dispose()


def _migrate(url: str) -> None:
    database = Database(url)
    try:
        schema.upgrade(database.engine)
    finally:
        database.dispose()
