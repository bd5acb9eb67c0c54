"""A plan that is amended before results: which version is read, what it followed, and when it is refused."""

from __future__ import annotations

from datetime import timedelta
from hashlib import sha256

import pytest

from service.actions.plans import amendments
from service.domain.moment import Moment
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import Preregistration
from service.errors import Conflict, InvalidData, NotFound, PreconditionFailed
from service.store.plans import plans
from service.store.plans import populations as items_store
from tests.journeys.plans import small_plan

from .conftest import NOW, N, World


def propose(world: World, record: Preregistration, **changes: object) -> amendments.Proposal:
    with world.database.read() as session:
        facts = items_store.read_facts(session, record.id)
    return amendments.propose(record, Plan.from_dict(small_plan(N) | changes), facts)


def amend(world: World, record: Preregistration, hours: int = 1, **changes: object) -> Preregistration:
    moment = Moment(NOW + timedelta(hours=hours))
    proposed = propose(world, record, **changes)
    return world.write(amendments.amend, world.ada, record, proposed, "a slip", "all", moment)[0]


@pytest.fixture
def titled(world: World) -> list[Preregistration]:
    """A record as it was locked, and as it was after each of two amendments."""
    first = world.locked(small_plan(N) | {"title": "One"})
    second = amend(world, first, 1, title="Two")
    return [first, second, amend(world, second, 2, title="Three")]


def test_every_version_is_read_by_its_number_and_the_newest_without_one(
    world: World, titled: list[Preregistration]
) -> None:
    record_id = titled[0].id
    with world.database.read() as session:
        for number, record in enumerate(titled, 1):
            text, digest = plans.read_canonical(session, record_id, number)
            assert (Plan.from_json(text).title, digest) == (record.plan.title, record.plan_sha256)
            assert sha256(text.encode()).hexdigest() == digest
        assert plans.read_canonical(session, record_id) == plans.read_canonical(session, record_id, 3)
        assert plans.read_first_sha256(session, record_id) == titled[0].plan_sha256
        assert [plan.plan.title for plan in plans.read_all(session, record_id)] == ["One", "Two", "Three"]
        with pytest.raises(NotFound, match="no locked version 4"):
            plans.read_canonical(session, record_id, 4)
        with pytest.raises(NotFound, match="no locked version 0"):
            plans.read_canonical(session, record_id, 0)


def test_a_draft_has_no_locked_plan(world: World) -> None:
    draft = world.draft()
    with world.database.read() as session:
        with pytest.raises(NotFound, match="no locked plan"):
            plans.read_canonical(session, draft.id)
        with pytest.raises(NotFound, match="no locked plan"):
            plans.read_first_sha256(session, draft.id)


def test_versions_follow_one_another_with_their_reasons(world: World, titled: list[Preregistration]) -> None:
    hashes = [record.plan_sha256 for record in titled]
    with world.database.read() as session:
        versions = amendments.list_versions(session, titled[-1])
    assert [(each.version, each.plan_sha256, each.prior_sha256, each.reason) for each in versions] == [
        (1, hashes[0], None, None),
        (2, hashes[1], hashes[0], "a slip"),
        (3, hashes[2], hashes[1], "a slip"),
    ]
    assert [each.locked_at for each in versions] == [NOW + timedelta(hours=hours) for hours in range(3)]
    assert [each.receipt.kind for each in versions] == ["plan_locked", "plan_amended", "plan_amended"]
    assert world.audited(titled[0].id)[-2:] == ["preregistration.amend"] * 2


def test_the_plan_as_it_is_locked_is_no_amendment(world: World) -> None:
    record = world.locked()
    with pytest.raises(InvalidData, match="leave the plan as it is"):
        propose(world, record)
    assert propose(world, record, title="Two").revision == record.revision


def test_a_proposal_is_for_the_record_as_it_was_linted(world: World) -> None:
    record = world.locked()
    proposed = propose(world, record, title="Two")
    changed = amend(world, record, title="Three")
    with pytest.raises(PreconditionFailed, match="send it again"):
        world.write(amendments.amend, world.ada, changed, proposed, "a slip", "all", Moment(NOW))
    assert world.read(record).plan.title == "Three"


def test_a_draft_and_a_record_with_results_are_not_amended(world: World) -> None:
    with pytest.raises(Conflict, match="an amendment"):
        propose(world, world.draft(), title="Two")
    record = world.locked()
    proposed = propose(world, record, title="Two")
    world.post(record, "A", [1, 0])
    with pytest.raises(Conflict, match="an amendment"):
        world.write(amendments.amend, world.ada, world.read(record), proposed, "late", "all", Moment(NOW))
