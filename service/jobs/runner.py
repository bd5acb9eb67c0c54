"""The runner: claim jobs under leases, have them computed outside any transaction, record what came out.

A runner may die anywhere. Its leases then run out, others claim the jobs and go on from the stored
shards, and a runner that lost a lease writes nothing, so every job is recorded once.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol

from service.actions.projects import embargoes
from service.config import Settings
from service.errors import ForelockError, Unavailable
from service.jobs.attempt import TICK_SECONDS, Attempt, LeaseLost, PutBack
from service.jobs.calibrations import CalibrationJob
from service.jobs.computations import make_handlers
from service.jobs.lanes import Lanes
from service.jobs.looks import LookJob
from service.jobs.outages import Outage
from service.jobs.pool import AWAY, Pool, PoolUnavailable, WorkerDied
from service.jobs.slots import Slots
from service.jobs.unblinding import UnblindingJob
from service.jobs.verdicts import VerdictJob
from service.keyring.keyring import Keyring
from service.processes.memory import give_back
from service.processes.wake import Alarm
from service.store.database import clock
from service.store.database.engine import Database
from service.store.jobs import job_leases, jobs
from service.store.jobs.jobs import Job

if TYPE_CHECKING:
    from service.jobs.outgoing import OutgoingProcess
    from service.telemetry.tracing import Tracing

log = logging.getLogger("forelock.runner")

PAUSE_SECONDS = 2.0
"""How long a thread rests whose job could not be written down: whether the database is back, the main one finds out."""
POOL_PAUSES = (0.5, 1.0, 2.0)
"""Seconds that a thread rests when the pool is away: shorter, since tests and verdicts wait for a free thread."""
TIDY_SECONDS = 60.0
"""Seconds between two rounds of dropping old jobs, giving memory back and ending embargoes."""


class JobHandler(Protocol):
    """One kind of job: what to compute, and how to record it."""

    def run(self, attempt: Attempt, outranked: Callable[[], bool]) -> None:
        """Compute the job and record its end; `outranked` tells that it should make room for another."""


class Runner:
    """Claims and computes jobs until told to stop, several at a time."""

    def __init__(
        self,
        *,
        database: Database,
        keyring: Keyring,
        pool: Pool,
        alarm: Alarm,
        settings: Settings,
        watch: job_leases.Watch | None = None,
        outgoing: OutgoingProcess | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        self._database, self._pool, self._alarm, self._settings = database, pool, alarm, settings
        look = LookJob(keyring)
        self._handlers: Mapping[str, JobHandler] = {
            "verdict": VerdictJob(keyring),
            "look": look,
            "monitor": look,
            "unblinding": UnblindingJob(keyring),
            "calibration": CalibrationJob(),
            **make_handlers(),
        }
        self._name = uuid.uuid4().hex
        self._stopping = threading.Event()
        self._slots = Slots(pool.workers)
        self._lanes = Lanes(settings.runner_threads or pool.workers + 2)
        self._tidied = time.monotonic()
        self._watch = watch or job_leases.Watch()
        self._tracing = tracing
        self._outgoing = outgoing
        rest = self._stopping.wait
        self._database_outage = Outage(database.why, "the database answers again", rest)
        self._pool_outage = Outage(
            lambda error: error.detail, "the worker pool answers again", rest, pauses=POOL_PAUSES
        )

    def stop(self) -> None:
        """Stop as soon as may be: what is under way is put back. Safe to call from a signal handler."""
        self._stopping.set()
        self._alarm.ring()

    def run(self) -> None:
        """Work until `stop`; a database that is away is waited for."""
        outgoing = None
        if self._outgoing is not None:
            outgoing = threading.Thread(
                target=self._outgoing.run, args=(self._stopping,), name="outgoing", daemon=True
            )
            outgoing.start()
        try:
            with ThreadPoolExecutor(self._lanes.threads, thread_name_prefix="job") as threads:
                while not self._stopping.is_set():
                    try:
                        started = self._start(threads)
                        self._tidy()
                    except Unavailable as error:
                        self._database_outage.wait_out(error)
                        continue
                    self._database_outage.end()
                    if not started and not self._stopping.is_set():
                        self._alarm.wait(self._settings.runner_poll_seconds)
        finally:
            if outgoing is not None:
                self._stopping.set()
                outgoing.join(TICK_SECONDS * 50)
            self.close()

    def close(self) -> None:
        """Close the pool, the alarm, the database and tracing."""
        self._pool.close()
        self._alarm.close()
        self._database.dispose()
        if self._tracing is not None:
            self._tracing.close()

    def step(self) -> bool:
        """Claim one job and compute it in this thread; False when there was none."""
        job = self._claim()
        if job is None:
            return False
        self._lanes.enter(job)
        try:
            self._attempt(job)
        finally:
            self._lanes.leave(job)
        return True

    def _start(self, threads: ThreadPoolExecutor) -> bool:
        """Claim a job and hand it to a free thread; False when either is missing."""
        job = self._claim(self._have_pool)
        if job is None:
            return False
        self._lanes.enter(job)
        threads.submit(self._hold, job)
        return True

    def _hold(self, job: Job) -> None:
        """Attempt a job in a thread of the runner, which survives whatever becomes of it."""
        try:
            self._attempt(job)
        except PoolUnavailable as error:
            self._pool_outage.wait_out(error)
        except Unavailable as error:
            log.warning("job %s was left: %s", job.id, self._database.why(error))
            self._stopping.wait(PAUSE_SECONDS)
        except Exception as error:  # noqa: BLE001 - the lease runs out, and the thread goes on
            log.error("job %s: %s", job.id, _describe_place(error))  # noqa: TRY400 - a traceback may hold outcomes
        finally:
            self._lanes.leave(job)
            self._alarm.ring()

    def _have_pool(self) -> None:
        """Bring the pool up before a job is claimed: no lease runs meanwhile, and no job is blamed for a failed start.

        A pool that cannot be brought up is reported by the job's own first call.
        """
        started = threading.Event()

        def start() -> None:
            with contextlib.suppress(Exception):
                self._pool.start()
            started.set()

        threading.Thread(target=start, name="start-pool", daemon=True).start()
        while not started.wait(TICK_SECONDS) and not self._stopping.is_set():
            pass

    def _claim(self, prepare: Callable[[], None] = lambda: None) -> Job | None:
        """Claim a job of a kind that a thread is free for; `prepare` runs once there is one to claim."""
        kinds, full = self._lanes.open_kinds(self._handlers), self._lanes.full()
        if not kinds:
            return None
        with self._database.read() as session:
            abandoned = self._watch.find_abandoned(session)
            if not job_leases.is_claimable(session, kinds, abandoned, full):
                return None
        prepare()
        if self._stopping.is_set():
            return None
        with self._database.write() as session:
            return job_leases.claim(
                session,
                runner=self._name,
                lease_seconds=self._settings.job_lease_seconds,
                kinds=kinds,
                max_attempts=self._settings.job_max_attempts,
                abandoned=abandoned,
                full=full,
            )

    def _attempt(self, job: Job) -> None:
        """Attempt a job, traced where the deployment traces, and log how it went."""
        started = time.monotonic()
        traced: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
        if self._tracing is not None:
            traced = self._tracing.job(job.kind, sealed=job.kind in jobs.OF_RECORDS)
        with traced:
            outcome = self._see_through(job)
        log.info("job %s (%s) %s in %.2f s", job.id, job.kind, outcome, time.monotonic() - started)

    def _see_through(self, job: Job) -> str:
        """Run the handler of the job's kind; returns how it went, in a word for the log."""
        attempt = Attempt(
            job,
            database=self._database,
            pool=self._pool,
            slots=self._slots,
            limit_seconds=self._settings.job_attempt_seconds,
            stopping=self._stopping.is_set,
        )
        try:
            self._handlers[job.kind].run(attempt, lambda: self._is_outranked(job))
        except LeaseLost:
            return "lost its lease, or was cancelled"
        except PutBack:
            self._put_back(job, counts=False)
            return "was put back"
        # Before `Unavailable`, whose subclass it is: only what waits for the pool says so on the job.
        except PoolUnavailable:
            self._put_back(job, counts=False, why=AWAY)
            raise
        except Unavailable:
            self._put_back(job, counts=False)
            raise
        except WorkerDied as error:
            if job.attempts < self._settings.job_max_attempts:
                self._put_back(job, counts=True)
                return "was put back: its worker died"
            return self._fail(job, error)
        except Exception as error:  # noqa: BLE001 - whatever a computation raises ends its job, not the runner
            log.error("job %s failed: %s", job.id, _describe_place(error))  # noqa: TRY400 - a traceback may hold outcomes
            return self._fail(job, error)
        self._pool_outage.end()
        return "succeeded"

    def _is_outranked(self, job: Job) -> bool:
        """Whether a job should make room: another project's, or one that a record waits for, finds no free thread."""
        opened = self._lanes.open_kinds(self._handlers)
        closed = tuple(kind for kind in self._handlers if kind not in opened)
        if not closed and job.project_id not in self._lanes.full().jobs:
            return False
        with self._database.read() as session:
            return job_leases.has_waiting_record(session, job) or (
                bool(closed) and job_leases.is_outranked(session, job, closed)
            )

    def _put_back(self, job: Job, *, counts: bool, why: Mapping[str, Any] | None = None) -> None:
        with self._database.write() as session:
            job_leases.release(session, job, counts=counts, why=why)

    def _fail(self, job: Job, error: Exception) -> str:
        with self._database.write() as session:
            job_leases.fail(session, job, describe_failure(error, job.kind))
        return "failed"

    def _tidy(self) -> None:
        """Drop jobs that ended long ago, give memory back, and end embargoes whose day has come.

        Does nothing within `TIDY_SECONDS` of the last time.
        """
        if time.monotonic() - self._tidied < TIDY_SECONDS:
            return
        self._tidied = time.monotonic()
        give_back()
        with self._database.write() as session:
            before = clock.read_now(session) - timedelta(days=self._settings.job_result_days)
            jobs.expire(session, before=before, spare=jobs.OF_RECORDS)
        embargoes.open_due(self._database)


def describe_failure(error: Exception, kind: str) -> dict[str, Any]:
    """Describe a failure as the problem document that the job shows.

    Where rows are sealed it never has the exception's own text, and before the verdict not even its code.
    """
    # An exception's text, its type and its place may all depend on outcomes, which nobody may see before the end.
    if kind in jobs.OF_RECORDS and kind != "verdict":
        return ForelockError("the computation failed").document()
    if isinstance(error, ForelockError):
        return error.document(error.title if kind == "verdict" else None)
    what = "" if kind == "verdict" else f" ({type(error).__name__})"
    return ForelockError(f"the computation failed{what}").document()


def _describe_place(error: Exception) -> str:
    """Describe an error by its type and the place where it was raised: its text may hold outcomes."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"
