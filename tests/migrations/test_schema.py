from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.command import upgrade as upgrade_to
from alembic.config import main as alembic_main
from alembic.migration import MigrationContext

from service.domain.ledger import Frontier, leaf_hash
from service.domain.moment import Moment
from service.store.database import guards, schema
from service.store.database.engine import Database
from service.store.database.every_table import metadata
from service.store.ledger import ledger, ledger_tree
from service.store.plans import record_lists
from service.store.projects import keys

ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["sqlite", "postgres"])
def empty(request, tmp_path):
    """A database without any table."""
    if request.param == "sqlite":
        opened = Database(f"sqlite:///{tmp_path / 'empty.db'}")
        yield opened
        opened.dispose()
        return
    server = request.getfixturevalue("postgres")
    name = server.create()
    opened = Database(server.url(name))
    yield opened
    opened.dispose()
    server.drop(name)


def test_an_upgraded_database_has_the_tables_of_the_code(database):
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        differences = compare_metadata(context, metadata)
        assert not differences, f"write the step of it into migrations/versions: {differences}"


def test_checks_and_names_are_those_of_the_code(database):
    """What `compare_metadata` does not see."""
    inspector = sa.inspect(database.engine)
    for table in metadata.sorted_tables:
        checks = {check["name"] for check in inspector.get_check_constraints(table.name)}
        assert checks == {each.name for each in table.constraints if isinstance(each, sa.CheckConstraint)}
        assert inspector.get_pk_constraint(table.name)["name"] == table.primary_key.name
        foreign = {key["name"] for key in inspector.get_foreign_keys(table.name)}
        assert foreign == {key.name for key in table.foreign_key_constraints}


@contextmanager
def at_revision(database: Database, revision: str) -> Iterator[sa.Connection]:
    """A transaction of the database as an earlier release left it."""
    with database.engine.begin() as connection:
        config = schema._make_config()
        config.attributes["connection"] = connection
        upgrade_to(config, revision)
        yield connection


def test_an_upgrade_leaves_every_guard_standing(empty):
    assert schema.read_revision(empty.engine) is None
    schema.upgrade(empty.engine)
    assert schema.read_revision(empty.engine) == schema.find_newest_revision()
    assert guards.find_faults(empty.engine) == []
    schema.require_current(empty.engine)


def test_who_made_a_key_is_found_in_the_audit_log(empty):
    """Keys of earlier releases do not say it themselves."""
    with at_revision(empty, "0004") as connection:
        now = {"created_at": "2027-01-04T09:00:00.000000+00:00"}
        tables = {name: sa.Table(name, sa.MetaData(), autoload_with=connection) for name in LINEAGE}
        if connection.dialect.name == "postgresql":
            now = {"created_at": datetime(2027, 1, 4, 9, tzinfo=UTC)}
        connection.execute(sa.insert(tables["projects"]).values(id="p", name="p", **now))
        for key_id in ("first", "second"):
            row = {
                "id": key_id,
                "project_id": "p",
                "name": "n",
                "kind": "person",
                "scopes": "read",
                "prefix": "x",
            }
            connection.execute(sa.insert(tables["keys"]).values(**row, secret_sha256=key_id, **now))
        event = {
            "project_id": "p",
            "key_id": "first",
            "action": "key.create",
            "subject": "second",
            "facts": {},
        }
        connection.execute(sa.insert(tables["audit_events"]).values(**event, **now))
    schema.upgrade(empty.engine)
    with empty.read() as session:
        assert keys.get(session, "p", "second").created_by == "first"
        assert keys.get(session, "p", "first").created_by is None
    assert guards.find_faults(empty.engine) == []


@pytest.mark.parametrize("size", [0, 1, 2, 5, 8, 23])
def test_a_log_of_an_earlier_release_gets_the_hashes_of_its_subtrees(empty, size):
    """Its leaves and its head stay; whatever is appended later goes on from them."""
    with at_revision(empty, "0005") as connection:
        names = ("ledger_entries", "ledger_head")
        tables = {name: sa.Table(name, sa.MetaData(), autoload_with=connection) for name in names}
        now = "2027-01-04T09:00:00.000000+00:00"
        made = {"created_at": datetime.fromisoformat(now) if connection.dialect.name == "postgresql" else now}
        log = Frontier()
        for sequence in range(size):
            leaf = leaf_hash(str(sequence).encode())
            row = {"sequence": sequence, "kind": "close", "leaf": str(sequence), "leaf_sha256": leaf.hex()}
            connection.execute(sa.insert(tables["ledger_entries"]).values(**row, **made))
            log = log.append(leaf)
            head = {"size": log.size, "peaks": log.to_bytes()}
            connection.execute(sa.update(tables["ledger_head"]).values(**head))
    schema.upgrade(empty.engine)
    with empty.write() as session:
        assert ledger.read_head(session) == log
        assert ledger_tree.read_root(session, size) == log.root()
        for _ in range(3):
            ledger.append(session, None, "close", {}, Moment(datetime(2027, 1, 5, tzinfo=UTC)))
        assert ledger_tree.read_root(session, size + 3) == ledger.read_head(session).root()
        assert ledger_tree.read_root(session, size) == log.root()
    assert guards.find_faults(empty.engine) == []


def test_records_of_an_earlier_release_are_found_by_their_words(empty):
    with at_revision(empty, "0010") as connection:
        made = {"created_at": "2027-01-04T09:00:00.000000+00:00"}
        if connection.dialect.name == "postgresql":
            made = {"created_at": datetime(2027, 1, 4, 9, tzinfo=UTC)}
        names = ("projects", "preregistrations")
        tables = {name: sa.Table(name, sa.MetaData(), autoload_with=connection) for name in names}
        connection.execute(sa.insert(tables["projects"]).values(id="p", name="p", **made))
        whole = '{"title":"Caching Helps","hypotheses":[{"id":"H1","statement":"Fewer MISSES"}]}'
        for name, draft in (("whole", whole), ("empty", "{}"), ("broken", '{"hypotheses":[3]}')):
            row = {"id": name, "project_id": "p", "state": "draft", "revision": 1, "version": 1}
            connection.execute(
                sa.insert(tables["preregistrations"]).values(**row, draft=draft, acknowledged=[], **made)
            )
    schema.upgrade(empty.engine)
    with empty.read() as session:
        for words, found in (("helps misses h1", ["whole"]), ("3", []), ("broken", ["broken"])):
            lines, _cursor = record_lists.read_page(session, "p", search=words)
            assert [each.id for each in lines] == found


LINEAGE = ("projects", "keys", "audit_events")


def test_a_second_upgrade_changes_nothing(database):
    schema.upgrade(database.engine)
    schema.require_current(database.engine)


def test_upgrades_at_once_do_it_once(empty):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(schema.upgrade, [empty.engine] * 4))
    schema.require_current(empty.engine)
    assert guards.find_faults(empty.engine) == []


def test_a_failed_upgrade_leaves_nothing(empty, monkeypatch):
    def break_off(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(Path, "read_text", break_off)
    with pytest.raises(OSError, match="disk"):
        schema.upgrade(empty.engine)
    assert sa.inspect(empty.engine).get_table_names() == []


def test_an_empty_database_names_the_command(empty):
    with pytest.raises(schema.SchemaUnknown, match="run `forelock init`"):
        schema.require_current(empty.engine)


def test_a_newer_database_is_left_alone(database):
    with database.write() as session:
        session.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    for act in (schema.require_current, schema.upgrade):
        with pytest.raises(schema.SchemaUnknown, match=r"9999.*forelock migrate"):
            act(database.engine)


def test_an_older_database_names_the_command(database, monkeypatch):
    monkeypatch.setattr(schema, "find_newest_revision", lambda: "9999")
    with pytest.raises(schema.SchemaUnknown, match=r".*9999.*forelock migrate"):
        schema.require_current(database.engine)


def test_the_command_line_of_alembic_agrees(database_url, monkeypatch):
    """`alembic` finds its settings in pyproject.toml, and sees nothing to migrate."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("FORELOCK_DATABASE_URL", database_url)
    for command in ("upgrade head", "check"):
        alembic_main(command.split())


def test_the_command_line_of_alembic_upgrades(empty, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("FORELOCK_DATABASE_URL", empty.url.render_as_string(hide_password=False))
    alembic_main(["upgrade", "head"])
    schema.require_current(empty.engine)
    assert guards.find_faults(empty.engine) == []
    with pytest.raises(SystemExit, match="--sql"):
        alembic_main(["upgrade", "head", "--sql"])


def test_there_is_no_way_back(tmp_path):
    scripts = list((ROOT / "migrations" / "versions").glob("*.py"))
    assert scripts
    for script in scripts:
        assert "NotImplementedError" in script.read_text("utf-8").split("def downgrade", 1)[1]
