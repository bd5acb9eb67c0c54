"""The job of a statistical test: cut into shards where it draws, whole where it does not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from service.errors import Conflict
from service.jobs import tasks
from service.jobs.attempt import Attempt, Call
from service.jobs.pool import Data
from service.store.jobs import job_leases, job_work
from service.store.jobs.job_work import Shard

SHARD_SECONDS = 1.0
"""Seconds that a shard is meant to take: long against sending it, short against waiting for it."""
INLINE_BYTES = 64 * 1024
"""A request up to this size travels with every call; a larger one is sent to the workers once."""


class TestJob:
    """The handler of statistical tests: runs one registered test on a stored request."""

    __test__ = False  # pytest takes classes named Test... for its own

    def run(self, attempt: Attempt, outranked: Callable[[], bool]) -> None:
        """Compute what is not stored yet, then the answer."""
        job = attempt.job
        sent, shards = read_stored(attempt)
        about = (job.kind, job.params["version"], sent)
        if job.params["blocks"] == 0:
            answer = attempt.compute(tasks.compute_whole, *about, long=True)
        else:
            answer = _compute_in_shards(attempt, about, shards, outranked)
        result = json.loads(answer)
        attempt.write(lambda session: job_leases.finish(session, job, result))


def _compute_in_shards(
    attempt: Attempt, about: tuple[object, ...], shards: list[Shard], outranked: Callable[[], bool]
) -> str:
    """Draw the missing blocks, and more where the test asks for more, and return the answer as JSON."""
    needed, seconds = int(attempt.job.params["blocks"]), float(attempt.job.params["seconds"])
    usual = count_blocks_per_shard(needed, seconds)
    while True:
        size = _balance_blocks(usual, needed, attempt.workers)
        values = draw_missing(attempt, shards, needed, size, (tasks.draw, about), outranked)
        result: int | str = attempt.compute(tasks.conclude, *about, needed, values)
        # A number says that p is too near to alpha with these draws: so many blocks are wanted in all.
        if isinstance(result, str):
            return result
        needed = result


def read_stored(attempt: Attempt) -> tuple[bytes | Data, list[Shard]]:
    """Read the job's input as it travels to workers, and the shards that are stored already.

    Raises:
        Conflict: the job has ended, and its input is gone.
    """
    with attempt.database.read() as session:
        body, shards = (
            job_work.find_input(session, attempt.job.id),
            job_work.read_shards(session, attempt.job.id),
        )
    if body is None:
        raise Conflict("the job's input is gone")
    return body if len(body) <= INLINE_BYTES else Data(body), shards


def draw_missing(
    attempt: Attempt,
    shards: list[Shard],
    needed: int,
    size: int,
    draw: tuple[Callable[..., bytes], tuple[object, ...]],
    outranked: Callable[[], bool],
) -> tuple[bytes, ...]:
    """Draw the blocks that no shard has, store them, and return the numbers of every shard in order.

    Args:
        attempt: at the job.
        shards: those that are stored; new ones are added to the list.
        needed: blocks of the whole job.
        size: blocks of a new shard, at most.
        draw: the function that draws in a worker, and its arguments before the first block and the count of blocks.
        outranked: tells that the job should make room for another.
    """
    function, about = draw

    def store(call: Call, value: bytes) -> None:
        # The last two arguments are the first block and the count, as `missing` below appends them.
        first, blocks = call.arguments[-2:]
        shard = Shard(int(str(first)), int(str(blocks)), value)
        shards.append(shard)
        progress = min(0.99, sum(shard.blocks for shard in shards) / needed)
        attempt.write(lambda session: job_leases.store_shard(session, attempt.job, shard, progress))

    missing = [Call(function, (*about, cut.start, len(cut))) for cut in cut_missing(shards, needed, size)]
    attempt.run_all(missing, store, outranked)
    shards.sort(key=lambda shard: shard.first)
    return tuple(shard.value for shard in shards)


def count_blocks_per_shard(blocks: int, seconds: float) -> int:
    """Count the blocks that make a shard of `SHARD_SECONDS`, where all blocks together take `seconds`."""
    return max(1, round(SHARD_SECONDS * blocks / max(seconds, 1e-9)))


def _balance_blocks(usual: int, blocks: int, workers: int) -> int:
    """Choose the blocks per shard so that the workers end together where the job is short."""
    # Whole rounds of all workers, of shards about as long as usual and never five times as long.
    rounds = max(1, round(blocks / (usual * workers)))
    return min(max(1, -(-blocks // (rounds * workers))), max(1, 5 * usual))


def cut_missing(shards: list[Shard], needed: int, size: int) -> Iterator[range]:
    """Cut the blocks that no stored shard has into ranges of at most `size`."""
    at = 0
    # The empty range at the end closes the last gap.
    for have in [
        *sorted((shard.which for shard in shards), key=lambda which: which.start),
        range(needed, needed),
    ]:
        for first in range(at, have.start, size):
            yield range(first, min(first + size, have.start))
        at = max(at, have.stop)


def make_handlers() -> dict[str, Any]:
    """Return a handler by name for every registered test."""
    from service.stats.shared.declaring import registry

    return dict.fromkeys(registry.latest(), TestJob())
