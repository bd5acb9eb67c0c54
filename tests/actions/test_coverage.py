"""Coverage is what the batches hold: a record whose coverage says otherwise does not complete."""

from __future__ import annotations

import pytest

from service.actions.results import coverage as actions
from service.domain.plans.preregistration import Preregistration
from service.errors import RecordAltered
from service.store.jobs import jobs
from service.store.results import coverage

from .conftest import BASELINE, CANDIDATE, MOMENT, World


def forget(world: World, record: Preregistration, arm: str, bitmap: bytes, received: int) -> None:
    """Say something else of an arm than its batches do."""
    world.write(coverage.save, record.id, ("p", arm, "accuracy", 1), bitmap, received)


def collecting(world: World) -> Preregistration:
    record = world.locked()
    world.post(record, "A", [1, 0, 1])
    return world.read(record)


def test_what_the_batches_hold_is_read_from_them(world: World) -> None:
    record = collecting(world)
    found = world.write(actions.read_held_cells, record)
    assert (found.received, found.twice) == (3, frozenset())
    world.write(actions.require_covered, record, full=False)
    with pytest.raises(RecordAltered):
        world.write(actions.require_covered, record, full=True)


@pytest.mark.parametrize(("bitmap", "received"), [(b"\x03\x00", 2), (b"\x0f\x00", 4), (b"\x0b\x00", 3)])
def test_coverage_that_says_otherwise_is_refused_and_made_anew(
    world: World, bitmap: bytes, received: int
) -> None:
    record = collecting(world)
    forget(world, record, "A", bitmap, received)
    with pytest.raises(RecordAltered):
        world.write(actions.require_covered, record, full=False)
    made = world.write(actions.rebuild, record.id, MOMENT)
    assert (made.changed, made.received, made.expected, made.complete) == (1, 3, 20, False)
    world.write(actions.require_covered, record, full=False)
    assert world.write(actions.rebuild, record.id, MOMENT).changed == 0


def test_a_record_that_turns_out_to_be_full_is_completed(world: World) -> None:
    """Its first arm was forgotten before the last batch came, which therefore did not complete it."""
    record = world.locked()
    world.post(record, "A", BASELINE)
    forget(world, record, "A", bytes(2), 0)
    world.post(record, "B", CANDIDATE)
    assert world.read(record).state == "collecting"
    made = world.write(actions.rebuild, record.id, MOMENT)
    assert (made.changed, made.complete) == (1, True)
    assert world.read(record).state == "complete"
    assert world.write(jobs.find_latest, "project", kind="verdict", subject=record.id) is not None


def test_results_that_came_twice_keep_a_record_open(world: World) -> None:
    record = collecting(world)
    forget(world, record, "A", bytes(2), 0)
    world.post(record, "A", [1])
    made = world.write(actions.rebuild, record.id, MOMENT)
    assert (made.twice, made.received, made.complete) == (frozenset({2}), 3, False)
    with pytest.raises(RecordAltered):
        world.write(actions.require_covered, world.read(record), full=False)
