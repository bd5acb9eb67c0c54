"""One attempt at a job: calls to the pool while the lease is kept alive, and writes only under it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.orm import Session

from service.errors import ForelockError
from service.jobs.pool import Pool, PoolLost, PoolUnavailable
from service.jobs.slots import Slots
from service.store.database.engine import Database
from service.store.jobs import job_leases, jobs
from service.store.jobs.jobs import Job

TICK_SECONDS = 0.5
"""Seconds between two checks whether a computation may go on."""
LOOK_SECONDS = 1.0
"""Seconds between two reads of a running job, to see whether it was cancelled."""
REPEATS = 5
"""Calls of one attempt that the pool may lose; after one more it counts as away."""


class LeaseLost(Exception):
    """Another runner has the job now, or it was cancelled; nothing of this attempt may be written."""


class PutBack(Exception):
    """The runner stops, or another project's turn has come; the shards so far are stored."""


class TimeLimit(ForelockError):
    """The computation took longer than the deployment allows."""

    code, title = "time_limit", "The computation took too long"


@dataclass(frozen=True, slots=True)
class Call:
    """A call for the pool: a pure function and its picklable arguments."""

    function: Callable[..., Any]
    arguments: tuple[object, ...] = field(repr=False)
    long: bool = False
    """Whether it may take as long as a computation is allowed to, and no record waits for it."""


@dataclass(slots=True)
class _Flight:
    """A call that the pool has, and the time of the monotonic clock at which it was handed over."""

    call: Call
    begun: float


class Attempt:
    """One attempt at a job: what the handler of its kind computes and writes by."""

    def __init__(
        self,
        job: Job,
        *,
        database: Database,
        pool: Pool,
        slots: Slots,
        limit_seconds: float,
        stopping: Callable[[], bool],
    ) -> None:
        self.job, self.database = job, database
        self.workers = pool.workers
        self._pool, self._slots, self._limit, self._stopping = pool, slots, limit_seconds, stopping
        self._flying: dict[Future[Any], _Flight] = {}
        self._looked = self._beaten = time.monotonic()

    def compute(self, function: Callable[..., Any], *arguments: object, long: bool = False) -> Any:
        """Run one function in the pool and return its value; raises what `run_all` raises."""
        values: list[Any] = []
        self.run_all([Call(function, arguments, long)], lambda _call, value: values.append(value))
        return values[0]

    def run_all(
        self,
        calls: Iterable[Call],
        done: Callable[[Call, Any], None],
        put_back: Callable[[], bool] = lambda: False,
    ) -> None:
        """Run the calls side by side, as the pool has room; `done` sees each value as it comes.

        Where `put_back` turns true no further call starts; those in flight, and one at least, are seen
        through first.

        Raises:
            LeaseLost, PutBack, TimeLimit, PoolUnavailable, or what a call raised.
        """
        waiting, lost, landed, leaving = deque(calls), 0, 0, False
        try:
            while waiting or self._flying:
                # One call at least lands before: a job that is put back again and again still gets on.
                leaving = leaving or (landed > 0 and bool(waiting) and put_back())
                if leaving and not self._flying:
                    raise PutBack
                while waiting and not leaving and self._take(waiting[0]):
                    self._start(waiting)
                for future in self._wait_for_any():
                    flight = self._land(future)
                    try:
                        value = future.result()
                    except PoolLost:
                        # Submitted again, before the others: the call itself did nothing wrong.
                        lost += 1
                        if lost > REPEATS:
                            raise PoolUnavailable("the worker pool loses what it is given") from None
                        waiting.appendleft(flight.call)
                    else:
                        landed += 1
                        done(flight.call, value)
        finally:
            # However it ends, permits go back: a runner that keeps them would starve every other job.
            for future in list(self._flying):
                self._land(future)
                future.cancel()

    def write(self, store: Callable[[Session], bool]) -> None:
        """Run `store` in a transaction; it tells whether the lease was held."""
        with self.database.write() as session:
            if not store(session):
                raise LeaseLost

    def _take(self, call: Call) -> bool:
        """Take a permit for a call; False where none came.

        It is waited for only when nothing is in flight: otherwise the calls that are have to be seen to.
        """
        patience = 0 if self._flying else TICK_SECONDS
        return self._slots.take(self.job.project_id, patience, long=call.long)

    def _give(self, call: Call) -> None:
        self._slots.give(self.job.project_id, long=call.long)

    def _start(self, waiting: deque[Call]) -> None:
        call = waiting.popleft()
        try:
            future = self._submit(call)
        except BaseException:
            self._give(call)
            raise
        self._flying[future] = _Flight(call, time.monotonic())

    def _submit(self, call: Call) -> Future[Any]:
        """Hand a call to the pool, and keep the lease meanwhile.

        To start a pool, or to send it much, may take longer than a lease, so a thread of its own does it.
        """
        handed: Future[Future[Any]] = Future()
        threading.Thread(
            target=_hand_over, args=(handed, self._pool, call), name="submit", daemon=True
        ).start()
        try:
            while not wait([handed], TICK_SECONDS).done:
                self._keep()
        except BaseException:
            # The thread goes on handing over; what it then gets for nobody is cancelled.
            handed.add_done_callback(_cancel_unawaited)
            raise
        return handed.result()

    def _land(self, future: Future[Any]) -> _Flight:
        """Take a call out of those in flight, and return its permit."""
        flight = self._flying.pop(future)
        self._give(flight.call)
        return flight

    def _wait_for_any(self) -> Iterable[Future[Any]]:
        """Wait for a tick, or until a call in flight ends, and return those that have ended."""
        done = wait(self._flying, TICK_SECONDS, FIRST_COMPLETED).done if self._flying else set()
        self._keep()
        return done

    def _keep(self) -> None:
        """Extend the lease where it is time; end the attempt where it may not go on.

        Raises:
            PutBack: the runner stops.
            TimeLimit: a call took longer than the deployment allows.
            LeaseLost: the job was cancelled, or another runner has it.
        """
        now = time.monotonic()
        if self._stopping():
            raise PutBack
        for future, flight in self._flying.items():
            if not future.done() and now - flight.begun > self._limit:
                self._pool.abandon(future)
                raise TimeLimit("the job computed longer than FORELOCK_JOB_ATTEMPT_SECONDS allows")
        # A third of the lease: two signs of life may fail before another runner takes the job.
        if now - self._beaten >= (self.job.lease_seconds or 0) / 3:
            self._beaten = self._looked = now
            self.write(lambda session: job_leases.heartbeat(session, self.job))
        # A read, which holds up no writer; the heartbeat above tells of a lost lease as well.
        elif now - self._looked >= LOOK_SECONDS:
            self._looked = now
            with self.database.read() as session:
                if not jobs.holds_lease(session, self.job):
                    raise LeaseLost


def _hand_over(handed: Future[Future[Any]], pool: Pool, call: Call) -> None:
    try:
        handed.set_result(pool.submit(call.function, *call.arguments))
    except BaseException as error:  # noqa: BLE001 - whoever waits for it raises it
        handed.set_exception(error)


def _cancel_unawaited(handed: Future[Future[Any]]) -> None:
    """Cancel a call that was handed to the pool when nobody waited for it any more."""
    if handed.exception() is None:
        handed.result().cancel()
