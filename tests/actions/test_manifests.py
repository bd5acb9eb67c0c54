"""The items of a record, and what lint reads of them."""

from __future__ import annotations

from service.actions.plans.manifests import read_facts
from service.store.plans.populations import read_manifests
from tests.journeys.plans import items

from .conftest import World


def test_a_draft_tells_what_was_noted_and_a_locked_record_what_its_items_say(world: World) -> None:
    draft = world.draft()
    noted = world.write(read_facts, draft)
    locked = world.lock(draft)
    (manifest,) = world.write(read_manifests, locked).values()
    assert manifest.item_ids == tuple(items(10))
    assert world.write(read_facts, locked) == {"p": manifest.facts()} == noted
