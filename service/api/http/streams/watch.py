"""Waiting for jobs: one look at the database for everybody who waits, soon at first and then less often."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field

from anyio import to_thread

from service.errors import Unavailable
from service.store.database.engine import Database
from service.store.jobs import jobs
from service.store.jobs.jobs import JobState

SOONEST, LATEST = 0.004, 0.25
"""Seconds between two looks; in between, a tenth of how long the newest waiter has waited."""

Standing = tuple[JobState, float | None]
"""A job's state and progress."""


@dataclass(eq=False, slots=True)
class _Waiter:
    """Somebody who waits until a job stands otherwise than it was last seen."""

    job_id: str
    seen: Standing | None
    since: float
    """When the wait began, by the monotonic clock."""
    news: asyncio.Future[Standing | None] = field(repr=False)


class Watch:
    """Tells waiters of one process when their job's state or progress changes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiters: set[_Waiter] = set()
        self._looking: asyncio.Task[None] | None = None

    async def wait_for_change(self, job_id: str, seen: Standing | None, seconds: float) -> Standing | None:
        """Wait until the job's state or progress differ from `seen`, at most so many seconds, and return them.

        `seen` itself when time is up; None when the job is gone.
        """
        waiter = _Waiter(job_id, seen, time.monotonic(), asyncio.get_running_loop().create_future())
        self._waiters.add(waiter)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        try:
            with contextlib.suppress(TimeoutError):
                return await asyncio.wait_for(waiter.news, max(seconds, 0))
            return seen
        finally:
            self._waiters.discard(waiter)

    async def wait_for_end(self, job_id: str, seconds: float) -> bool:
        """Wait for the job's end, at most so many seconds; False when it has not come by then."""
        until, seen = time.monotonic() + seconds, None
        while (left := until - time.monotonic()) > 0:
            seen = await self.wait_for_change(job_id, seen, left)
            if seen is None or seen[0] not in jobs.UNFINISHED:
                return True
        return False

    async def _look(self) -> None:
        """Read the jobs that somebody waits for, for as long as anybody does."""
        while self._waiters:
            waiters = list(self._waiters)
            with contextlib.suppress(Unavailable):
                states = await to_thread.run_sync(self._read_states, {waiter.job_id for waiter in waiters})
                for waiter in waiters:
                    now = states.get(waiter.job_id)
                    if now != waiter.seen and not waiter.news.done():
                        waiter.news.set_result(now)
                    if now is None and not waiter.news.done():
                        waiter.news.set_result(None)
            shortest_wait = time.monotonic() - max(waiter.since for waiter in waiters)
            await asyncio.sleep(min(max(shortest_wait / 10, SOONEST), LATEST))

    def _read_states(self, job_ids: set[str]) -> dict[str, Standing]:
        with self._database.read() as session:
            return jobs.read_states(session, job_ids)
