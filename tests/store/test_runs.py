from __future__ import annotations

import pytest
import sqlalchemy as sa

from service.store.ledger import ledger
from service.store.results import runs

NAMES = [f"run-{number}" for number in range(1, 6)]


@pytest.fixture
def bound(world):
    """A record with five runs, among batches and the runs of another record."""
    with world.database.write() as session:
        record, other = world.locked(session), world.locked(session)
        for name in NAMES:
            world.bind(session, other, name)
            world.bind(session, record, name)
            world.batch(session, record)
    return record


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_the_receipts_of_every_page_are_those_of_its_runs(world, bound, limit):
    seen, cursor = [], None
    with world.database.read() as session:
        leaves = {entry.body["run"]: entry.receipt for entry in ledger.read_entries(session, bound.id, "run")}
        while cursor is not None or not seen:
            shown, cursor = runs.read_page(session, bound.id, cursor=cursor, limit=limit)
            found = runs.read_receipts(session, bound.id, shown)
            assert found == [leaves[each.run] for each in shown]
            seen += [each.run for each in shown]
    assert seen == NAMES[::-1]


def test_a_page_reads_no_more_leaves_than_it_shows(world, bound):
    with world.database.read() as session:
        shown, _ = runs.read_page(session, bound.id, limit=2)
        statements = []
        sa.event.listen(
            session.connection(),
            "before_cursor_execute",
            lambda _connection, _cursor, text, values, *_rest: statements.append((text, values)),
        )
        runs.read_receipts(session, bound.id, shown)
        ((text, values),) = statements
        rows = session.connection().exec_driver_sql(text, values).all()
    assert len(rows) == len(shown) == 2


def test_no_runs_have_no_receipts(world, bound):
    with world.database.read() as session:
        assert runs.read_receipts(session, bound.id, []) == []
