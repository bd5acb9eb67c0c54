"""How long a view-only link lasts, how many there may be, and what revoking one writes down."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from service.actions.projects import view_links as actions
from service.domain.access import Key, ViewLink, new_token
from service.domain.plans.preregistration import Preregistration
from service.errors import Conflict, InvalidData, NotFound, TooMany

from .conftest import NOW, World

DAY = timedelta(days=1)
INSTANT = timedelta(microseconds=1)


@pytest.fixture
def record(world: World) -> Preregistration:
    """A locked record that links may open."""
    made = world.locked()
    world.write(actions.share, world.ada, made, "link", now=NOW)
    return made


def create(
    world: World,
    record: Preregistration,
    number: int = 0,
    *,
    caller: Key | None = None,
    expires_at: datetime | None = None,
) -> ViewLink:
    return world.write(
        actions.create, caller or world.ada, record, name="R2", anonymous=False, expires_at=expires_at,
        link_id=f"link{number}", token=new_token(number.to_bytes(32, "big")), now=NOW,
    )  # fmt: skip


def revoke(world: World, record: Preregistration, link: ViewLink, now: datetime) -> ViewLink:
    return world.write(actions.revoke, world.ada, record, link.id, now=now)


def test_a_link_that_names_no_end_lasts_90_days(world: World, record: Preregistration) -> None:
    assert create(world, record).expires_at == NOW + 90 * DAY


@pytest.mark.parametrize(("key_days", "link_days"), [(30, 30), (90, 90), (200, 90)])
def test_it_ends_with_the_key_that_made_it_at_the_latest(
    world: World, record: Preregistration, key_days: int, link_days: int
) -> None:
    guest = world.key("guest", expires_at=NOW + key_days * DAY)
    assert create(world, record, caller=guest).expires_at == NOW + link_days * DAY


def test_the_ends_that_may_be_named_include_both_limits(world: World, record: Preregistration) -> None:
    for number, end in enumerate((NOW + INSTANT, NOW + 366 * DAY)):
        assert create(world, record, number, expires_at=end).expires_at == end
    guest = world.key("guest", expires_at=NOW + DAY)
    assert create(world, record, 2, caller=guest, expires_at=NOW + DAY).expires_at == NOW + DAY


@pytest.mark.parametrize(
    ("end", "fault"),
    [
        (NOW, "is in the past"),
        (NOW + 366 * DAY + INSTANT, "is more than 366 days away"),
        (NOW + 10 * DAY + INSTANT, "is later than the end of the API key that asks"),
    ],
)
def test_an_end_beyond_a_limit_is_refused(
    world: World, record: Preregistration, end: datetime, fault: str
) -> None:
    guest = world.key("guest", expires_at=NOW + 10 * DAY)
    with pytest.raises(InvalidData) as refused:
        create(world, record, caller=guest if "key" in fault else world.ada, expires_at=end)
    assert [(each.path, each.message) for each in refused.value.faults] == [("expires_at", fault)]


def test_a_record_has_so_many_open_links_and_no_more(
    world: World, record: Preregistration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "MOST_LINKS", 2)
    first, _ = create(world, record, 0), create(world, record, 1)
    with pytest.raises(TooMany, match="2 open links"):
        create(world, record, 2)
    revoke(world, record, first, NOW)
    assert create(world, record, 3).id == "link3"


def test_a_private_record_and_a_draft_have_none(world: World) -> None:
    with pytest.raises(Conflict, match="is private"):
        create(world, world.locked())
    with pytest.raises(Conflict, match="sharing"):
        create(world, world.draft())


def test_a_link_is_revoked_once(world: World, record: Preregistration) -> None:
    link = create(world, record)
    first, again = revoke(world, record, link, NOW), revoke(world, record, link, NOW + DAY)
    assert first.revoked_at == again.revoked_at == NOW
    assert world.audited(record.id)[-2:] == ["viewlink.create", "viewlink.revoke"]


def test_a_revoked_link_and_one_of_another_record_open_nothing(world: World, record: Preregistration) -> None:
    link = create(world, record)
    with pytest.raises(NotFound, match="no view-only link"):
        revoke(world, world.locked(), link, NOW)
    revoke(world, record, link, NOW)
    with pytest.raises(NotFound, match="opens nothing"):
        world.write(actions.open_by_token, new_token(bytes(32)))


def test_setting_what_is_set_is_no_act(world: World, record: Preregistration) -> None:
    acts = world.audited(record.id)
    world.write(actions.share, world.ada, record, "link", now=NOW + DAY)
    assert world.audited(record.id) == acts
    world.write(actions.share, world.ada, record, "public", now=NOW + DAY)
    assert world.audited(record.id) == [*acts, "visibility.set"]
