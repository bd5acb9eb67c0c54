"""Striking a batch: its cells are free again, and it stays on record."""

from __future__ import annotations

import pytest

from service.actions.results.voids import void
from service.errors import Conflict, NotFound
from service.store.results import batches

from .conftest import MOMENT, World


def strike(world: World, record: object, batch: int) -> object:
    return world.write(void, world.ada, record, batch, "the wrong arm", MOMENT)


def test_the_cells_of_a_struck_batch_take_other_results(world: World) -> None:
    record = world.locked()
    world.post(record, "A", [1, 1, 1])
    world.post(record, "A", [1], item_ids=["item-5"])
    strike(world, world.read(record), 1)
    again = world.post(record, "A", [0, 0])
    assert (again.batch, again.received) == (3, 3)
    shown, _cursor = world.write(batches.read_page, record.id)
    assert [(each.batch, each.void_reason) for each in shown] == [(3, None), (2, None), (1, "the wrong arm")]
    assert "batch.void" in world.audited(record.id)


def test_nothing_is_struck_before_the_first_batch_nor_after_the_last(world: World) -> None:
    for record in (world.locked(), world.complete()):
        with pytest.raises(Conflict):
            strike(world, record, 1)


def test_a_batch_is_struck_once_and_has_to_be_there(world: World) -> None:
    record = world.locked()
    world.post(record, "A", [1])
    record = world.read(record)
    with pytest.raises(NotFound):
        strike(world, record, 2)
    strike(world, record, 1)
    with pytest.raises(Conflict):
        strike(world, record, 1)
