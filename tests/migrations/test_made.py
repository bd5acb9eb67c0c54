"""What earlier versions stored is brought up to this one, and read and judged by it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.command import upgrade as upgrade_to
from starlette.testclient import TestClient

from service.app import create_app
from service.config import Settings
from service.jobs.runner import Runner
from service.keyring.keyring import Keyring
from service.processes.wake import Alarm
from service.store.database import guards, schema
from service.store.database.engine import Database
from tests.journeys.plans import items, lock, post
from tests.migrations.make import MADE
from tests.pools import InlinePool

VERSIONS = sorted(each.name.removesuffix(".db.gz") for each in MADE.glob("*.db.gz"))
KEPT = ("plans", "batches", "verdicts", "ledger_entries", "deviations", "batch_voids")
"""What is hashed or signed: no migration touches a column of it."""
NOT_ALONE = frozenset({"0002", "0007", "0008", "0009"})
"""Schemas that no version had as its newest: they came together with a later one."""

TRIGGERS = (
    "SELECT tgname, relname, tgenabled = 'A' FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid "
    "WHERE NOT tgisinternal AND relkind = 'r'"
)


def unpack(version: str, data: Path) -> tuple[Path, dict[str, Any]]:
    """The database and the keys of a deployment."""
    said = json.loads((MADE / f"{version}.json").read_text())
    (data / "keys").mkdir(mode=0o700, parents=True)
    for name, text in said["keys"].items():
        (data / "keys" / name).write_text(text)
    (data / "forelock.db").write_bytes(gzip.decompress((MADE / f"{version}.db.gz").read_bytes()))
    return data / "forelock.db", said


def rows(engine: sa.Engine, like: sa.MetaData | None = None) -> dict[str, list[dict[str, Any]]]:
    """Every row by table, in the order of its key; with `like`, the columns that were there alone."""
    there = sa.MetaData()
    there.reflect(engine)
    found = {}
    with engine.connect() as connection:
        for name, table in (like or there).tables.items():
            now = there.tables[name]
            columns = [now.c[column.name] for column in table.columns if column.name in now.c]
            order = [now.c[column.name] for column in table.primary_key]
            chosen = sa.select(*columns).order_by(*order)
            found[name] = [dict(row) for row in connection.execute(chosen).mappings()]
    return found


def as_postgres(value: Any, kind: sa.types.TypeEngine[Any]) -> Any:
    if value is None:
        return sa.null()  # JSON would say `null`
    if isinstance(kind, sa.DateTime):
        return datetime.fromisoformat(value)
    if isinstance(kind, sa.Boolean):
        return bool(value)
    return json.loads(value) if isinstance(kind, sa.JSON) and isinstance(value, str) else value


def copy_to_postgres(source: Path, version: str, target: Database) -> None:
    """The rows of a SQLite database in a Postgres of the same schema, past its guards."""
    with target.engine.begin() as connection:
        config = schema._make_config()
        config.attributes["connection"] = connection
        upgrade_to(config, version)
    opened = sa.create_engine(f"sqlite:///{source}")
    there = sa.MetaData()
    there.reflect(target.engine)
    with opened.connect() as old, target.engine.begin() as connection:
        connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
        standing = connection.exec_driver_sql(TRIGGERS).all()
        for name, table_name, _always in standing:
            connection.exec_driver_sql(f'ALTER TABLE "{table_name}" DISABLE TRIGGER "{name}"')
        for table in there.tables.values():
            connection.execute(sa.delete(table))
            for row in old.exec_driver_sql(f'SELECT * FROM "{table.name}"').mappings():
                connection.execute(
                    sa.insert(table).values({k: as_postgres(v, table.c[k].type) for k, v in row.items()})
                )
            for column in table.columns:
                name = connection.scalar(sa.select(sa.func.pg_get_serial_sequence(table.name, column.name)))
                highest = sa.select(sa.func.max(column)).scalar_subquery()
                if name is not None:
                    connection.execute(sa.select(sa.func.setval(name, sa.func.coalesce(highest, 1))))
        for name, table_name, always in standing:
            how = "ENABLE ALWAYS" if always else "ENABLE"
            connection.exec_driver_sql(f'ALTER TABLE "{table_name}" {how} TRIGGER "{name}"')
    opened.dispose()


def cases() -> Iterator[Any]:
    """The oldest on both databases, where it passes every migration, and the newest; the others with the slow tests."""
    for version in VERSIONS:
        for on in ("sqlite", "postgres"):
            quick = version == VERSIONS[0] or (version == VERSIONS[-1] and on == "sqlite")
            yield pytest.param(version, on, id=f"{version}-{on}", marks=() if quick else pytest.mark.slow)


@pytest.mark.parametrize(("version", "on"), list(cases()))
def test_what_a_version_made_is_read_and_judged_by_this_one(version, on, tmp_path, request) -> None:
    file, said = unpack(version, tmp_path / "data")
    url, name = f"sqlite:///{file}", None
    if on == "postgres":
        server = request.getfixturevalue("postgres")
        name = server.create()
        url = server.url(name)
    database = Database(url)
    try:
        if on == "postgres":
            copy_to_postgres(file, version, database)
        assert schema.read_revision(database.engine) == version
        before = sa.MetaData()
        before.reflect(database.engine)
        had = rows(database.engine)
        schema.upgrade(database.engine)
        assert guards.find_faults(database.engine) == []
        has = rows(database.engine, before)
        assert {name: has[name] for name in KEPT if name in had} == {
            name: had[name] for name in KEPT if name in had
        }
        assert {name: len(found) for name, found in has.items()} == {
            name: len(found) for name, found in had.items()
        }
        read_and_judge(database, tmp_path / "data", said)
    finally:
        database.dispose()
        if name is not None:
            server.drop(name)


def read_and_judge(database: Database, data: Path, said: dict[str, Any]) -> None:
    settings = Settings(data_dir=data, key_cache_seconds=0)
    runner = Runner(
        database=database, keyring=Keyring.load(data / "keys", private=True), pool=InlinePool(),
        alarm=Alarm(data / "runner.sock"), settings=settings,
    )  # fmt: skip
    app = create_app(settings, database, Keyring.load(data / "keys"))
    headers = {"Authorization": f"Bearer {said['api_key']}"}
    with TestClient(app, headers=headers) as client:
        ready = client.get("/health/ready")
        assert ready.status_code == 200, ready.text
        listed = {each["title"]: each for each in client.get("/v1/preregistrations").json()["items"]}
        assert {title: each["state"] for title, each in listed.items()} == {
            "A draft": "draft", "Half collected": "collecting", "Judged": "judged",
        }  # fmt: skip
        path = f"/v1/preregistrations/{said['judged']}"
        verdict = client.get(f"{path}/verdict").json()
        assert_still_says(said["verdict"], verdict)
        assert len(client.get(f"{path}/results").json()["items"]) == 20
        assert client.get(f"{path}/bundle").status_code == 200
        assert lock(client, listed["A draft"]["id"]).status_code == 200
        answer = post(client, said["half"], "B", items(10), [1] * 10)
        assert answer.status_code == 201, answer.text
        while runner.step():
            pass
        judged = client.get(f"/v1/preregistrations/{said['half']}/verdict").json()
        assert [each["outcome"] for each in judged["hypotheses"]] == ["supported"]
        assert client.get("/v1/preregistrations/" + said["half"]).json()["receipt"]["checkpoint"]
    runner.close()


def assert_still_says(then: Any, now: Any) -> None:
    """What was answered then stands in what is answered now."""
    if isinstance(then, dict):
        assert isinstance(now, dict)
        for name, value in then.items():
            assert_still_says(value, now[name])
    elif isinstance(then, list):
        assert len(then) == len(now)
        for one, other in zip(then, now, strict=True):
            assert_still_says(one, other)
    else:
        assert then == now


def test_there_is_one_of_every_schema() -> None:
    """The newest is what this version makes itself."""
    scripts = Path(__file__).parents[2] / "migrations" / "versions"
    numbers = {each.name[:4] for each in scripts.glob("[0-9]*.py")}
    missing = sorted(numbers - NOT_ALONE - {schema.find_newest_revision()} - set(VERSIONS))
    assert not missing, (
        f"tests/migrations/made lacks {', '.join(missing)}: where the code is of that schema "
        f"(`git worktree add ../before main`) run `python -m tests.migrations.make {missing[0]}`, "
        "and copy what it wrote here"
    )
