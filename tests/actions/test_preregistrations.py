"""A draft and its items, what the lock asks for, and what it leaves behind."""

from __future__ import annotations

import pytest

from service.actions.plans import preregistrations as actions
from service.domain.results import sealing
from service.errors import InvalidData, NotFound, PreconditionFailed, TooMany
from service.store.ledger import ledger
from service.store.plans import plan_keys, populations
from tests.journeys.plans import items, small_plan

from .conftest import MOMENT, NOW, World


def test_a_project_has_so_many_drafts(world: World) -> None:
    locked, _draft = world.locked(), world.draft()
    world.write(actions.require_room, locked.project_id, 2)
    world.write(actions.require_room, "other", 1)
    with pytest.raises(TooMany, match="1 drafts"):
        world.write(actions.require_room, locked.project_id, 1)


def test_another_plan_keeps_the_items_of_populations_it_still_has(world: World) -> None:
    record = world.draft()
    plan = record.plan.model_copy(update={"title": "Another"})
    changed = world.write(actions.replace_plan, world.ada, record, plan, now=NOW)
    assert (changed.revision, changed.plan.title) == (record.revision + 1, "Another")
    assert set(world.write(populations.read_facts, record.id)) == {"p"}
    world.write(
        actions.replace_plan, world.ada, changed, plan.model_copy(update={"populations": ()}), now=NOW
    )
    assert world.write(populations.read_facts, record.id) == {}


def test_other_items_are_an_edit_and_the_same_ones_are_none(world: World) -> None:
    record = world.draft()
    assert world.write(world.put_items, record, "p", items(10)).revision == record.revision
    assert world.write(world.put_items, record, "p", reversed(items(10))).revision == record.revision + 1


def test_items_are_of_a_population_that_the_plan_has(world: World) -> None:
    with pytest.raises(NotFound, match="it has 'p'"):
        actions.require_population(world.draft(), "q")


def test_a_deleted_draft_leaves_its_trace_alone(world: World) -> None:
    record = world.draft()
    world.write(actions.delete, world.ada, record, now=NOW)
    with pytest.raises(NotFound):
        world.read(record)
    assert world.audited(record.id)[-1] == "preregistration.delete"


def test_a_lock_names_the_warnings_that_nobody_has_acknowledged(world: World) -> None:
    plan = small_plan()
    plan["hypotheses"][0]["rule"] = "delta >= 2.0 pp and delta >= 1.0 pp and mcnemar.p_value < 0.05"
    record = world.draft(plan)
    found = actions.lint_draft(record, world.write(populations.read_facts, record.id)).findings
    codes = sorted({each.code for each in found if each.asks})
    assert codes == ["REDUNDANT_CLAUSE"]
    with pytest.raises(InvalidData, match=codes[0]) as refused:
        world.lock(record, [])
    assert refused.value.problem_code == "warnings_not_acknowledged"
    assert world.lock(record, codes).acknowledged == tuple(codes)


def test_a_plan_with_errors_is_not_locked(world: World) -> None:
    record = world.draft(small_plan() | {"sesoi": {}})
    with pytest.raises(InvalidData) as refused:
        world.lock(record)
    assert refused.value.problem_code == "lint_failed"
    assert world.read(record).state == "draft"


def test_items_that_changed_after_the_lint_are_not_locked(world: World) -> None:
    record = world.draft()
    linted = actions.lint_draft(record, world.write(populations.read_facts, record.id))
    changed = world.write(world.put_items, record, "p", reversed(items(10)))
    with pytest.raises(PreconditionFailed):
        world.write(
            actions.lock, world.ada, changed, linted, "all", MOMENT, seal_public=world.keyring.seal_public
        )


def test_a_lock_leaves_a_hash_a_leaf_and_a_key_that_the_runner_alone_can_open(world: World) -> None:
    record = world.locked()
    assert record.plan_sha256 == record.plan.sha256()
    assert record.plan.populations is not None
    assert record.plan.populations[0].items_sha256
    (receipt,) = world.write(ledger.read_receipts, record.id, kind="plan_locked")
    assert record.plan_sha256 in receipt.leaf
    private = world.write(plan_keys.unwrap, record.id, world.keyring.opener())
    assert sealing.public_half(private) == world.write(plan_keys.read_public, record.id)
    wrapped = world.write(plan_keys.find_newest)
    assert wrapped is not None
    assert private not in wrapped.wrapped_key
    assert world.audited(record.id)[-1] == "preregistration.lock"


def test_a_locked_plan_answers_what_lint_said_at_the_lock(world: World) -> None:
    record = world.locked()
    assert record.lint is not None
    silent = record.model_copy(update={"lint": ()})
    assert actions.read_findings(record, {}) == record.lint
    assert actions.read_findings(silent, {}) == ()
