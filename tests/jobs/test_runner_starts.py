"""A runner whose pool or database is away, starts, or comes back."""

from __future__ import annotations

import itertools
import logging
import threading
import time

from service.errors import Unavailable
from service.jobs import attempt as attempts
from service.jobs.pool import PoolUnavailable
from service.store.jobs import jobs
from tests.pools import InlinePool


def test_a_runner_names_the_database_that_is_away_once_and_its_return_once(world, caplog, monkeypatch):
    caplog.set_level(logging.INFO, "forelock.runner")
    runner, asked = world.runner(), itertools.count()

    def claim(_prepare):
        if (number := next(asked)) < 4:
            raise Unavailable("the database is busy or away: repeat the request shortly") from OSError(
                "refused"
            )
        if number > 5:
            runner.stop()

    monkeypatch.setattr(runner, "_claim", claim)
    monkeypatch.setattr(runner._stopping, "wait", lambda _seconds: False)
    monkeypatch.setattr(runner._alarm, "wait", lambda _seconds: None)
    runner._database_outage._wait = lambda _seconds: None
    runner.run()
    away, back = [record.getMessage() for record in caplog.records]
    assert str(world.database.engine.url.database) in away
    assert away.endswith("refused; waiting for it")
    assert back.startswith("the database answers again after ")


def test_a_pool_that_is_away_is_said_once(world, caplog):
    caplog.set_level(logging.INFO, "forelock.runner")

    class Away(InlinePool):
        def submit(self, function, *arguments):
            raise PoolUnavailable("the worker pool at tls://h:1 does not answer (refused)")

    runner, job = world.runner(Away()), world.enqueue()
    runner._pool_outage._wait = lambda _seconds: None
    for _ in range(3):
        runner._hold(runner._claim())
    waiting = world.read(job)
    assert (waiting.state, waiting.attempts, waiting.error["code"]) == ("queued", 0, "pool_unavailable")
    assert "tls" not in str(waiting.error)
    assert world.change(jobs.has_job_without_pool)
    runner._pool = InlinePool()
    runner._hold(runner._claim())
    done = world.read(job)
    assert (done.state, done.error) == ("succeeded", None)
    assert not world.change(jobs.has_job_without_pool)
    said = [record.getMessage() for record in caplog.records if "pool" in record.getMessage()]
    assert said[0] == "the worker pool at tls://h:1 does not answer (refused); waiting for it"
    assert said[1].startswith("the worker pool answers again after ")
    assert len(said) == 2


def test_a_runner_gives_memory_back_now_and_then(world, monkeypatch):
    given = []
    monkeypatch.setattr("service.jobs.runner.give_back", lambda: given.append(1))
    runner = world.runner()
    runner._tidy()
    assert given == []
    runner._tidied -= 61
    runner._tidy()
    runner._tidy()
    assert given == [1]


class Starting(InlinePool):
    """A pool that takes its first call only when it is told to."""

    def __init__(self):
        super().__init__()
        self.asked, self.may, self.handed = threading.Event(), threading.Event(), []

    def submit(self, function, *arguments):
        self.asked.set()
        assert self.may.wait(60)
        self.handed.append(super().submit(function, *arguments))
        return self.handed[-1]


def test_a_job_keeps_its_lease_while_its_pool_is_started(world, monkeypatch):
    monkeypatch.setattr(attempts, "TICK_SECONDS", 0.01)
    pool, job = Starting(), world.enqueue(blocks=1, seconds=1.0)
    runner = world.runner(pool, job_lease_seconds=0.09)
    working = threading.Thread(target=runner.step)
    working.start()
    assert pool.asked.wait(60)
    seen = set()
    until = time.monotonic() + 60
    while len(seen) < 4 and time.monotonic() < until:
        seen.add(world.read(job).lease_expires_at)
    pool.may.set()
    working.join(60)
    assert len(seen) == 4
    done = world.read(job)
    assert (done.state, done.attempts) == ("succeeded", 1)


def test_a_runner_that_stops_does_not_wait_for_a_pool_that_is_being_started(world, monkeypatch):
    monkeypatch.setattr(attempts, "TICK_SECONDS", 0.01)
    pool, job = Starting(), world.enqueue()
    runner = world.runner(pool)
    working = threading.Thread(target=runner.step)
    working.start()
    assert pool.asked.wait(60)
    runner.stop()
    working.join(60)
    assert not working.is_alive()
    assert (world.read(job).state, world.read(job).attempts) == ("queued", 0)
    pool.may.set()


def coming_up(world):
    """A runner whose pool is coming up in a thread, a job, that thread, and the event that lets the pool be up."""
    begun, may = threading.Event(), threading.Event()

    class Slow(InlinePool):
        def start(self):
            begun.set()
            assert may.wait(60)

    runner, job = world.runner(Slow()), world.enqueue()
    running = threading.Thread(target=runner.run)
    running.start()
    assert begun.wait(60)
    return runner, job, running, may


def test_no_job_is_taken_before_the_pool_is_up(world):
    runner, job, running, may = coming_up(world)
    assert (world.read(job).state, world.read(job).attempts) == ("queued", 0)
    may.set()
    until = time.monotonic() + 60
    while world.read(job).state != "succeeded" and time.monotonic() < until:
        time.sleep(0.01)
    runner.stop()
    running.join(60)
    assert (world.read(job).state, world.read(job).attempts) == ("succeeded", 1)


def test_a_runner_that_stops_while_its_pool_comes_up_takes_no_job(world):
    runner, job, running, may = coming_up(world)
    runner.stop()
    running.join(60)
    assert not running.is_alive()
    assert (world.read(job).state, world.read(job).attempts) == ("queued", 0)
    may.set()
