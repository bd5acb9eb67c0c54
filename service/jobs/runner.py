"""The runner: claim a job under a lease, compute it outside any transaction, record what came out.

A runner may die anywhere. Its lease then runs out, another claims the job, and a runner that lost
its lease writes nothing, so every job is recorded once.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
import uuid
from collections.abc import Mapping
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as StillRunning
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol

from sqlalchemy.orm import Session

from service.config import Settings
from service.errors import ForelockError, Unavailable
from service.jobs.executor import Executor
from service.jobs.verdicts import VerdictJob
from service.jobs.work import Work
from service.keyring import Keyring
from service.store import jobs
from service.store.engine import Database
from service.store.jobs import Job
from service.wake import Alarm

log = logging.getLogger("forelock.runner")

DATABASE_PAUSE_SECONDS = 2.0


class LeaseLost(Exception):
    """Another runner has the job now; nothing of this attempt may be written."""


class TimeLimit(ForelockError):
    """The computation took longer than the deployment allows."""

    code, title = "time_limit", "The computation took too long"


class JobHandler(Protocol):
    """One kind of job: what to compute, and how to record it."""

    def load(self, session: Session, job: Job) -> Work:
        """Read the inputs."""

    def record(self, session: Session, job: Job, computed: Any) -> Mapping[str, Any]:
        """Store what was computed, in the transaction that finishes the job; returns the job's result."""


class Runner:
    """Claims and computes jobs until told to stop."""

    def __init__(
        self, *, database: Database, keyring: Keyring, executor: Executor, alarm: Alarm, settings: Settings
    ) -> None:
        self._database, self._executor, self._alarm, self._settings = database, executor, alarm, settings
        self._handlers: Mapping[str, JobHandler] = {"verdict": VerdictJob(keyring)}
        self._name = uuid.uuid4().hex
        self._stopping = threading.Event()

    def stop(self) -> None:
        """Finish nothing more; safe to call from a signal handler."""
        self._stopping.set()
        self._alarm.ring()

    def run(self) -> None:
        """Work until `stop`; a database that is away is waited for."""
        try:
            while not self._stopping.is_set():
                try:
                    worked = self.step()
                except Unavailable as error:
                    log.warning("%s", error.detail)
                    self._stopping.wait(DATABASE_PAUSE_SECONDS)
                    continue
                if not worked and not self._stopping.is_set():
                    self._alarm.wait(self._settings.runner_poll_seconds)
        finally:
            self._executor.close()
            self._alarm.close()
            self._database.dispose()

    def step(self) -> bool:
        """Claim one job and see it through; False when there was none."""
        with self._database.write() as session:
            job = jobs.claim(
                session,
                runner=self._name,
                lease_seconds=self._settings.job_lease_seconds,
                kinds=tuple(self._handlers),
                max_attempts=self._settings.job_max_attempts,
            )
        if job is None:
            return False
        started = time.monotonic()
        outcome = self._see_through(job)
        log.info("job %s (%s) %s in %.2f s", job.id, job.kind, outcome, time.monotonic() - started)
        return True

    def _see_through(self, job: Job) -> str:
        """Compute and record; returns how it went, in a word for the log."""
        handler = self._handlers[job.kind]
        try:
            with self._database.read() as session:
                work = handler.load(session, job)
            self._record(
                handler, job, self._computed(job, self._executor.submit(work.function, *work.arguments))
            )
        except Unavailable:
            raise
        except LeaseLost:
            return "lost its lease"
        except CancelledError:
            return "was left to another runner"
        except Exception as error:  # noqa: BLE001 - whatever a computation raises ends its job, not the runner
            log.error("job %s failed: %s", job.id, _where(error))  # noqa: TRY400 - a traceback may hold outcomes
            with self._database.write() as session:
                jobs.fail(session, job, problem_of(error))
            return "failed"
        return "succeeded"

    def _record(self, handler: JobHandler, job: Job, computed: Any) -> None:
        with self._database.write() as session:
            result = handler.record(session, job, computed)
            if not jobs.finish(session, job, result):
                raise LeaseLost

    def _computed(self, job: Job, future: Future[Any]) -> Any:
        """The future's value, keeping the lease alive meanwhile."""
        beat = self._settings.job_lease_seconds / 3
        begun = last = time.monotonic()
        while True:
            try:
                return future.result(timeout=min(beat, 0.5))
            except StillRunning:
                if future.done():  # the computation itself timed out
                    raise
            if self._stopping.is_set():
                future.cancel()
                raise CancelledError
            if time.monotonic() - begun > self._settings.job_attempt_seconds:
                self._executor.close()  # the worker may never return
                raise TimeLimit("the job computed longer than FORELOCK_JOB_ATTEMPT_SECONDS allows")
            if time.monotonic() - last >= beat:
                last = time.monotonic()
                with self._database.write() as session:
                    if not jobs.heartbeat(session, job):
                        future.cancel()
                        raise LeaseLost


def problem_of(error: Exception) -> dict[str, Any]:
    """What a failed job shows: never the exception's own text, which could hold outcomes."""
    if isinstance(error, BrokenProcessPool):
        return {"code": "worker_died", "detail": "the worker process ended while computing"}
    if isinstance(error, ForelockError):
        return {"code": error.problem_code, "detail": error.title}
    return {"code": "internal_error", "detail": f"the computation failed ({type(error).__name__})"}


def _where(error: Exception) -> str:
    """The error's type and the place it was raised: its text may hold outcomes."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"
