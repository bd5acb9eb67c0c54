from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
import sqlalchemy as sa

from service.domain.access import Project
from service.errors import ForelockError, InvalidData, Unavailable
from service.store.database import clock, engine, pipeline
from service.store.database.engine import Database
from service.store.database.tables import projects as projects_table
from service.store.plans import preregistrations
from service.store.projects import keys, projects

ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
ON_POSTGRES = pytest.mark.parametrize("database_url", ["postgres"], indirect=True)


class Stop(Exception):
    pass


def test_a_write_is_kept_when_it_ends_well(world):
    with world.database.read() as session:
        assert projects.get(session, "project") == world.project


def test_a_write_that_fails_leaves_nothing(world):
    changed = world.project.model_copy(update={"id": "third", "name": "third"})

    def fail_after_writing():
        with world.database.write() as session:
            projects.create(session, changed)
            raise Stop

    with pytest.raises(Stop):
        fail_after_writing()
    with world.database.read() as session:
        assert session.scalar(sa.select(sa.func.count()).select_from(projects_table)) == 2


def test_a_read_session_keeps_nothing(world):
    with world.database.read() as session:
        keys.touch(session, world.key.id, world.now)
    with world.database.read() as session:
        assert keys.get(session, "project", world.key.id).last_used_at is None


@ON_SQLITE
def test_sqlite_runs_with_its_pragmas(database):
    expected = {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "recursive_triggers": 1,
        "secure_delete": 1,
        "busy_timeout": engine.BUSY_SECONDS * 1000,
    }
    with database.read() as session:
        found = {name: session.scalar(sa.text(f"PRAGMA {name}")) for name in expected}
    assert found == expected


@ON_SQLITE
def test_a_sqlite_write_takes_the_lock_with_its_first_statement(world, monkeypatch):
    """Two writers that read first and write later would otherwise fail in the middle."""
    monkeypatch.setattr(engine, "BUSY_SECONDS", 0)
    other = Database(str(world.database.url))
    with world.database.write() as first, other.write() as second:
        projects.get(first, "project")
        with pytest.raises(Unavailable):
            projects.get(second, "project")
    with world.database.write() as first, other.read() as reader:
        projects.get(first, "project")
        assert projects.get(reader, "project") == world.project
    other.dispose()


def test_no_free_connection_is_said(database_url, monkeypatch):
    monkeypatch.setattr(engine, "BUSY_SECONDS", 0.01)
    small = Database(database_url, pool_size=1)
    with small.read() as first:
        first.execute(sa.select(1))
        with pytest.raises(Unavailable), small.read() as second:
            second.execute(sa.select(1))
    small.dispose()


@ON_POSTGRES
def test_a_connection_that_was_cut_is_said(database):
    with pytest.raises(Unavailable), database.read() as session:
        session.execute(sa.text("SELECT pg_terminate_backend(pg_backend_pid())"))
    with database.read() as session:
        assert session.scalar(sa.select(1)) == 1


@ON_POSTGRES
def test_a_connection_that_was_cut_while_it_was_idle_is_replaced(database, monkeypatch):
    """Every connection counts as idle for long; one that is used again at once is not tried."""
    monkeypatch.setattr(engine, "IDLE_SECONDS", -1.0)
    with database.read() as session:
        pid = session.scalar(sa.text("SELECT pg_backend_pid()"))
    with database.read() as session:
        assert session.scalar(sa.text("SELECT pg_backend_pid()")) == pid
    other = Database(database.url.render_as_string(hide_password=False))
    with other.read() as session:
        session.execute(sa.text("SELECT pg_terminate_backend(:pid, 30000)"), {"pid": pid})
    other.dispose()
    with database.read() as session:
        assert session.scalar(sa.text("SELECT pg_backend_pid()")) != pid


@ON_POSTGRES
def test_a_connection_that_is_cut_among_statements_sent_together_is_said(database):
    def ask():
        with database.write() as session, pipeline.reading(session) as questions:
            questions.ask(sa.select(sa.func.pg_terminate_backend(sa.func.pg_backend_pid())), {}, list)
            questions.ask(sa.select(1), {}, list)

    with pytest.raises(Unavailable):
        ask()


def test_statements_sent_together_see_what_came_before_them(world):
    with world.database.write() as session, pipeline.reading(session) as questions:
        before = questions.ask(sa.select(projects_table.c.name), {}, len)
        projects.create(session, Project(id="third", name="third", created_at=world.now))
        statement = sa.select(projects_table.c.name, projects_table.c.created_at).where(
            projects_table.c.id.in_(sa.bindparam("ids", expanding=True))
        )
        after = questions.ask(statement, {"ids": ["third", "nobody"]}, list)
    assert (before.get(), [tuple(row) for row in after.get()]) == (2, [("third", world.now)])


def test_parameters_sent_together_become_what_their_types_say(world):
    """A time is stored in UTC, whatever its offset, also where it goes past SQLAlchemy."""
    elsewhere = world.now.astimezone(timezone(timedelta(hours=5)))
    statement = sa.select(projects_table.c.id).where(projects_table.c.created_at == sa.bindparam("at"))
    with world.database.write() as session:
        projects.create(session, Project(id="third", name="third", created_at=world.now))
        with pipeline.reading(session) as questions:
            found = questions.ask(statement, {"at": elsewhere}, lambda rows: [row[0] for row in rows])
    assert "third" in found.get()


def test_a_server_that_is_away_is_said(tmp_path):
    away = Database(f"postgresql://nobody@/nothing?host={tmp_path}")
    with pytest.raises(Unavailable), away.read() as session:
        session.execute(sa.select(1))
    away.dispose()


@ON_POSTGRES
def test_a_postgres_write_waits_for_a_lock_and_then_says_so(world, database_url, monkeypatch):
    monkeypatch.setattr(engine, "BUSY_SECONDS", 0.01)
    hasty = Database(database_url)
    with world.database.write() as session:
        record = world.draft(session)
    with world.database.write() as first:
        preregistrations.get(first, "project", record.id, for_update=True)
        with hasty.read() as reader:
            assert preregistrations.get(reader, "project", record.id) == record
        with pytest.raises(Unavailable), hasty.write() as second:
            preregistrations.get(second, "project", record.id, for_update=True)
    hasty.dispose()


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_urls_of_postgres_are_read_alike(scheme):
    database = Database(f"{scheme}://user:secret@host/name")
    assert database.url.drivername == "postgresql+psycopg"
    assert database.dialect == "postgresql"
    assert "secret" not in str(database.url)


@pytest.mark.parametrize(
    "url", ["mysql://host/name", "sqlite://", "sqlite:///:memory:", "postgresql+asyncpg://h/n"]
)
def test_other_urls_are_refused(url):
    with pytest.raises(ForelockError, match="sqlite:///FILE"):
        Database(url)


@pytest.mark.parametrize("name", ["nul \x00", "half \ud800"])
def test_text_that_cannot_be_stored_is_bad_data(world, name):
    odd = world.project.model_copy(update={"id": "x", "name": name})
    with pytest.raises(InvalidData), world.database.write() as session:
        projects.create(session, odd)
    with pytest.raises(InvalidData), world.database.read() as session:
        projects.get(session, name)


def test_any_other_text_comes_back_as_it_was(world):
    name = "naïve 日本語 \u202e 😀 '; DROP TABLE projects; -- %s :x"
    odd = world.project.model_copy(update={"id": "x", "name": name})
    with world.database.write() as session:
        projects.create(session, odd)
    with world.database.read() as session:
        assert projects.get(session, "x").name == name


def test_times_are_kept_to_the_microsecond_in_utc(world):
    moment = datetime(2026, 3, 1, 1, 2, 3, 4, tzinfo=timezone(timedelta(hours=5, minutes=45)))
    with world.database.write() as session:
        projects.create(
            session, world.project.model_copy(update={"id": "x", "name": "x", "created_at": moment})
        )
    with world.database.read() as session:
        stored = projects.get(session, "x").created_at
    assert stored == moment
    assert stored.tzinfo is UTC


def test_a_naive_time_is_refused(world):
    naive = datetime(2026, 3, 1)  # noqa: DTZ001
    with pytest.raises(sa.exc.StatementError, match="aware"), world.database.write() as session:
        projects.create(session, world.project.model_copy(update={"id": "x", "created_at": naive}))


def test_the_clock_is_aware_and_does_not_stand_still_in_a_transaction(database):
    with database.write() as session:
        first, second = clock.read_now(session), clock.read_now(session)
    assert first < second
    assert first.tzinfo is UTC
    assert abs(first - datetime.now(UTC)) < timedelta(minutes=1)
