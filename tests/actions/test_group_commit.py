"""Lanes: whose batch comes when, and how many go together."""

from __future__ import annotations

from threading import Event
from types import SimpleNamespace

import numpy as np
import pytest

from service.actions.results import group_commit
from service.actions.results.group_commit import Answer, Lane, Posting, Waiting
from service.actions.results.posting import Submission
from service.actions.results.results import Terms
from service.domain.results.batches import BatchHead, PlacedBatch
from service.domain.results.secret_rows import SecretRows
from service.errors import InvalidData

from .posting_lanes import ANSWER, HOLDING, Stored, post, render, store_all


def lane(*waiting: Waiting) -> Lane:
    made = Lane(None)
    for each in waiting:
        made.add(each)
    return made


def projects(group: list[Waiting]) -> list[str]:
    return [each.place[0] for each in group]


def test_projects_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "MOST_POSTS", 5)
    waiting = lane(*(post("busy") for _ in range(9)), post("quiet"), post("other"), post("other"))
    assert projects(waiting.take()) == ["busy", "quiet", "other", "busy", "other"]
    assert projects(waiting.take()) == ["busy"] * 5
    assert projects(waiting.take()) == ["busy"] * 2
    assert waiting.take() == []
    assert waiting.waiting == {}


def test_a_projects_batches_keep_their_order() -> None:
    mine = [post("p", rows) for rows in (3, 1, 2)]
    assert lane(*mine).take() == mine


def test_a_group_holds_so_many_bytes_and_one_batch_at_least(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "MOST_BYTES", 10)
    waiting = lane(post("p", 6), post("q", 4), post("p", 1), post("q", 50), post("p", 1))
    assert [each.size for each in waiting.take()] == [6, 4]
    assert [each.size for each in waiting.take()] == [1]
    assert [each.size for each in waiting.take()] == [50]
    assert [each.size for each in waiting.take()] == [1]


def test_a_batch_begins_once_and_not_after_its_caller_has_gone() -> None:
    stays, goes = post("p"), post("p")
    assert stays.begin()
    assert stays.begin(), "it may move to another lane"
    assert not stays.answered.cancel()
    assert goes.answered.cancel()
    assert not goes.begin()


def test_lanes_of_records_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread, a record with three groups and one with a single one: nobody waits for all of another's."""
    monkeypatch.setattr(group_commit, "MOST_POSTS", 1)
    stored, entered, go = [], Event(), Event()

    def store(
        _database: object, posts: list[Submission], _render: object, *, wait: bool
    ) -> tuple[list[Answer], bool]:
        assert wait
        stored.append(posts[0].place[1])
        entered.set()
        go.wait()
        return [ANSWER], False

    monkeypatch.setattr(group_commit, "store", store)
    lanes = Posting(None, render, lambda: None, lanes=1)  # type: ignore[arg-type]
    first = lanes.submit(large("busy"))
    entered.wait()
    others = [lanes.submit(large(record)) for record in ("busy", "busy", "quiet")]
    go.set()
    assert all(future.result() for future in (first, *others))
    lanes.close()
    assert stored == ["busy", "quiet", "busy", "busy"]


def test_what_only_came_to_a_lane_gathers_with_the_others_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lane that small posts keep alive would never end."""
    stored = Stored(monkeypatch)
    lanes = Posting(None, render, lambda: None, lanes=1)  # type: ignore[arg-type]
    lanes.submit(post(HOLDING[0], record=HOLDING[1], alone=True))
    stored.entered.wait()
    behind = [lanes.submit(post(HOLDING[0], size, HOLDING[1])) for size in (1, 2)]
    monkeypatch.setattr(stored, "holds", False)
    stored.go.set()
    assert all(future.result() for future in behind)
    lanes.close()
    assert stored.groups == [([1, 2], False)]


def test_a_lane_whose_record_has_more_that_needs_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = Stored(monkeypatch)
    lanes = Posting(None, render, lambda: None, lanes=1)  # type: ignore[arg-type]
    lanes.submit(post(HOLDING[0], record=HOLDING[1], alone=True))
    stored.entered.wait()
    small, large = (lanes.submit(post(HOLDING[0], n, HOLDING[1], alone=n == 2)) for n in (1, 2))
    monkeypatch.setattr(stored, "holds", False)
    stored.go.set()
    assert small.result()
    assert large.result()
    lanes.close()
    assert stored.groups == [([1, 2], True)]


def test_what_waits_at_the_end_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "MOST_POSTS", 1)
    monkeypatch.setattr(
        group_commit, "store", lambda _database, posts, _render, *, wait: ([ANSWER for _ in posts], False)
    )
    lanes = Posting(None, render, lambda: None, lanes=1)  # type: ignore[arg-type]
    futures = [lanes.submit(large(record)) for record in ("a", "a", "b", "a")]
    lanes.close()
    assert all(future.done() for future in futures)


def test_a_failing_nudge_stops_no_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    def nudge() -> None:
        raise OSError

    monkeypatch.setattr(
        group_commit, "store", lambda _database, posts, _render, *, wait: ([ANSWER for _ in posts], True)
    )
    lanes = Posting(None, render, nudge, lanes=1)  # type: ignore[arg-type]
    for _ in range(2):
        assert lanes.submit(large("a")).result(timeout=60)
    lanes.close()


def test_a_failing_nudge_leaves_nobody_without_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def nudge() -> None:
        raise OSError

    monkeypatch.setattr(group_commit, "MOST_BYTES", 10)
    stored = Stored(monkeypatch, queued=True)
    waiting = [post("p", size) for size in (6, 9)]
    for each in waiting:
        each.size = 1
    assert all(each.done() for each in store_all(stored, *waiting, queued=nudge))
    assert stored.groups == [([6], False), ([9], False)]


def large(record: str) -> Waiting:
    return post("p", group_commit.LARGE_BYTES, record, alone=True)


def test_a_batch_that_cannot_be_read_is_refused_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def read() -> Submission:
        raise InvalidData("unreadable")

    stored = Stored(monkeypatch)
    first, bad, last = store_all(stored, post("p", 1), Waiting(("p", "r"), 1, False, read), post("p", 2))
    assert isinstance(bad.exception(), InvalidData)
    assert first.result()
    assert last.result()
    assert stored.groups == [([1, 2], False)]


def test_a_batch_that_turns_out_large_goes_to_a_lane_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = Stored(monkeypatch)
    guessed = post("p", group_commit.LARGE_BYTES)
    guessed.size = 1
    for each in store_all(stored, post("p", 1), guessed, post("p", 2, "another")):
        assert each.result()
    assert sorted(stored.groups) == [([1, 2], False), ([group_commit.LARGE_BYTES], True)]


def test_what_a_transaction_holds_is_bounded_by_what_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "MOST_BYTES", 10)
    stored = Stored(monkeypatch)
    waiting = [post("p", size) for size in (6, 4, 1, 9, 2)]
    for each in waiting:
        each.size = 1
    store_all(stored, *waiting)
    assert [sizes for sizes, _wait in stored.groups] == [[6, 4], [1, 9], [2]]


def test_a_batch_is_read_once() -> None:
    calls = []

    def read() -> Submission:
        calls.append(1)
        return post("p", 7).submission()

    waiting = Waiting(("p", "r"), 1, False, read)
    assert waiting.submission() is waiting.submission()
    assert (len(calls), waiting.size) == (1, 7)


def test_a_cell_per_row_counts_with_its_bitmap() -> None:
    replicates = np.arange(1, 101, dtype=np.uint16)
    rows = SecretRows(np.zeros(100), np.zeros(100, np.uint8))
    placed = PlacedBatch(BatchHead("p", "A", "e", None), np.zeros(100, np.int32), replicates, rows)
    manifest = SimpleNamespace(item_ids=("i",) * 1_000_000)
    terms = Terms(None, "", {"p": manifest})  # type: ignore[arg-type, dict-item]
    submission = Submission(None, "r", placed, terms, None)  # type: ignore[arg-type]
    assert submission.size > group_commit.LARGE_BYTES
