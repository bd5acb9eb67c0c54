"""The record and its states."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import get_args

import pytest
from pydantic import ValidationError

from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import ALLOWED, MOVES, Preregistration, State
from service.errors import Conflict

STATES = get_args(State)


def record(state: State = "draft", **changes) -> Preregistration:
    return Preregistration(
        id="p1", project_id="default", state=state, revision=7, version=1, plan=Plan(),
        created_at=datetime(2027, 1, 1, tzinfo=UTC), **changes,
    )  # fmt: skip


def test_moves_are_known_states_and_lead_one_way():
    assert set(MOVES) == set(ALLOWED) == set(STATES)
    order = {state: place for place, state in enumerate(STATES)}
    for state, targets in MOVES.items():
        assert all(order[target] > order[state] for target in targets)
    assert MOVES["withdrawn"] == ()


def test_etag_is_the_quoted_revision():
    assert record().etag == '"7"'


@pytest.mark.parametrize("state", STATES)
def test_require_lets_its_states_through_and_says_what_is_allowed(state):
    record(state).require(state)
    others = [other for other in STATES if other != state]
    with pytest.raises(Conflict) as refused:
        record(state).require(*others, action="submit")
    assert f"is {state}" in refused.value.detail
    assert "submit needs one that is" in refused.value.detail
    assert all(move in refused.value.detail for move in ALLOWED[state])


@pytest.mark.parametrize("state", STATES)
def test_only_listed_moves_pass(state):
    for target in STATES:
        if target in MOVES[state]:
            record(state).require_move(target)
        else:
            with pytest.raises(Conflict, match=f"not to {target}"):
                record(state).require_move(target)


def test_times_need_a_zone():
    with pytest.raises(ValidationError):
        record(locked_at=datetime(2027, 1, 1))  # noqa: DTZ001
