from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from service.errors import NotFound
from service.store.database import clock
from service.store.jobs import job_leases, jobs


class Passing:
    """A watch whose clock moves when it is told to."""

    def __init__(self):
        self.seconds = 0.0
        self.watch = job_leases.Watch(lambda: self.seconds)

    def __call__(self, session, seconds):
        """Leases that are abandoned after so many seconds more."""
        self.watch.find_abandoned(session)
        self.seconds += seconds
        return self.watch.find_abandoned(session)


@pytest.fixture
def later():
    return Passing()


@pytest.fixture
def step(monkeypatch):
    """Sets the clock of the store forward or back."""
    moved = timedelta()
    real = clock.read_now

    def by(seconds):
        nonlocal moved
        moved += timedelta(seconds=seconds)

    monkeypatch.setattr(clock, "read_now", lambda session: real(session) + moved)
    return by


def enqueue(world, session, number, **changes):
    values = {"kind": "verdict", "params": {"n": number}, "subject": None} | changes
    now = world.now + timedelta(seconds=number)
    return jobs.enqueue(session, jobs.NewJob(id=f"j{number}", project_id="project", created_at=now, **values))


def claim(session, **changes):
    return job_leases.claim(session, **{"runner": "one", "lease_seconds": 60} | changes)


def test_a_job_is_queued_with_what_it_was_given(world):
    with world.database.write() as session:
        job = enqueue(world, session, 1, subject="r1")
        assert (job.state, job.params, job.subject, job.attempts) == ("queued", {"n": 1}, "r1", 0)
        assert jobs.get(session, "project", "j1") == job
        for project, job_id in (("other", "j1"), ("project", "j2")):
            with pytest.raises(NotFound):
                jobs.get(session, project, job_id)


def test_jobs_are_claimed_oldest_first_and_once(world):
    with world.database.write() as session:
        for number in (2, 1):
            enqueue(world, session, number)
        claimed = [claim(session) for _ in range(3)]
    assert [job and job.id for job in claimed] == ["j1", "j2", None]
    assert {job.state for job in claimed[:2]} == {"running"}
    assert len({job.lease_token for job in claimed[:2]}) == 2


def test_what_a_record_waits_for_goes_before_the_tests_of_its_project(world):
    with world.database.write() as session:
        for number in range(3):
            enqueue(world, session, number, kind="mcnemar")
        for number, kind in ((3, "look"), (4, "verdict")):
            enqueue(world, session, number, kind=kind, subject="r")
        assert [claim(session).id for _ in range(3)] == ["j3", "j4", "j0"]
        assert claim(session, kinds=("mcnemar", "import")).id == "j1"


def test_a_test_makes_room_for_its_own_project_s_record_and_a_record_for_no_test(world):
    with world.database.write() as session:
        enqueue(world, session, 1, kind="mcnemar")
        test = claim(session)
        enqueue(world, session, 2, kind="mcnemar")
        assert not job_leases.has_waiting_record(session, test)
        enqueue(world, session, 3, subject="r")
        assert job_leases.has_waiting_record(session, test)
        assert not job_leases.is_outranked(session, test)
        verdict = claim(session)
        assert verdict.kind == "verdict"
        assert not job_leases.has_waiting_record(session, test)
        enqueue(world, session, 4, subject="s")
        assert not job_leases.has_waiting_record(session, verdict)


def test_a_project_that_is_full_is_passed_over_of_everything_or_of_tests(world):
    with world.database.write() as session:
        enqueue(world, session, 1, kind="mcnemar")
        enqueue(world, session, 2, subject="r")
        everything, tests = (
            job_leases.Full(frozenset({"project"})),
            job_leases.Full(tests=frozenset({"project"})),
        )
        assert not job_leases.is_claimable(session, full=everything)
        assert claim(session, full=everything) is None
        assert job_leases.is_claimable(session, full=tests)
        assert claim(session, full=tests).id == "j2"
        assert not job_leases.is_claimable(session, full=tests)
        assert claim(session, full=tests) is None
        assert claim(session, full=job_leases.Full(frozenset({"other"}), frozenset({"other"}))).id == "j1"


def test_a_runner_takes_only_kinds_it_knows(world):
    with world.database.write() as session:
        enqueue(world, session, 1, kind="verdict")
        assert claim(session, kinds=("import",)) is None
        assert claim(session, kinds=()) is None
        assert claim(session, kinds=("import", "verdict")).id == "j1"


def test_a_look_finds_what_a_claim_would_take(world, later):
    with world.database.write() as session:
        assert not job_leases.is_claimable(session)
        enqueue(world, session, 1, kind="verdict")
        assert job_leases.is_claimable(session)
        assert job_leases.is_claimable(session, ("import", "verdict"))
        assert not job_leases.is_claimable(session, ("import",))
        claim(session)
        assert not job_leases.is_claimable(session)
        assert not job_leases.is_claimable(session, abandoned=later(session, 59))
        assert job_leases.is_claimable(session, abandoned=later(session, 2))


def test_jobs_are_listed_newest_first_by_state_and_without_their_results(world):
    with world.database.write() as session:
        first, second = (enqueue(world, session, number) for number in (1, 2))
        job_leases.finish(session, claim(session), {"large": True})
        newest, following = jobs.read_page(session, first.project_id, limit=1)
        older, end = jobs.read_page(session, first.project_id, limit=1, cursor=following)
        done, _ = jobs.read_page(session, first.project_id, state="succeeded")
        assert jobs.read_page(session, "another project") == ([], None)
    assert [each.id for each in (*newest, *older)] == [second.id, first.id]
    assert (end, [(each.id, each.result) for each in done]) == (None, [(first.id, None)])


def test_a_finished_job_shows_its_result(world):
    with world.database.write() as session:
        enqueue(world, session, 1)
        job = claim(session)
        assert job_leases.finish(session, job, {"answer": 1})
        done = jobs.get(session, "project", "j1")
        assert (done.state, done.result, done.error, done.progress) == ("succeeded", {"answer": 1}, None, 1.0)
        assert done.finished_at is not None
        assert claim(session) is None
        assert not job_leases.finish(session, job, {"answer": 2})
        assert not job_leases.fail(session, job, {"code": "x"})
        assert not job_leases.heartbeat(session, job)
        assert jobs.get(session, "project", "j1") == done


def test_a_failed_job_shows_why(world):
    with world.database.write() as session:
        enqueue(world, session, 1)
        assert job_leases.fail(session, claim(session), {"code": "x"})
        failed = jobs.get(session, "project", "j1")
        assert (failed.state, failed.result, failed.error) == ("failed", None, {"code": "x"})
        assert claim(session) is None


def test_a_heartbeat_keeps_the_lease(world, later):
    with world.database.write() as session:
        enqueue(world, session, 1)
        job = claim(session)
        assert later(session, 50) == frozenset()
        assert job_leases.heartbeat(session, job)
        assert claim(session, abandoned=later(session, 50)) is None


def test_a_runner_that_stays_silent_loses_the_job_and_writes_nothing(world, later):
    with world.database.write() as session:
        enqueue(world, session, 1)
        silent = claim(session)
        second = claim(session, runner="two", abandoned=later(session, 61))
        assert (second.id, second.attempts, second.runner) == ("j1", 2, "two")
        assert second.started_at == silent.started_at
        assert not job_leases.heartbeat(session, silent)
        assert not job_leases.finish(session, silent, {"answer": "stale"})
        assert not job_leases.fail(session, silent, {"code": "stale"})
        assert job_leases.finish(session, second, {"answer": "fresh"})
        assert jobs.get(session, "project", "j1").result == {"answer": "fresh"}


def test_an_expired_lease_that_nobody_took_still_finishes(world, step):
    with world.database.write() as session:
        enqueue(world, session, 1)
        job = claim(session)
        step(1000)
        assert job_leases.finish(session, job, {})


@pytest.mark.parametrize("hour", [3600, -3600], ids=["forward", "back"])
def test_a_clock_that_is_set_takes_no_job_from_its_runner(world, later, step, hour):
    with world.database.write() as session:
        enqueue(world, session, 1)
        job = claim(session)
        for way in (hour, -hour):  # and put right again
            step(way)
            assert claim(session, abandoned=later(session, 30)) is None
            assert job_leases.heartbeat(session, job)
        assert jobs.get(session, "project", "j1").attempts == 1
        assert job_leases.finish(session, job, {})


@pytest.mark.parametrize("hour", [3600, -3600], ids=["forward", "back"])
def test_a_dead_runners_job_is_taken_after_its_lease_whatever_the_clock_says(world, later, step, hour):
    with world.database.write() as session:
        enqueue(world, session, 1)
        claim(session)
        step(hour)
        assert claim(session, abandoned=later(session, 59)) is None
        assert claim(session, abandoned=later(session, 2)).attempts == 2


def test_a_lease_that_was_extended_after_the_look_is_kept(world, later):
    with world.database.write() as session:
        enqueue(world, session, 1)
        job = claim(session)
        gone = later(session, 61)
        assert job_leases.heartbeat(session, job)
        assert claim(session, abandoned=gone) is None


def test_a_job_that_kills_its_runners_is_failed(world, later):
    with world.database.write() as session:
        enqueue(world, session, 1)
        gone = ()
        for _ in range(3):
            job = claim(session, max_attempts=3, abandoned=gone)
            gone = later(session, 61)
        assert claim(session, max_attempts=3, abandoned=gone) is None
        dead = jobs.get(session, "project", "j1")
        assert (dead.state, dead.attempts, dead.error["code"]) == ("failed", 3, "job_abandoned")
        assert not job_leases.finish(session, job, {})


def test_a_subject_has_one_unfinished_job(world):
    with world.database.write() as session:
        first = enqueue(world, session, 1, subject="r1")
        assert enqueue(world, session, 2, subject="r1") == first
        assert enqueue(world, session, 3, subject="r2").id == "j3"
        assert enqueue(world, session, 4, subject="r1", kind="import").id == "j4"
        assert job_leases.fail(session, claim(session, kinds=("verdict",)), {"code": "x"})
        again = enqueue(world, session, 5, subject="r1")
        assert again.id == "j5"
        assert jobs.find_latest(session, "project", kind="verdict", subject="r1") == again
        assert jobs.find_latest(session, "other", kind="verdict", subject="r1") is None


def test_the_newest_job_that_found_something_is_found_behind_one_that_did_not(world):
    with world.database.write() as session:
        for number, result in enumerate(({"reading": {"stop": False}}, {"stop": None})):
            enqueue(world, session, number, kind="monitor", subject="r1")
            assert job_leases.finish(session, claim(session), result)
        assert jobs.find_latest(session, "project", kind="monitor", subject="r1").id == "j1"
        assert jobs.find_latest(session, "project", kind="monitor", subject="r1", result="reading").id == "j0"
        assert jobs.find_latest(session, "project", kind="monitor", subject="r1", result="looks") is None


def test_jobs_without_subject_do_not_merge(world):
    with world.database.write() as session:
        assert [enqueue(world, session, number).id for number in (1, 2)] == ["j1", "j2"]


def test_unfinished_jobs_are_counted(world):
    with world.database.write() as session:
        assert jobs.count_by_state(session) == {"queued": 0, "running": 0}
        for number in range(3):
            enqueue(world, session, number)
        claim(session)
        job_leases.finish(session, claim(session), {})
        assert jobs.count_by_state(session) == {"queued": 1, "running": 1}


def test_runners_at_once_share_the_jobs(world):
    with world.database.write() as session:
        for number in range(20):
            enqueue(world, session, number)

    def run(name):
        taken = []
        while True:
            with world.database.write() as session:
                job = claim(session, runner=f"r{name}")
            if job is None:
                return taken
            with world.database.write() as session:
                assert job_leases.finish(session, job, {"by": name})
            taken.append(job.id)

    with ThreadPoolExecutor(8) as pool:
        taken = [job for jobs_of_one in pool.map(run, range(8)) for job in jobs_of_one]
    assert sorted(taken) == sorted(f"j{number}" for number in range(20))


def test_a_claimed_job_prints_no_token_and_no_result(world):
    with world.database.write() as session:
        enqueue(world, session, 1)
        job = claim(session)
        job_leases.finish(session, job, {"answer": "secret"})
        assert job.lease_token not in repr(job)
        assert "secret" not in repr(jobs.get(session, "project", "j1"))
