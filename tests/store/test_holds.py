"""What holding a record keeps others from, and what not: `docs/contributing/locking.md`, second in its order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from service.store.database.pipeline import reading
from service.store.plans import preregistrations

ON_POSTGRES = pytest.mark.parametrize("database_url", ["postgres"], indirect=True)


def ask(session, *ids, wait):
    with reading(session) as questions:
        held = preregistrations.ask(questions, "project", ids, wait=wait)
    return held.get()


HOLDERS = {
    "one, to be read": lambda session, record: preregistrations.get(
        session, "project", record.id, for_update=True
    ),
    "one, to be moved": lambda session, record: preregistrations.move(
        session, record, "collecting", record.locked_at
    ),
    "several, waiting": lambda session, record: ask(session, record.id, wait=True),
    "several, those that are free": lambda session, record: ask(session, record.id, wait=False),
}


def free(database, strength):
    """The records that another transaction could lock so now, without waiting."""
    with database.engine.connect() as connection:
        query = f"SELECT id FROM preregistrations FOR {strength} SKIP LOCKED"
        return set(connection.scalars(sa.text(query)))


def waits(database):
    with database.read() as session:
        return session.scalar(sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")) > 0


@ON_POSTGRES
@pytest.mark.parametrize("holder", HOLDERS)
def test_a_held_record_takes_no_second_holder_and_still_takes_rows_that_name_it(world, holder):
    """A foreign key is checked under FOR KEY SHARE, which FOR UPDATE would keep waiting: a lock on the whole row
    would hold up, and might deadlock with, everybody who adds a line about the record without holding it."""
    with world.database.write() as session:
        held, other = world.locked(session), world.locked(session)
    with world.database.write() as session:
        HOLDERS[holder](session, held)
        assert free(world.database, "NO KEY UPDATE") == {other.id}
        assert free(world.database, "SHARE") == {other.id}
        assert free(world.database, "KEY SHARE") == {held.id, other.id}


@ON_POSTGRES
def test_several_records_are_held_in_the_order_of_their_ids(world):
    """Two that hold the same records, each in another order, would wait for each other."""
    world.numbers = iter([4, 3, 2, 1])  # as they lie in the table
    with world.database.write() as session:
        r4, r3, r2, r1 = (world.locked(session) for _ in range(4))

    def hold():
        with world.database.write() as session:
            for scan in (
                "indexscan",
                "indexonlyscan",
                "bitmapscan",
            ):  # an index would have them in order anyway
                session.execute(sa.text(f"SET LOCAL enable_{scan} = off"))
            return set(ask(session, r1.id, r3.id, r4.id, wait=True).records)

    with ThreadPoolExecutor(1) as pool:
        with world.database.write() as session:
            preregistrations.get(session, "project", r3.id, for_update=True)
            holding = pool.submit(hold)
            while not waits(world.database):
                assert not holding.done()
            assert free(world.database, "NO KEY UPDATE") == {r2.id, r4.id}
        assert holding.result() == {r1.id, r3.id, r4.id}


@ON_POSTGRES
def test_who_does_not_wait_is_told_what_others_hold(world):
    with world.database.write() as session:
        ours, theirs = world.locked(session), world.locked(session)
    with world.database.write() as first, world.database.write() as second:
        preregistrations.get(first, "project", theirs.id, for_update=True)
        held = ask(second, ours.id, theirs.id, wait=False)
        assert (held.records, held.elsewhere) == ({ours.id: ours}, {theirs.id})


def test_records_of_other_projects_are_not_held(world):
    with world.database.write() as session:
        ours, theirs = world.locked(session), world.locked(session, project_id="other")
    for wait in (True, False):
        with world.database.write() as session:
            held = ask(session, ours.id, theirs.id, wait=wait)
            assert (held.records, held.elsewhere) == ({ours.id: ours}, set())
            if world.database.dialect == "postgresql":
                assert free(world.database, "NO KEY UPDATE") == {theirs.id}
