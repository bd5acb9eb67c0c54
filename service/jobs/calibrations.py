"""The job of a calibration: runs in blocks, cut into shards, and one answer from all of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache

from service.domain.calibration import Calibrator, conclude
from service.domain.calibration_case import unpack
from service.errors import Conflict
from service.jobs import tasks
from service.jobs.attempt import Attempt, Call
from service.jobs.computations import INLINE_BYTES, SHARD_SECONDS, cuts
from service.jobs.pool import Data
from service.store import job_leases, job_work
from service.store.job_work import Shard


class CalibrationJob:
    """Runs one stored case."""

    def run(self, attempt: Attempt, outranked: Callable[[], bool]) -> None:
        """Run the blocks that are not stored yet, then conclude."""
        job = attempt.job
        with attempt.database.read() as session:
            body, shards = job_work.get_input(session, job.id), job_work.get_shards(session, job.id)
        if body is None:
            raise Conflict("the job's data are gone")
        sent = body if len(body) <= INLINE_BYTES else Data(body)
        blocks, seconds = int(job.params["blocks"]), float(job.params["seconds"])
        at_once = max(1, round(SHARD_SECONDS * blocks / max(seconds, 1e-9)))
        size = min(at_once, -(-blocks // attempt.workers))

        def store(call: Call, value: bytes) -> None:
            first, count = call.arguments[-2:]
            shard = Shard(int(str(first)), int(str(count)), value)
            shards.append(shard)
            progress = min(0.99, sum(each.blocks for each in shards) / blocks)
            attempt.write(lambda session: job_leases.store_shard(session, job, shard, progress))

        missing = [Call(draw, (sent, cut.start, len(cut))) for cut in cuts(shards, blocks, size)]
        attempt.each(missing, store, outranked)
        shards.sort(key=lambda shard: shard.first)
        result = json.loads(attempt.compute(answer, sent, tuple(shard.value for shard in shards)))
        attempt.write(lambda session: job_leases.finish(session, job, result))


def draw(body: bytes, first: int, blocks: int) -> bytes:
    """What became of the hypotheses in consecutive blocks of runs, packed; in a worker."""
    return tasks.pack(_calibrator(body).draw(range(first, first + blocks)))


def answer(body: bytes, shards: Sequence[bytes]) -> str:
    """The calibration as JSON; in a worker."""
    return conclude(unpack(body), tasks.join(shards)).model_dump_json()


@lru_cache(maxsize=2)
def _calibrator(body: bytes) -> Calibrator:
    """Made once per worker: the shards of a job share what was judged."""
    return Calibrator(unpack(body))
