"""What batches are checked against, and what a complete plan queues."""

from __future__ import annotations

import pytest

from service.actions.results import results as actions
from service.domain.results.batches import expected_total
from service.errors import Conflict, NotFound
from service.store.plans import preregistrations

from .conftest import MOMENT, NOW, World


def test_the_terms_of_a_record_are_at_hand_once_they_were_read(world: World) -> None:
    record, plans = (
        world.write(preregistrations.move, world.locked(), "collecting", NOW),
        actions.LockedPlans(),
    )
    assert plans.at_hand(world.ada, record.id) is None
    read = world.write(plans.read, world.ada, record.id)
    again = plans.at_hand(world.ada, record.id)
    assert again is not None
    assert (again.plan, again.manifests["p"]) == (read.plan, read.manifests["p"])
    stranger = world.key("stranger", project_id="other")
    assert plans.at_hand(stranger, record.id) is None
    with pytest.raises(NotFound):
        world.write(plans.read, stranger, record.id)


def test_a_draft_has_no_terms(world: World) -> None:
    with pytest.raises(Conflict):
        world.write(actions.LockedPlans().read, world.ada, world.draft().id)


def test_a_verdict_that_is_queued_is_not_queued_again(world: World) -> None:
    record = world.locked()
    first = world.write(actions.enqueue, record, "verdict", MOMENT)
    again = world.write(actions.enqueue, record, "verdict", MOMENT)
    assert first.id == again.id


def test_rows_are_counted_by_arm_and_item(world: World) -> None:
    assert expected_total(world.draft().plan) == 2 * 10
