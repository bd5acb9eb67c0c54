"""Embargoes: who reads a record before the day, what happens on it, and what an amendment may change."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pytest

from service.actions.plans import amendments
from service.actions.projects import embargoes, view_links
from service.domain.access import new_token
from service.domain.moment import Moment
from service.domain.plans.embargo import end_of
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import Preregistration
from service.errors import Conflict, InvalidData, NotFound, RecordAltered
from service.store.ledger import ledger
from service.store.plans import populations
from service.store.plans import preregistrations as records
from service.store.projects import audit
from service.store.projects import view_links as stored
from tests.journeys.plans import small_plan

from .conftest import NOW, World

DAY = date(2025, 2, 1)
INSTANT = timedelta(microseconds=1)


@pytest.fixture
def record(world: World) -> Preregistration:
    """A locked record under an embargo."""
    return world.locked(small_plan(embargo_until=DAY.isoformat()))


def amend(world: World, record: Preregistration, now: datetime = NOW, **changes: Any) -> Preregistration:
    """The record with another version of its plan."""

    def act(session: Any) -> Preregistration:
        plan = Plan.from_dict(record.plan.as_dict() | changes)
        proposed = amendments.propose(record, plan, populations.read_facts(session, record.id))
        return amendments.amend(session, world.ada, record, proposed, "why", "all", Moment(now))[0]

    return world.write(act)


def is_open(world: World, record: Preregistration) -> bool:
    """Whether somebody without a key reads it."""
    try:
        return world.write(view_links.open_public, record.id).record.id == record.id
    except NotFound:
        return False


def published(world: World, record: Preregistration) -> list[dict[str, Any]]:
    return [dict(body) for body in world.write(ledger.read_bodies, record.id, kind="published")]


def test_before_the_day_nobody_opens_it(world: World, record: Preregistration) -> None:
    for visibility in ("link", "public"):
        with pytest.raises(Conflict) as refused:
            world.write(view_links.share, world.ada, record, visibility, now=NOW)
        assert refused.value.problem_code == "embargoed"
    with pytest.raises(Conflict) as refused:
        world.write(
            view_links.create, world.ada, record, name="R2", anonymous=True, expires_at=None, link_id="l",
            token=new_token(bytes(32)), now=NOW,
        )  # fmt: skip
    assert refused.value.problem_code == "embargoed"
    assert world.write(view_links.share, world.ada, record, "private", now=NOW).opens_at == end_of(DAY)
    assert embargoes.open_due(world.database, now=end_of(DAY) - INSTANT) == 0
    assert (is_open(world, record), published(world, record)) == (False, [])


def test_on_the_day_it_becomes_public_once_with_a_leaf(world: World, record: Preregistration) -> None:
    other = world.locked()
    assert embargoes.open_due(world.database, now=end_of(DAY)) == 1
    assert embargoes.open_due(world.database, now=end_of(DAY)) == 0
    assert (is_open(world, record), is_open(world, other)) == (True, False)
    (body,) = published(world, record)
    assert (body["embargo_until"], body["plan_sha256"]) == ("2025-02-01", record.plan_sha256)
    events, _ = world.write(audit.read_page, "project", subject=record.id, action="visibility.set")
    assert [(event.key_id, event.facts["visibility"]) for event in events] == [(None, "public")]
    # From then on it is a record like any other.
    world.write(view_links.share, world.ada, record, "private", now=end_of(DAY))
    assert embargoes.open_due(world.database, now=end_of(DAY) + timedelta(days=9)) == 0
    assert not is_open(world, record)


def test_a_day_that_has_begun_is_not_locked(world: World) -> None:
    draft = world.draft(small_plan(embargo_until=NOW.date().isoformat()))
    with pytest.raises(InvalidData, match="embargo_until"):
        world.lock(draft)
    assert world.read(draft).state == "draft"


def test_an_amendment_moves_the_day_or_ends_the_embargo(world: World, record: Preregistration) -> None:
    later = amend(world, record, embargo_until="2025-03-01")
    assert embargoes.open_due(world.database, now=end_of(DAY)) == 0
    free = amend(world, later, embargo_until=None)
    assert embargoes.open_due(world.database, now=end_of(date(2025, 3, 2))) == 0
    shared = world.write(view_links.share, world.ada, free, "link", now=NOW)
    assert (shared.visibility, shared.opens_at) == ("link", None)
    for day, way in (("2025-03-01", "its visibility is 'link'"), ("2025-01-01", "that day has begun")):
        with pytest.raises(InvalidData, match=way):
            amend(world, free, embargo_until=day)


def test_what_is_public_by_its_embargo_is_not_kept_back_again(world: World, record: Preregistration) -> None:
    embargoes.open_due(world.database, now=end_of(DAY))
    with pytest.raises(InvalidData, match="its visibility is 'public'"):
        amend(world, record, end_of(DAY), embargo_until="2025-04-01")


def test_an_altered_record_stays_closed_and_holds_up_no_other(
    world: World, record: Preregistration, monkeypatch: pytest.MonkeyPatch
) -> None:
    altered = world.locked(small_plan(embargo_until="2025-01-20"))
    read = records.get

    def get(session: Any, project_id: str, record_id: str, **options: Any) -> Preregistration:
        if record_id == altered.id:
            raise RecordAltered("plan", record_id)
        return read(session, project_id, record_id, **options)

    with monkeypatch.context() as patched:
        patched.setattr(records, "get", get)
        assert embargoes.open_due(world.database, now=end_of(DAY)) == 1
    assert is_open(world, record)
    assert published(world, altered) == []


def test_of_two_runners_one_opens_it(world: World, record: Preregistration) -> None:
    with world.database.read() as session:
        assert stored.find_due(session, end_of(DAY), 10) == [("project", record.id)]
    embargoes.open_due(world.database, now=end_of(DAY))
    moment = Moment(end_of(DAY))
    assert world.write(embargoes._open, "project", record.id, moment) is False
    assert len(published(world, record)) == 1
