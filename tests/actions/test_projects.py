"""Tenants, and who may act on which."""

from __future__ import annotations

import pytest

from service.actions.projects import projects as actions
from service.errors import NotFound

from .conftest import NOW, World


def test_a_project_is_made_for_keys_of_its_own(world: World) -> None:
    made = world.write(actions.create, world.ada, "third", project_id="third", now=NOW)
    assert (made.id, made.name) == ("third", "third")


def test_an_operator_alone_acts_on_another_project(world: World) -> None:
    tenant = world.key("tenant", scopes=("admin",))
    assert world.write(actions.resolve_project, tenant, None) == "project"
    assert world.write(actions.resolve_project, tenant, "project") == "project"
    assert world.write(actions.resolve_project, world.ada, "other") == "other"
    for caller, name in ((tenant, "other"), (tenant, "none"), (world.ada, "none")):
        with pytest.raises(NotFound, match=f"no project {name}"):
            world.write(actions.resolve_project, caller, name)
