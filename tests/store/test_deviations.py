from __future__ import annotations

import pytest
import sqlalchemy as sa

from service.domain.deviations.changes import ExcludedItems
from service.domain.deviations.deviation import Decision
from service.errors import NotFound
from service.store.database.tables import deviations as table
from service.store.plans import preregistrations
from service.store.verdicts import deviations

from .conftest import NOW


def test_a_deviation_comes_back_as_it_was_stored(world):
    with world.database.write() as session:
        record = world.locked(session)
        stored = world.deviate(session, record)
    with world.database.read() as session:
        assert deviations.get(session, record.id, 1) == stored
        assert deviations.read_all(session, record.id) == [stored]
        sha256 = session.scalar(sa.select(table.c.sha256))
    assert sha256 == stored.sha256()


def test_a_change_with_items_comes_back_in_full(world):
    change = ExcludedItems(
        kind="exclude_items", population="p", item_ids=("a", "e\u0301"), dropped_favour="neither"
    )
    assert change.item_ids == ("a", "\u00e9"), "as manifests keep ids"
    with world.database.write() as session:
        record = world.locked(session)
        first = world.deviate(session, record)
        filing = first.filing.model_copy(update={"change": change})
        second = first.model_copy(update={"number": 2, "filing": filing})
        deviations.insert(session, second, world.key.id, NOW)
        assert deviations.get(session, record.id, 2).filing.change == change


def test_deviations_are_listed_newest_first_with_their_decisions_in_order(world):
    with world.database.write() as session:
        record, other = world.locked(session), world.locked(session)
        world.deviate(session, other)
        filed = [world.deviate(session, record) for _ in range(3)]
        second = Decision(
            number=2, classification="reject", note=None, reviewer="ada", gentler=False, decided_at=NOW
        )
        deviations.decide(session, filed[1], second, world.key.id, NOW)
    with world.database.read() as session:
        first, cursor = deviations.read_page(session, record.id, limit=2)
        rest, end = deviations.read_page(session, record.id, limit=2, cursor=cursor)
        assert [each.number for each in first + rest] == [3, 2, 1]
        assert end is None
        made = deviations.read_decisions(session, record.id, [1, 2, 3, 4])
    assert {number: [each.classification for each in found] for number, found in made.items()} == {
        1: ["accept"],
        2: ["accept", "reject"],
        3: ["accept"],
        4: [],
    }


def test_a_deviation_that_is_not_there_is_not_found(world):
    with world.database.write() as session:
        record = world.locked(session)
        with pytest.raises(NotFound, match="no deviation 1"):
            deviations.get(session, record.id, 1)


@pytest.mark.parametrize("state", ["draft", "withdrawn"])
def test_the_database_refuses_deviations_of_drafts_and_withdrawn_records(world, state):
    with world.database.write() as session:
        record = world.draft(session) if state == "draft" else world.locked(session)
        if state == "withdrawn":
            record = preregistrations.move(session, record, "withdrawn", NOW)
    with pytest.raises(sa.exc.IntegrityError), world.database.write() as session:
        world.deviate(session, record)


def test_numbers_have_no_gaps(world):
    with world.database.write() as session:
        record = world.locked(session)
        first = world.deviate(session, record)
    for number in (1, 3):
        with pytest.raises(sa.exc.IntegrityError), world.database.write() as session:
            deviations.insert(session, first.model_copy(update={"number": number}), world.key.id, NOW)
    for number in (1, 3):
        decision = Decision(
            number=number, classification="accept", note=None, reviewer="ada", gentler=False, decided_at=NOW
        )
        with pytest.raises(sa.exc.IntegrityError), world.database.write() as session:
            deviations.decide(session, first, decision, world.key.id, NOW)
