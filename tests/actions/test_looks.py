"""Looks before the end: which one is due, what it leaves, and what a stop does."""

from __future__ import annotations

from typing import Any

import pytest

from service.actions.results import look_requests as requests
from service.actions.verdicts import looks as actions
from service.domain.plans.items.unit_order import in_order
from service.domain.plans.preregistration import Preregistration
from service.errors import Conflict
from service.store.jobs import jobs
from service.store.ledger import ledger
from service.store.plans.populations import read_manifests
from tests.journeys.plans import items, small_plan

from .conftest import MOMENT, World

pytestmark = pytest.mark.any_database

N = 80
QUARTER = 20


def planned(kind: str = "group_sequential") -> dict[str, Any]:
    """Four looks at 80 items, or readings at any time."""
    value = small_plan(N)
    value["populations"][0]["order_seed"] = 5
    value["hypotheses"][0]["rule"] = "delta >= 2 pp and seq.p_value < 0.05"
    value["hypotheses"][0].pop("equivalence", None)
    method = "group_sequential" if kind == "group_sequential" else "e_process"
    value["tests"] = [{"id": "seq", "test": "sequential", "version": 1, "parameters": {"method": method}}]
    return value | {"stopping": {"kind": kind} | ({"looks": 4} if kind == "group_sequential" else {})}


def post(world: World, record: Preregistration, first: int, last: int, *, wins: int) -> Preregistration:
    """Both arms of a part of the order; the candidate is right on all, the baseline wrong on `wins` of them."""
    population = record.plan.population("p")
    (manifest,) = world.write(read_manifests, record).values()
    assert population is not None
    ordered = [items(N)[position] for position in in_order(population, manifest)[first:last].tolist()]
    baseline = [int(place >= wins) for place in range(len(ordered))]
    world.post(record, "A", baseline, item_ids=ordered)
    world.post(record, "B", [1] * len(ordered), item_ids=ordered)
    return world.read(record)


def look(world: World, record: Preregistration) -> tuple[actions.LookResult, dict[str, Any]]:
    """Take what is due, as the runner does."""
    inputs = world.write(actions.inputs, record, seal_private=world.keyring.opener())
    found = actions.compute(inputs)
    answer = world.write(actions.record, record, found, MOMENT)
    return found, dict(answer)


def test_a_look_is_due_when_its_items_are_in_along_the_order(world: World) -> None:
    record = world.locked(planned())
    record = post(world, record, 1, QUARTER, wins=8)
    assert world.write(requests.units_in, record) == {"p": 0}
    assert world.write(requests.due, record) is None
    with pytest.raises(Conflict) as refused:
        world.write(requests.ask, record, MOMENT)
    assert refused.value.problem_code == "look_not_due"
    record = post(world, record, 0, 1, wins=0)
    assert world.write(requests.due, record) == 1
    queued = world.write(jobs.find_latest, "project", kind="look", subject=f"{record.id}#1")
    assert queued is not None
    assert world.write(requests.ask, record, MOMENT).id == queued.id


def test_a_look_that_goes_on_is_on_record_and_tells_nothing_else(world: World) -> None:
    record = post(world, world.locked(planned()), 0, QUARTER, wins=0)
    found, answer = look(world, record)
    assert (found.decisions, found.stop) == (((1, "continue"),), False)
    assert answer == {
        "preregistration_id": record.id, "stop": False, "looks": [{"look": 1, "decision": "continue"}],
    }  # fmt: skip
    (taken,) = world.write(requests.read_taken, record)
    assert set(taken) == {"preregistration_id", "look", "decision", "units"}
    assert world.read(record).state == "collecting"
    assert world.write(requests.due, world.read(record)) is None


def test_a_look_that_stops_completes_the_record_and_queues_its_verdict(world: World) -> None:
    record = post(world, world.locked(planned()), 0, QUARTER, wins=QUARTER)
    found, _answer = look(world, record)
    assert found.stop
    assert world.read(record).state == "complete"
    assert world.write(jobs.find_latest, "project", kind="verdict", subject=record.id) is not None
    assert world.judge(world.read(record)).state == "judged"


def test_a_look_that_another_runner_has_taken_stays_as_it_is(world: World) -> None:
    record = post(world, world.locked(planned()), 0, QUARTER, wins=0)
    found, _answer = look(world, record)
    again = world.write(actions.record, record, found, MOMENT)
    assert again["looks"] == []
    assert len(world.write(ledger.read_receipts, record.id, kind="look")) == 1


def test_a_plan_is_read_at_any_time_where_it_says_so(world: World) -> None:
    record = world.locked(planned("anytime_valid"))
    with pytest.raises(Conflict) as early:
        world.write(requests.monitor, record, MOMENT)
    assert early.value.problem_code == "look_not_due"
    record = post(world, record, 0, 3, wins=0)
    assert world.write(requests.monitor, record, MOMENT).kind == "monitor"
    found, answer = look(world, record)
    assert found.reading is not None
    assert answer["reading"]["units"] == {"p": 3}


def test_a_plan_without_looks_is_neither_looked_at_nor_read(world: World) -> None:
    record = world.locked()
    for act, code in ((requests.ask, "no_looks"), (requests.monitor, "not_readable")):
        with pytest.raises(Conflict) as refused:
            world.write(act, record, MOMENT)
        assert refused.value.problem_code == code


def test_rows_that_a_look_has_seen_are_not_struck(world: World) -> None:
    record = post(world, world.locked(planned()), 0, QUARTER, wins=0)
    population = record.plan.population("p")
    (manifest,) = world.write(read_manifests, record).values()
    assert population is not None
    ordered = in_order(population, manifest)
    world.write(requests.require_unread, record, "p", ordered[:1])
    look(world, record)
    with pytest.raises(Conflict) as refused:
        world.write(requests.require_unread, record, "p", ordered[QUARTER - 1 : QUARTER + 1])
    assert refused.value.problem_code == "already_looked_at"
    world.write(requests.require_unread, record, "p", ordered[QUARTER:])
