"""Deviations: filed by persons with the facts of the moment, decided by others, computed with after the verdict."""

from __future__ import annotations

import json
from typing import Any

import pytest

from service.actions.verdicts import deviations as actions
from service.actions.verdicts import opening
from service.api.examples.deviations import FILING
from service.domain.access import Key
from service.domain.deviations.deviation import Filing
from service.domain.plans.preregistration import Preregistration
from service.errors import Conflict, Forbidden, ForelockError
from service.store.ledger import ledger

from .conftest import MOMENT, World

SMALLER = {"kind": "n", "population": "p", "n": 5, "dropped_favour": "neither"}
LEFT_OUT = {"kind": "exclude_items", "population": "p", "item_ids": ["item-2", "item-3"]}


def file(
    world: World, record: Preregistration, change: dict[str, Any] | None = None, caller: Key | None = None
) -> actions.Filed:
    filing = Filing.model_validate_json(json.dumps(FILING | {"change": change or SMALLER}))
    by = caller or world.ada
    prepared = world.write(actions.prepare, by, record.id, filing)
    return world.write(actions.file, by, prepared, MOMENT)


def decide(world: World, caller: Key, record: Preregistration, wanted: str, note: str | None = None) -> Any:
    return world.write(actions.decide, caller, record.id, 1, wanted, note, MOMENT)


def test_deviations_are_numbered_ledgered_and_told_in_the_log(world: World) -> None:
    record = world.locked()
    first, second = file(world, record), file(world, record)
    assert (first.deviation.number, second.deviation.number) == (1, 2)
    assert (first.deviation.author, first.deviation.facts.state) == ("ada", "locked")
    assert first.deviation.sha256() in first.receipt.leaf
    assert len(world.write(ledger.read_receipts, record.id, kind="deviation")) == 2
    assert world.audited(record.id)[-2:] == ["deviation.file"] * 2


def test_the_facts_are_those_of_the_moment(world: World) -> None:
    record = world.locked()
    world.post(record, "A", [1, 1, 0])
    facts = file(world, record).deviation.facts
    assert (facts.state, facts.results_received, facts.results_expected) == ("collecting", 3, 20)
    assert not facts.judged
    later = file(world, world.judged()).deviation.facts
    assert (later.results_received, later.judged) == (20, True)


def test_an_eval_job_files_nothing_and_a_draft_takes_nothing(world: World) -> None:
    job = world.key("job", kind="job")
    with pytest.raises(Forbidden):
        file(world, world.locked(), caller=job)
    with pytest.raises(Conflict):
        file(world, world.draft())


def test_a_stricter_decision_is_the_author_s_and_a_gentler_one_another_s(world: World) -> None:
    record = world.locked()
    filed = file(world, record, {"kind": "other"})
    stricter, gentler = "reject", "accept"
    assert filed.deviation.classification == "needs_review"
    with pytest.raises(ForelockError):
        decide(world, world.ada, record, gentler, "It does not matter.")
    _deviation, decisions, receipt = decide(world, world.ada, record, stricter)
    assert [each.gentler for each in decisions] == [False]
    assert decisions[0].sha256() in receipt.leaf
    grace = world.key("grace")
    with pytest.raises(ForelockError):
        decide(world, grace, record, gentler)
    _deviation, decisions, _receipt = decide(world, grace, record, gentler, "It does not matter.")
    assert [(each.number, each.reviewer, each.gentler) for each in decisions] == [
        (1, "ada", False),
        (2, "grace", True),
    ]


def test_a_key_that_the_author_s_key_made_is_the_author_s(world: World) -> None:
    record = world.locked()
    file(world, record, {"kind": "other"})
    with pytest.raises(ForelockError):
        decide(world, world.key("alias", created_by=world.ada.id), record, "accept", "It does not matter.")


def test_what_deviations_do_is_told_after_the_verdict(world: World) -> None:
    record = world.complete()
    file(world, record, LEFT_OUT)
    assert world.write(actions.effects_on_verdict, record) is None
    with pytest.raises(Conflict):
        world.write(opening.open_rows, record)
    judged = world.judge(record)
    found = world.write(actions.effects_on_verdict, judged)
    assert found is not None
    assert [each.n for each in found.as_run.hypotheses] == [8]
    assert world.write(opening.open_rows, judged).plan == judged.plan


def test_a_direction_is_measured_on_rows_that_are_open(world: World) -> None:
    for record, measured in ((world.locked(), False), (world.judged(), True)):
        (found,) = file(world, record, LEFT_OUT).deviation.directions
        assert found.measured is measured
