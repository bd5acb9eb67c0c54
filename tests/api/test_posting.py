"""Lanes: whose batch comes when, and how many go together."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from service.api import posting
from service.api.posting import Post, _Lane


def post(project: str, rows: int = 1) -> Post:
    submission = SimpleNamespace(caller=SimpleNamespace(project_id=project), n=rows)
    return Post(submission, None, Future())  # type: ignore[arg-type]


def lane(*waiting: Post) -> _Lane:
    made = _Lane(None)
    for each in waiting:
        made.add(each)
    return made


def projects(group: list[Post]) -> list[str]:
    return [each.submission.caller.project_id for each in group]


def test_projects_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posting, "MOST_POSTS", 5)
    waiting = lane(*(post("busy") for _ in range(9)), post("quiet"), post("other"), post("other"))
    assert projects(waiting.take()) == ["busy", "quiet", "other", "busy", "other"]
    assert projects(waiting.take()) == ["busy"] * 5
    assert projects(waiting.take()) == ["busy"] * 2
    assert waiting.take() == []
    assert waiting.waiting == {}


def test_a_projects_batches_keep_their_order() -> None:
    mine = [post("p", rows) for rows in (3, 1, 2)]
    assert lane(*mine).take() == mine


def test_a_group_holds_so_many_rows_and_one_batch_at_least(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posting, "MOST_ROWS", 10)
    waiting = lane(post("p", 6), post("q", 4), post("p", 1), post("q", 50), post("p", 1))
    assert [each.submission.n for each in waiting.take()] == [6, 4]
    assert [each.submission.n for each in waiting.take()] == [1]
    assert [each.submission.n for each in waiting.take()] == [50]
    assert [each.submission.n for each in waiting.take()] == [1]


def test_a_batch_begins_once_and_not_after_its_caller_has_gone() -> None:
    stays, goes = post("p"), post("p")
    assert stays.begin()
    assert stays.begin(), "it may move to another lane"
    assert not stays.answered.cancel()
    assert goes.answered.cancel()
    assert not goes.begin()
