"""Calibration jobs: any number of workers gives the same answer, and what is stored is not run again."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from service.actions.verdicts import calibration as actions
from service.actions.verdicts.jobs import Quota, enqueue_once
from service.domain.calibration.calibration import Calibrator, block_count, conclude
from service.domain.calibration.case import case_of
from service.domain.moment import Moment
from service.jobs import calibrations
from service.store.jobs import job_work, jobs
from tests.domain import sample
from tests.domain.calibration.cases import ABOUT
from tests.pools import InlinePool, ThreadPool

pytestmark = pytest.mark.any_database

AT = datetime(2027, 1, 4, tzinfo=UTC)


def case():
    plan = sample.plan({"populations.0.n": 60})
    cells = sample.outcomes(*sample.binary(60, 20, 12, 8)).cells
    return case_of(plan, sample.manifests(plan), cells, runs=1000, seed=5, about=ABOUT)


def queued(world, seconds=20.0):
    with world.database.write() as session:
        return enqueue_once(
            session,
            actions.computation(case(), seconds),
            Moment(AT),
            project_id=world.projects["one"],
            keyring=world.keyring,
            quota=Quota(jobs=10, input_bytes=2**30),
        )


def in_one_piece():
    made = case()
    return conclude(made, Calibrator(made).draw(range(block_count(made)))).model_dump(mode="json")


@pytest.mark.parametrize("workers", [1, 3])
def test_shards_give_what_one_piece_gives(world, workers):
    job, pool = queued(world), ThreadPool(workers)
    assert world.runner(pool).step()
    assert world.read(job).result == in_one_piece()
    assert sum(call[0] is calibrations.draw for call in pool.calls) == 20
    pool.close()


def test_a_short_one_is_a_shard_per_worker(world):
    job, pool = queued(world, seconds=0.1), InlinePool(2)
    assert world.runner(pool).step()
    assert world.read(job).state == "succeeded"
    assert [call[-1] for call in pool.calls if call[0] is calibrations.draw] == [10, 10]


def test_what_a_dead_runner_stored_is_not_run_again(world):
    class Dying(InlinePool):
        def submit(self, function, *arguments):
            if len(self.calls) == 4:
                raise SystemExit
            return super().submit(function, *arguments)

    job = queued(world)
    with pytest.raises(SystemExit):
        world.runner(Dying(), job_lease_seconds=1e-6).step()
    with world.database.read() as session:
        assert len(job_work.read_shards(session, job.id)) == 4
    assert 0 < world.read(job).progress < 1
    pool = InlinePool()
    assert world.runner(pool).step()
    assert world.read(job).result == in_one_piece()
    assert sum(call[0] is calibrations.draw for call in pool.calls) == 16


def test_the_same_case_is_one_job(world):
    first, second = queued(world), queued(world)
    assert first.id == second.id
    with world.database.read() as session:
        assert jobs.count_unfinished(session, world.projects["one"], 10) == 1
