"""The job of a calibration: runs in blocks, cut into shards, and one answer from all of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache

from service.domain.calibration.calibration import Calibrator, conclude
from service.domain.calibration.case import unpack
from service.jobs import tasks
from service.jobs.attempt import Attempt
from service.jobs.computations import count_blocks_per_shard, draw_missing, read_stored
from service.store.jobs import job_leases


class CalibrationJob:
    """The handler of calibrations: runs one stored case block by block and stores what it shows."""

    def run(self, attempt: Attempt, outranked: Callable[[], bool]) -> None:
        """Run the blocks that are not stored yet, then conclude."""
        job = attempt.job
        sent, shards = read_stored(attempt)
        blocks, seconds = int(job.params["blocks"]), float(job.params["seconds"])
        # -(-a // b) rounds up: no shard is so long that a worker has none.
        size = min(count_blocks_per_shard(blocks, seconds), -(-blocks // attempt.workers))
        values = draw_missing(attempt, shards, blocks, size, (draw, (sent,)), outranked)
        result = json.loads(attempt.compute(conclude_as_json, sent, values))
        attempt.write(lambda session: job_leases.finish(session, job, result))


def draw(body: bytes, first: int, blocks: int) -> bytes:
    """Draw consecutive blocks of runs and judge the hypotheses in them; packed. Runs in a worker."""
    return tasks.pack(_make_calibrator(body).draw(range(first, first + blocks)))


def conclude_as_json(body: bytes, shards: Sequence[bytes]) -> str:
    """Conclude the calibration from all shards, as JSON. Runs in a worker."""
    return conclude(unpack(body), tasks.join(shards)).model_dump_json()


@lru_cache(maxsize=2)
def _make_calibrator(body: bytes) -> Calibrator:
    """Make the calibrator of a case, once per worker: the shards of a job share what was judged."""
    return Calibrator(unpack(body))
