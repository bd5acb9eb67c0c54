"""Opening, judging and recording: what may be opened when, and by whom."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.actions.verdicts import verdicts as actions
from service.domain.plans.preregistration import Preregistration
from service.domain.results import sealing
from service.domain.verdicts.judge import Inputs, judge
from service.errors import Conflict, RecordAltered
from service.store.ledger import ledger
from service.store.plans import plan_keys
from service.store.results import batches
from service.store.verdicts import verdicts

from .conftest import BASELINE, CANDIDATE, MOMENT, NOW, World


def open_(world: World, record: Preregistration) -> Inputs:
    private = world.keyring.opener()
    return world.write(actions.inputs, "project", record.id, seal_private=private, now=NOW)


def test_nothing_is_opened_before_the_plan_is_complete(world: World) -> None:
    record = world.locked()
    world.post(record, "A", BASELINE)
    with pytest.raises(Conflict):
        open_(world, record)


def test_what_is_opened_is_what_was_posted(world: World) -> None:
    found = open_(world, world.complete())
    arms = {
        arm: cell.values[:, 0].tolist()
        for (_population, arm, _endpoint), cell in found.rows.outcomes.cells.items()
    }
    assert arms == {"A": BASELINE, "B": CANDIDATE}
    assert "1." not in repr(found.rows.outcomes), "its repr tells no outcome"


def test_a_verdict_is_recorded_once_with_its_leaf_and_the_key(world: World) -> None:
    record = world.complete()
    found, private = judge(open_(world, record)), world.keyring.opener()

    def store() -> object:
        return world.write(actions.record, "project", found, MOMENT, seal_private=private)

    with pytest.raises(Conflict):
        world.write(plan_keys.read_released, record.id)
    assert store() == {"preregistration_id": record.id}
    assert world.read(record).state == "judged"
    assert world.write(verdicts.find, "project", record.id) == found
    assert len(world.write(ledger.read_receipts, record.id, kind="verdict")) == 1
    assert world.write(plan_keys.read_released, record.id)
    with pytest.raises(Conflict) as again:
        store()
    assert again.value.problem_code == "already_judged"


def test_rows_that_are_not_those_of_the_commitment_are_not_opened(world: World) -> None:
    record = world.judged()
    private = world.write(plan_keys.read_released, record.id)
    batch = world.write(batches.get, record.id, 2)
    placed, _salt = sealing.open_batch(batch.sealed, record.plan_sha256, private)
    assert placed.rows.values.tolist() == CANDIDATE
    with pytest.raises(RecordAltered):
        sealing.open_batch(replace(batch.sealed, commitment_sha256="0" * 64), record.plan_sha256, private)
