"""Who may give which rights away, and for how long."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from service.actions.projects import keys as actions
from service.domain.access import Key
from service.errors import Forbidden, InvalidData

from .conftest import NOW, World

SECRET = "flk_" + "0" * 49


def create(world: World, caller: Key, **changes: Any) -> Key:
    wanted = {"name": "new", "kind": "job", "scopes": ["read", "read"], "expires_at": None} | changes
    return world.write(
        actions.create, caller, project_id="project", key_id="new", secret=SECRET, now=NOW, **wanted
    )


def test_a_key_grants_what_its_maker_may_and_is_its_maker_s(world: World) -> None:
    made = create(world, world.ada)
    assert (made.scopes, made.created_by, made.expires_at) == (("read",), world.ada.id, None)
    assert made.prefix == SECRET[:12]
    assert world.audited("new") == ["key.create"]


def test_a_key_grants_no_scope_that_its_maker_lacks(world: World) -> None:
    reader = world.key("reader", scopes=("read", "admin"))
    with pytest.raises(Forbidden, match="plans:lock"):
        create(world, reader, scopes=["read", "plans:lock"])


def test_a_key_ends_with_its_maker_at_the_latest(world: World) -> None:
    week = NOW + timedelta(days=7)
    guest = world.key("guest", expires_at=week)
    assert create(world, guest).expires_at == week
    with pytest.raises(InvalidData, match="later than the end"):
        create(world, guest, expires_at=week + timedelta(seconds=1))
    with pytest.raises(InvalidData, match="in the past"):
        create(world, world.ada, expires_at=NOW)


def test_a_key_is_revoked_once(world: World) -> None:
    made = create(world, world.ada)
    first = world.write(actions.revoke, world.ada, "project", made.id, now=NOW)
    again = world.write(actions.revoke, world.ada, "project", made.id, now=NOW + timedelta(days=1))
    assert first.revoked_at == again.revoked_at == NOW
    assert world.audited(made.id) == ["key.create", "key.revoke"]
