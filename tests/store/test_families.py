from __future__ import annotations

import pytest

from service.domain.plans.family import select_family
from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import Plan
from service.store.plans import families, populations, preregistrations

ITEMS = {"x": ("a", "b"), "y": ("b", "c"), "z": ("d",)}
SETS = ("x", "y", "z", "xy", "xz", "yx", "xx", "xyz", "xxy")


def on_items(world, session, names, project_id="project"):
    """A locked record with a population for each name; the same name twice is the same manifest twice."""
    ids = [f"p{at}" for at in range(len(names))]
    record = world.draft(session, project_id=project_id)
    populations.remove_others(session, record.id, set())
    plan = Plan.from_dict(
        {
            "title": "Items",
            "populations": [
                {"id": each, "dataset": "D", "n": len(ITEMS[name])}
                for each, name in zip(ids, names, strict=True)
            ],
        }
    )
    record = preregistrations.replace_draft(session, record, plan)
    for each, name in zip(ids, names, strict=True):
        populations.put(session, record.id, each, Manifest.create(ITEMS[name]))
    return world.lock(session, record)


@pytest.fixture
def records(world):
    """Every set of up to three manifests, twice over, with repeats, and some of them in another project."""
    where = [(names, "project") for names in SETS * 2] + [("x", "other"), ("xy", "other")]
    with world.database.write() as session:
        return [on_items(world, session, *each) for each in where]


def test_a_record_stands_among_those_with_just_its_items(world, records):
    with world.database.read() as session:
        for record in records:
            members = families.read_members(session, record.project_id)
            items = next(each.items for each in members if each.preregistration_id == record.id)
            alike = [each.preregistration_id for each in select_family(members, items)]
            assert families.find_standing(session, record.project_id, record.id) == families.Standing(
                items, alike.index(record.id) + 1, len(alike)
            )


def test_sets_of_manifests_and_not_their_populations_make_a_family(world, records):
    with world.database.read() as session:
        found = {
            names: families.find_standing(session, "project", record.id)
            for names, record in zip(SETS, records, strict=False)
        }
    assert {names: each.of for names, each in found.items()} == {
        "x": 4, "y": 2, "z": 2, "xy": 6, "xz": 2, "yx": 6, "xx": 4, "xyz": 2, "xxy": 6,
    }  # fmt: skip


def test_a_draft_and_a_record_of_another_project_stand_nowhere(world, records):
    with world.database.write() as session:
        draft = world.draft(session)
        assert families.find_standing(session, "project", draft.id) is None
        assert families.find_standing(session, "other", records[0].id) is None
