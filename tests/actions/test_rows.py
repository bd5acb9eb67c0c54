"""Rows after the verdict, page by page; none before it."""

from __future__ import annotations

import pytest

from service.actions.verdicts import rows as actions
from service.errors import Conflict, InvalidData

from .conftest import BASELINE, CANDIDATE, N, World


def test_rows_are_blinded_until_the_verdict(world: World) -> None:
    with pytest.raises(Conflict) as refused:
        world.write(actions.page, world.complete(), cursor=None, limit=5)
    assert refused.value.problem_code == "blinded"


def test_pages_give_every_row_once_in_the_order_they_were_posted(world: World) -> None:
    record = world.judged()
    seen, cursor = [], None
    for _ in range(4):
        found, cursor = world.write(actions.page, record, cursor=cursor, limit=7)
        seen += found
        if cursor is None:
            break
    assert [each["value"] for each in seen] == BASELINE + CANDIDATE
    assert [each["item_id"] for each in seen] == [f"item-{k}" for k in range(N)] * 2
    assert {each["batch"] for each in seen} == {1, 2}


def test_a_cursor_that_no_page_gave_is_refused(world: World) -> None:
    record = world.judged()
    for cursor in ("", "0-1", "1", "1-x", "-1-1"):
        with pytest.raises(InvalidData):
            world.write(actions.page, record, cursor=cursor, limit=5)
