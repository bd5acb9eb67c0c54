"""What one transaction stores of batches: each taken or refused as if it had come alone."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import pytest
import sqlalchemy as sa

from service.actions.results import group_commit
from service.actions.results.group_commit import Answer
from service.actions.results.posting import BatchReceipt
from service.errors import ForelockError, NotFound
from service.store.database.idempotency import StoredResponse
from service.store.jobs import jobs
from service.store.results import batches, coverage
from tests.journeys.plans import small_plan

from .conftest import N, World

ANSWER = StoredResponse(201, {}, b"{}")


def test_batches_of_a_group_see_those_taken_before_them(world: World) -> None:
    record = world.locked()
    outcomes = world.store(
        world.posted(record, "A", [1] * 4),
        world.posted(record, "A", [0] * 4),
        world.posted(record, "A", [1] * 6, on_duplicate="skip"),
        world.posted(record, "B", [0]),
    )
    first, again, rest, last = outcomes
    assert isinstance(first, BatchReceipt)
    assert (first.batch, first.n, first.received, first.expected, first.state) == (
        1,
        4,
        4,
        2 * N,
        "collecting",
    )
    assert isinstance(again, ForelockError)
    assert isinstance(rest, BatchReceipt)
    assert (rest.batch, rest.n, rest.skipped) == (2, 2, 4)
    assert isinstance(last, BatchReceipt)
    assert (last.batch, last.received) == (3, 7)
    assert first.receipt is not None
    assert last.receipt is not None
    assert last.receipt.sequence == first.receipt.sequence + 2


def test_a_refused_batch_leaves_no_trace(world: World) -> None:
    record = world.locked()
    world.post(record, "A", [1])
    (refused,) = world.store(world.posted(record, "A", [0, 0]))
    assert isinstance(refused, ForelockError)
    assert world.write(batches.count, record.id) == 1
    assert [each.received for each in world.write(coverage.read_counts, record.id)] == [1]


def test_a_group_moves_the_records_alone_that_it_took_batches_of(world: World) -> None:
    taken, refused = world.locked(), world.locked()
    posts = world.posted(taken, "A", [1]), world.posted(refused, "Z", [1])
    (stored, no), queued = group_commit.store(world.database, posts, lambda _: ANSWER, wait=False)
    assert isinstance(stored, Answer)
    assert isinstance(no, ForelockError)
    assert (world.read(taken).state, world.read(refused).state) == ("collecting", "locked")
    assert not queued


def test_a_group_says_that_it_queued_a_verdict(world: World) -> None:
    record = world.locked()
    posts = world.posted(record, "A", [1] * N), world.posted(record, "B", [0] * N)
    _outcomes, queued = group_commit.store(world.database, posts, lambda _: ANSWER, wait=True)
    assert queued
    assert world.read(record).state == "complete"


def test_rows_that_are_all_in_are_no_batch(world: World) -> None:
    record = world.locked()
    world.post(record, "A", [1, 0])
    idle = world.post(record, "A", [0, 1], on_duplicate="skip")
    assert (idle.batch, idle.n, idle.skipped, idle.receipt) == (None, 0, 2, None)


def test_the_batch_that_completes_the_plan_queues_its_verdict(world: World) -> None:
    record = world.complete()
    assert record.state == "complete"
    job = world.write(jobs.find_latest, "project", kind="verdict", subject=record.id)
    assert job is not None
    (late,) = world.store(world.posted(record, "A", [1]))
    assert isinstance(late, ForelockError)
    assert "complete" in late.detail


def test_another_project_s_record_is_none(world: World) -> None:
    record = world.locked()
    stranger = world.key("stranger", project_id="other")
    theirs = replace(world.posted(record, "A", [1]), caller=stranger)
    (refused,) = world.store(theirs)
    assert isinstance(refused, NotFound)


def test_statuses_are_counted_where_the_policy_allows_it(world: World) -> None:
    counted = {}
    for missing in ("fail", "exclude_pair"):
        record = world.locked(small_plan(N, missing=missing))
        world.post(record, "A", [1, None], status=["ok", "missing"])
        with world.database.read() as session:
            counted[missing] = list(batches.read_status_counts(session, record.id))
    assert counted["fail"] == []
    assert counted["exclude_pair"] == [{"ok": 1, "error": 0, "missing": 1}]


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_a_group_waits_for_that_of_another_process_and_leaves_nothing_behind(world: World) -> None:
    """Else it finds every record held, and stores each of them in a transaction of its own."""
    record = world.locked()
    first, second = world.posted(record, "A", [1]), world.posted(record, "B", [0])
    stored, go = Event(), Event()

    def hold(_receipt: BatchReceipt) -> StoredResponse:
        stored.set()
        go.wait()
        return ANSWER

    def is_under_way(answered: Future[object]) -> bool:
        """It is neither stored nor refused, and waits for no lock yet."""
        waiting = sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")
        with world.database.read() as session:
            return not answered.done() and not session.scalar(waiting)

    with ThreadPoolExecutor(2) as threads:
        holds = threads.submit(group_commit.store, world.database, [first], hold, wait=False)
        stored.wait()
        comes = threads.submit(group_commit.store, world.database, [second], hold, wait=False)
        while is_under_way(comes):
            pass
        go.set()
        for answered in (holds, comes):
            (outcome,), _queued = answered.result()
            assert isinstance(outcome, Answer)
