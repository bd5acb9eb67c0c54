"""Which jobs a runner's free threads may take."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from service.jobs.lanes import Lanes
from service.store.jobs.job_leases import Full
from service.store.jobs.jobs import Job

KINDS = ("verdict", "mcnemar", "look")
RECORDS = ("verdict", "look")


def job(project, kind="mcnemar"):
    now = datetime(2027, 1, 1, tzinfo=UTC)
    return Job(id="j", project_id=project, kind=kind, params={}, state="running", attempts=1, created_at=now)


def full(jobs="", tests=""):
    return Full(frozenset(jobs), frozenset(tests))


def test_tests_of_many_projects_leave_a_thread_to_records():
    lanes = Lanes(4)
    for project in "abc":
        assert lanes.open_kinds(KINDS) == KINDS
        lanes.enter(job(project))
    assert lanes.open_kinds(KINDS) == RECORDS
    lanes.enter(job("d", "verdict"))
    assert lanes.open_kinds(KINDS) == ()
    lanes.leave(job("a"))
    assert lanes.open_kinds(KINDS) == KINDS


def test_a_project_s_tests_leave_a_thread_to_its_records_and_one_to_others():
    lanes = Lanes(4)
    lanes.enter(job("a"))
    assert lanes.full() == full()
    lanes.enter(job("a"))
    assert lanes.full() == full(tests="a")
    lanes.enter(job("a", "verdict"))
    assert lanes.full() == full(jobs="a", tests="a")
    lanes.leave(job("a"))
    assert lanes.full() == full()


def test_a_project_s_records_leave_a_thread_to_others():
    lanes = Lanes(4)
    for kind in ("verdict", "look", "verdict"):
        lanes.enter(job("a", kind))
    assert lanes.full() == full(jobs="a")


@pytest.mark.parametrize("threads", [1, 2])
def test_where_there_are_few_threads_each_takes_what_comes(threads):
    lanes = Lanes(threads)
    assert (lanes.open_kinds(KINDS), lanes.full()) == (KINDS, full())
    lanes.enter(job("a"))
    assert lanes.open_kinds(KINDS) == (() if threads == 1 else RECORDS)
    lanes.leave(job("a"))
    assert (lanes.open_kinds(KINDS), lanes.full()) == (KINDS, full())
