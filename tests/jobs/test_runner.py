"""What a runner makes of jobs: shards, restarts, cancellations, turns."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta

import pytest

from service.jobs import tasks
from service.jobs.attempt import Attempt
from service.jobs.computations import cut_missing
from service.jobs.pool import PoolLost, WorkerDied
from service.jobs.verdicts import VerdictJob
from service.processes.wake import Alarm
from service.store.jobs import job_leases, job_work, jobs
from service.store.jobs.job_work import Shard
from tests.pools import InlinePool, StuckPool, ThreadPool

from .conftest import DICE, DiceRequest

pytestmark = pytest.mark.any_database


def answer_of(**request):
    return DICE.answer(DiceRequest(**request)).model_dump(mode="json")


def shards_of(world, job):
    with world.database.read() as session:
        return job_work.read_shards(session, job.id)


class Interrupted(Exception):
    """A runner that dies: nothing of what it holds is put back."""


def dying_after(calls):
    """A pool in whose `calls`-th shard the runner dies."""

    class Dying(InlinePool):
        def submit(self, function, *arguments):
            if len(self.calls) == calls:
                raise SystemExit
            return super().submit(function, *arguments)

    return Dying()


@pytest.mark.parametrize("workers", [1, 3])
def test_a_job_in_shards_answers_what_one_call_answers(world, workers):
    job = world.enqueue(blocks=7, seconds=7.0)
    pool = ThreadPool(workers)
    assert world.runner(pool).step()
    done = world.read(job)
    assert (done.state, done.progress) == ("succeeded", 1.0)
    assert done.result == answer_of(blocks=7, seconds=7.0, seed=1)
    assert sum(call[0] is tasks.draw for call in pool.calls) >= 3
    pool.close()


def test_a_job_that_needs_more_blocks_draws_them(world):
    job = world.enqueue(blocks=2, more=3)
    world.runner().step()
    assert world.read(job).result == answer_of(blocks=2, more=3, seed=1)


def test_inputs_and_shards_go_with_the_end_of_the_job(world):
    for job in (world.enqueue(), world.enqueue(fail_at=3)):
        world.runner().step()
        assert shards_of(world, job) == []
        with world.database.read() as session:
            assert job_work.find_input(session, job.id) is None


def test_what_a_dead_runner_stored_is_not_computed_again(world):
    job = world.enqueue(blocks=8, seconds=8.0)
    with pytest.raises(SystemExit):
        world.runner(dying_after(3), job_lease_seconds=1e-6).step()
    assert [len(shard.which) for shard in shards_of(world, job)] == [1, 1, 1]
    assert world.read(job).state == "running"
    assert 0 < world.read(job).progress < 1
    pool = InlinePool()
    assert world.runner(pool).step()
    assert world.read(job).result == answer_of(blocks=8, seconds=8.0, seed=1)
    assert sum(call[0] is tasks.draw for call in pool.calls) == 5


def test_deaths_count_only_while_nothing_is_stored(world):
    stuck = world.enqueue(blocks=8, seconds=8.0)
    for _ in range(3):
        with pytest.raises(SystemExit):
            world.runner(dying_after(0), job_lease_seconds=1e-6).step()
    assert not world.runner().step()
    failed = world.read(stuck)
    assert (failed.state, failed.error["code"]) == ("failed", "job_abandoned")
    moving = world.enqueue(blocks=8, seconds=8.0)
    for _ in range(5):
        with pytest.raises(SystemExit):
            world.runner(dying_after(1), job_lease_seconds=1e-6).step()
    world.runner().step()
    assert world.read(moving).state == "succeeded"


def test_a_worker_that_dies_is_tried_again_and_not_for_ever(world):
    class Deadly(InlinePool):
        def submit(self, function, *arguments):
            future: Future = Future()
            future.set_exception(WorkerDied("it ended"))
            return future

    job = world.enqueue()
    runner = world.runner(Deadly())
    assert [runner.step() for _ in range(4)] == [True, True, True, False]
    failed = world.read(job)
    assert (failed.state, failed.error["code"]) == ("failed", "worker_died")


def test_calls_that_the_pool_loses_are_made_again(world):
    class Losing(InlinePool):
        lost = 0

        def submit(self, function, *arguments):
            if self.lost < 2:
                self.lost += 1
                future: Future = Future()
                future.set_exception(PoolLost())
                return future
            return super().submit(function, *arguments)

    job = world.enqueue(blocks=3)
    world.runner(Losing()).step()
    assert world.read(job).result == answer_of(blocks=3, seed=1)


def test_a_computation_that_raises_fails_its_job_and_says_nothing_of_the_data(world):
    job = world.enqueue(fail_at=2)
    world.runner().step()
    failed = world.read(job)
    assert failed.state == "failed"
    assert failed.error["code"] == "not_computable"
    assert "sixes" not in str(failed.error)


def test_a_cancelled_job_stops_within_its_shard_and_keeps_nothing(world):
    job = world.enqueue(blocks=50, seconds=50.0)

    class Cancelling(InlinePool):
        def submit(self, function, *arguments):
            if len(self.calls) == 2:
                assert world.change(lambda session: jobs.cancel(session, job))
            return super().submit(function, *arguments)

    pool = Cancelling()
    assert world.runner(pool).step()
    assert world.read(job).state == "cancelled"
    assert len(pool.calls) == 3
    assert shards_of(world, job) == []


def test_a_cancelled_job_in_one_piece_is_noticed_before_it_ends(world, monkeypatch):
    monkeypatch.setattr("service.jobs.attempt.LOOK_SECONDS", 0.0)
    monkeypatch.setattr("service.jobs.attempt.TICK_SECONDS", 0.01)
    job = world.enqueue(blocks=1)
    thread = threading.Thread(target=world.runner(StuckPool()).step)
    thread.start()
    while world.read(job).state != "running":
        pass
    assert world.change(lambda session: jobs.cancel(session, job))
    thread.join(30)
    assert not thread.is_alive()


def test_a_runner_that_stops_puts_its_jobs_back(world):
    job = world.enqueue(blocks=50, seconds=50.0)

    class Stopping(InlinePool):
        def submit(self, function, *arguments):
            if len(self.calls) == 2:
                runner.stop()
            return super().submit(function, *arguments)

    runner = world.runner(Stopping())
    runner.step()
    back = world.read(job)
    assert (back.state, back.attempts) == ("queued", 0)
    assert len(shards_of(world, job)) == 2
    world.runner().step()
    assert world.read(job).result == answer_of(blocks=50, seconds=50.0, seed=1)


def test_projects_take_turns_whatever_waits_before(world):
    for _ in range(6):
        world.enqueue("one", blocks=1)
    late = world.enqueue("two", blocks=1)
    runner = world.runner()
    runner.step()
    runner.step()
    assert world.read(late).state == "succeeded"


def test_a_thousand_waiting_jobs_of_one_project_delay_another_by_one(world):
    def flood(session):
        for number in range(1_000):
            new = jobs.NewJob(
                id=f"flood{number}",
                project_id=world.projects["one"],
                kind="dice",
                params={"version": 1, "blocks": 0, "seconds": 1.0},
                created_at=datetime(2027, 1, 1, tzinfo=UTC) + timedelta(seconds=number),
            )
            jobs.enqueue(session, new)

    world.change(flood)
    late = world.enqueue("two", blocks=1)
    claimed = [world.change(lambda s: job_leases.claim(s, runner="a", lease_seconds=60)).id for _ in range(2)]
    assert late.id in claimed


def test_a_long_job_makes_room_between_shards(world):
    """One thread, a job of 40 shards under way: another project's job waits for one shard of it."""
    long = world.enqueue("one", blocks=40, seconds=40.0)
    order = []

    class Watching(InlinePool):
        def submit(self, function, *arguments):
            order.append(arguments[2])
            if len(order) == 3:
                world.enqueue("two", blocks=2, seconds=2.0)
            return super().submit(function, *arguments)

    runner = world.runner(Watching(), runner_threads=1)
    for _ in range(20):
        if not runner.step():
            break
    assert world.read(long).state == "succeeded"
    bodies = list(dict.fromkeys(order))
    assert [bodies.index(body) for body in order[:5]] == [0, 0, 0, 1, 0]
    assert [bodies.index(body) for body in order].index(1) == 3
    assert len(order) == 40 + 2 + 2


def test_a_verdict_that_is_due_waits_for_one_shard_of_its_project_s_tests(world, monkeypatch):
    """One thread, a test of 40 shards under way and others waiting: the verdict goes before all of them."""
    under_way, *_waiting = [world.enqueue("one", blocks=40, seconds=40.0) for _ in range(3)]
    drawn, judged_after = [], []

    class Watching(InlinePool):
        def submit(self, function, *arguments):
            drawn.append(arguments)
            if len(drawn) == 3:
                world.change(due)
            return super().submit(function, *arguments)

    def due(session):
        now = datetime(2028, 1, 1, tzinfo=UTC)
        project = world.projects["one"]
        values = {"kind": "verdict", "subject": "r", "params": {}, "created_at": now}
        jobs.enqueue(session, jobs.NewJob(id="judged", project_id=project, **values))

    def judge(_self, attempt, _outranked):
        judged_after.append(len(drawn))
        attempt.write(lambda session: job_leases.finish(session, attempt.job, {}))

    monkeypatch.setattr(VerdictJob, "run", judge)
    runner = world.runner(Watching(), runner_threads=1)
    runner.step()
    assert world.read(under_way).state == "queued"
    runner.step()
    assert judged_after == [3]


def test_tests_that_never_end_keep_no_other_project_s_verdict_waiting(world, monkeypatch):
    """As many whole tests as one project may ask for, none of which ever answers: another's verdict begins."""
    judged, asked, rest = threading.Event(), threading.Event(), Alarm.wait

    def ask(session, project, number, kind, **more):
        at = datetime(2027, 1, 1, tzinfo=UTC) + timedelta(seconds=number)
        job = {"params": {"version": 1, "blocks": 0, "seconds": 1.0}, "created_at": at, **more}
        jobs.enqueue(
            session, jobs.NewJob(id=f"{kind}{number}", project_id=world.projects[project], kind=kind, **job)
        )

    def flood(session):
        for number in range(20):
            ask(session, "one", number, "dice")
            job_work.put_input(session, f"dice{number}", b"{}")

    def due(session):
        ask(session, "two", 99, "verdict", subject="r")

    def judge(_self, attempt, _outranked):
        attempt.write(lambda session: job_leases.finish(session, attempt.job, {}))
        judged.set()

    def wait(alarm, seconds):
        if not asked.is_set():  # the runner has taken all that it takes
            asked.set()
            world.change(due)
        return rest(alarm, min(seconds, 0.1))

    monkeypatch.setattr(VerdictJob, "run", judge)
    monkeypatch.setattr(Alarm, "wait", wait)
    world.change(flood)
    runner = world.runner(StuckPool(workers=2))
    running = threading.Thread(target=runner.run)
    running.start()
    try:
        assert judged.wait(60)
    finally:
        runner.stop()
        running.join()


def test_equal_requests_of_a_project_share_a_job_and_its_answer(world):
    first = world.enqueue(seed=9)
    assert world.enqueue(seed=9).id == first.id
    assert world.enqueue(seed=10).id != first.id
    assert world.enqueue("two", seed=9).id != first.id
    runner = world.runner()
    while runner.step():
        pass
    again = world.enqueue(seed=9)
    assert (again.id, again.state) == (first.id, "succeeded")


def test_runners_at_once_do_every_job_once(world):
    made = [world.enqueue(name, blocks=2, seconds=2.0) for name in ("one", "two") for _ in range(15)]
    pools = [InlinePool() for _ in range(4)]
    threads = [threading.Thread(target=drain, args=(world.runner(pool),)) for pool in pools]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {world.read(job).state for job in made} == {"succeeded"}
    drawn = Counter((call[3], *call[4:]) for pool in pools for call in pool.calls if call[0] is tasks.draw)
    assert set(drawn.values()) == {1}
    assert len(drawn) == 60


def drain(runner):
    while runner.step():
        pass


def test_the_pieces_are_those_that_no_shard_has():
    have = [Shard(5, 2, b""), Shard(0, 3, b"")]
    assert list(cut_missing(have, 10, 2)) == [range(3, 5), range(7, 9), range(9, 10)]
    assert list(cut_missing([], 0, 3)) == []
    assert list(cut_missing([Shard(0, 4, b"")], 4, 3)) == []


def test_a_stored_shard_needs_the_lease(world):
    job = world.enqueue()
    claimed = world.change(lambda s: job_leases.claim(s, runner="a", lease_seconds=60))
    world.change(lambda s: job_leases.release(s, claimed, counts=False))
    stored = world.change(lambda s: job_leases.store_shard(s, claimed, Shard(0, 1, b"x"), 0.5))
    assert not stored
    assert shards_of(world, job) == []


def test_a_runner_holds_several_jobs_and_ends_when_told(world):
    made = [world.enqueue(blocks=3) for _ in range(5)]
    runner = world.runner(ThreadPool(2), runner_poll_seconds=0.05)
    thread = threading.Thread(target=runner.run)
    thread.start()
    while {world.read(job).state for job in made} != {"succeeded"}:
        pass
    runner.stop()
    thread.join(30)
    assert not thread.is_alive()


def test_old_answers_expire_and_verdicts_do_not(world):
    job = world.enqueue()
    world.runner().step()
    ended = world.read(job).finished_at
    with world.database.write() as session:
        assert jobs.expire(session, before=ended, spare=("verdict",)) == 0
    after = ended + timedelta(seconds=1)
    with world.database.write() as session:
        assert jobs.expire(session, before=after, spare=("verdict", "dice")) == 0
        assert jobs.expire(session, before=after, spare=("verdict",)) == 1


def test_an_attempt_prints_no_request(world):
    job = world.enqueue(seed=12345)
    attempt = Attempt(
        job,
        database=world.database,
        pool=InlinePool(),
        slots=None,
        limit_seconds=1,
        stopping=lambda: False,
    )
    assert "12345" not in repr(attempt)
