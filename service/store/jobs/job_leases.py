"""Leases on jobs: whose turn it is, who holds a job, and what only the holder may write.

A lease ends when nobody has extended it for its length as another runner measures that, with a clock that
never steps: the times in the rows are compared with one another and never with what time it is. So a clock
that is set, in either direction, takes no job from its runner and leaves none with a runner that died.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.errors import ForelockError
from service.store.database import clock
from service.store.database.tables import jobs
from service.store.jobs import job_work
from service.store.jobs.job_work import Shard
from service.store.jobs.jobs import OF_RECORDS, RELEASED, UNFINISHED_SQL, Job, read_row

MAX_ATTEMPTS = 3
"""A job whose runners died this often without storing a shard is failed: it may be what kills them."""
MOST_TURNS = 20
"""Projects that one claim tries; more only wait for the next."""


class Abandoned(ForelockError):
    """Every runner that took the job died over it."""

    code, title = "job_abandoned", "The job's runner died too often"


POISON = Abandoned(
    "every runner that took this job stopped without an answer; see the runner's log"
).document()


Lease = tuple[str, datetime]
"""The token of a lease, and when it was extended to last: together they change with every sign of life."""


@dataclass(frozen=True, slots=True)
class Full:
    """Ids of projects that hold as many threads of a runner as one may."""

    jobs: frozenset[str] = frozenset()
    """Projects of which no job is taken."""
    tests: frozenset[str] = frozenset()
    """Projects of which no job is taken but those that a record waits for."""


class Watch:
    """The leases that other runners hold, and for how long each has stayed as it is."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` counts seconds and never steps."""
        self._clock = clock
        self._since: dict[Lease, float] = {}

    def find_abandoned(self, session: Session) -> frozenset[Lease]:
        """Find the leases that have not been extended for their own length since they were first seen here."""
        now = self._clock()
        held = sa.select(jobs.c.lease_token, jobs.c.lease_expires_at, jobs.c.lease_seconds).where(
            jobs.c.state == "running"
        )
        seen = {(token, until): seconds for token, until, seconds in session.execute(held)}
        # A lease that was extended is another key here (its time is part of it), so its count begins anew.
        self._since = {lease: self._since.get(lease, now) for lease in seen}
        return frozenset(lease for lease, since in self._since.items() if now - since >= seen[lease])


def claim(
    session: Session,
    *,
    runner: str,
    lease_seconds: float,
    kinds: Collection[str] | None = None,
    max_attempts: int = MAX_ATTEMPTS,
    abandoned: Collection[Lease] = (),
    full: Full | None = None,
) -> Job | None:
    """Take a job that waits, or one of those whose lease is abandoned, but none that `full` projects may not have.

    Projects take turns: the one with the fewest running jobs, then the one that was served longest
    ago. Within a project the oldest job goes first, and those that a record waits for before all tests.
    """
    now, wanted = clock.read_now(session), _sort_kinds(kinds)
    bound = _bind_free(abandoned, full)
    _bury(session, now, max_attempts, bound)
    values = {
        **bound,
        "at": now,
        "new_runner": runner,
        "new_token": secrets.token_hex(16),
        "new_seconds": lease_seconds,
        "new_expiry": now + timedelta(seconds=lease_seconds),
    }
    for project_id in session.scalars(_select_turns(wanted), bound).all():
        # What a record waits for comes before tests.
        for records in (True, False):
            statement = _update_oldest(wanted, records)
            row = session.execute(statement, values | {"project": project_id}).mappings().one_or_none()
            if row is not None:  # None: others took what was there meanwhile
                return read_row(row)
    return None


def is_claimable(
    session: Session,
    kinds: Collection[str] | None = None,
    abandoned: Collection[Lease] = (),
    full: Full | None = None,
) -> bool:
    """Tell whether there is anything to claim, by a read that keeps no writer waiting."""
    free = session.execute(_select_any_free(_sort_kinds(kinds)), _bind_free(abandoned, full))
    return free.first() is not None


# Statements of a claim are made once: an idle runner and a busy one ask them several times for every job,
# and to make one takes longer than to execute it.
Kinds = tuple[str, ...] | None
_AT: sa.BindParameter[datetime] = sa.bindparam("at", type_=jobs.c.claimed_at.type)


_ABANDONED = sa.and_(
    jobs.c.state == "running",
    # By token and time: a runner that gave a sign of life after it was listed keeps its job.
    sa.tuple_(jobs.c.lease_token, jobs.c.lease_expires_at).in_(sa.bindparam("abandoned", expanding=True)),
)


def _bind_free(abandoned: Collection[Lease], full: Full | None = None) -> dict[str, Any]:
    """Return the values that every statement about free jobs binds."""
    full = full or Full()
    return {"abandoned": list(abandoned), "full": sorted(full.jobs), "full_of_tests": sorted(full.tests)}


def _sort_kinds(kinds: Collection[str] | None) -> Kinds:
    return None if kinds is None else tuple(sorted(kinds))


@lru_cache(maxsize=8)
def _select_any_free(kinds: Kinds) -> sa.Select[Any]:
    """Return the statement that selects a job which anybody may claim."""
    return sa.select(jobs.c.id).where(_match_free(kinds)).limit(1)


@lru_cache(maxsize=8)
def _select_turns(kinds: Kinds) -> sa.Select[Any]:
    """Return the statement that selects projects with jobs to claim, the one whose turn it is first."""
    waiting = sa.select(jobs.c.project_id).where(_match_free(kinds)).distinct().subquery()
    theirs = jobs.alias()
    last = sa.select(sa.func.max(theirs.c.claimed_at)).where(theirs.c.project_id == waiting.c.project_id)
    running = _count_running(waiting.c.project_id)
    # Never served comes first; the id makes the order the same for every runner.
    order = (running, last.scalar_subquery().asc().nulls_first(), waiting.c.project_id)
    return sa.select(waiting.c.project_id).order_by(*order).limit(MOST_TURNS)


@lru_cache(maxsize=8)
def _update_oldest(kinds: Kinds, records: bool) -> sa.sql.dml.ReturningUpdate[Any]:
    """The statement that takes a project's oldest free job; with `records` the oldest that a record waits for."""
    wanted = [_match_free(kinds), jobs.c.project_id == sa.bindparam("project")]
    if records:
        wanted.append(_match_records())
    oldest = (
        sa.select(jobs.c.id)
        .where(*wanted)
        .order_by(jobs.c.created_at, jobs.c.id)
        .limit(1)
        # Runners that claim at once each get another job instead of waiting for the first one's commit.
        .with_for_update(skip_locked=True)
    )
    return (
        sa.update(jobs)
        .where(jobs.c.id == oldest.scalar_subquery())
        .values(
            state="running",
            attempts=jobs.c.attempts + 1,
            runner=sa.bindparam("new_runner"),
            lease_token=sa.bindparam("new_token"),
            lease_seconds=sa.bindparam("new_seconds"),
            lease_expires_at=sa.bindparam("new_expiry"),
            # The first start stands, whoever goes on with the job.
            started_at=sa.func.coalesce(jobs.c.started_at, _AT),
            claimed_at=_AT,
            error=sa.null(),
        )
        .returning(jobs)
    )


def has_waiting_record(session: Session, job: Job) -> bool:
    """Tell whether the job is a test and a record of its own project waits for a runner."""
    if job.kind in OF_RECORDS:
        return False
    record = sa.select(jobs.c.id).where(
        _match_free(None), jobs.c.project_id == job.project_id, _match_records()
    )
    return session.execute(record.limit(1), _bind_free(())).first() is not None


def is_outranked(session: Session, job: Job, kinds: Collection[str] | None = None) -> bool:
    """Tell whether a project with fewer running jobs than this one's waits for a runner, with a job of these kinds."""
    waiting = (
        sa.select(jobs.c.project_id)
        .where(_match_free(_sort_kinds(kinds)), jobs.c.project_id != job.project_id)
        .distinct()
        .subquery()
    )
    ours = session.scalar(sa.select(_count_running(sa.literal(job.project_id)))) or 0
    fewer = sa.select(waiting.c.project_id).where(_count_running(waiting.c.project_id) < ours).limit(1)
    return session.execute(fewer, _bind_free(())).first() is not None


def heartbeat(session: Session, job: Job) -> bool:
    """Extend the lease by its own length; False when it was lost."""
    return _write_if_held(session, job, _extend_lease(session, job))


def store_shard(session: Session, job: Job, shard: Shard, progress: float) -> bool:
    """Store a shard and extend the lease; False, and nothing is written, when the lease was lost.

    Attempts count from 1 again: only runners that die before they store anything speak against a job.
    """
    if not _write_if_held(session, job, _extend_lease(session, job) | {"progress": progress, "attempts": 1}):
        return False
    job_work.put_shard(session, job.id, shard)
    return True


def release(session: Session, job: Job, *, counts: bool, why: Mapping[str, Any] | None = None) -> bool:
    """Put the job back for any runner; `counts` says whether this attempt counts against it.

    `why`, a problem document, stands on the job until it is claimed again.
    """
    # The claim has counted this attempt already.
    values = {"state": "queued", "attempts": jobs.c.attempts - (0 if counts else 1)} | RELEASED
    values["error"] = None if why is None else dict(why)
    return _write_if_held(session, job, values)


def finish(session: Session, job: Job, result: Mapping[str, Any] | None) -> bool:
    """End the job with its answer; False, and nothing is written, when the lease was lost."""
    stored = None if result is None else dict(result)
    return _end(session, job, state="succeeded", result=stored, error=None, progress=1.0)


def fail(session: Session, job: Job, problem: Mapping[str, Any]) -> bool:
    """End the job with a problem document; False, and nothing is written, when the lease was lost."""
    return _end(session, job, state="failed", error=dict(problem))


def _match_records() -> sa.ColumnElement[bool]:
    """Return the condition of unfinished jobs that a record waits for.

    It is in the very words of the partial index: a planner uses one only where it sees that the condition implies it.
    """
    return sa.and_(jobs.c.kind.in_(OF_RECORDS), sa.text(UNFINISHED_SQL))


def _match_free(kinds: Kinds) -> sa.ColumnElement[bool]:
    """Return the condition of jobs that a runner may claim; `_bind_free` has the values of its parameters."""
    free = sa.and_(
        sa.or_(jobs.c.state == "queued", _ABANDONED),
        jobs.c.project_id.not_in(sa.bindparam("full", expanding=True)),
        sa.or_(
            jobs.c.kind.in_(OF_RECORDS),
            jobs.c.project_id.not_in(sa.bindparam("full_of_tests", expanding=True)),
        ),
    )
    return free if kinds is None else sa.and_(free, jobs.c.kind.in_(kinds))


def _count_running(project_id: sa.ColumnElement[Any]) -> sa.ScalarSelect[int]:
    """Return the subquery that counts the running jobs of a project."""
    held = jobs.alias()
    return (
        sa.select(sa.func.count())
        .select_from(held)
        .where(held.c.state == "running", held.c.project_id == project_id)
        .scalar_subquery()
    )


def _bury(session: Session, now: datetime, max_attempts: int, bound: Mapping[str, Any]) -> None:
    """Fail the jobs whose last permitted runner died."""
    if not bound["abandoned"]:
        return
    buried = session.execute(_update_dead(), {**bound, "at": now, "most_attempts": max_attempts}).all()
    if buried:
        job_work.forget(session, [row.id for row in buried])


@lru_cache(maxsize=1)
def _update_dead() -> sa.sql.dml.ReturningUpdate[Any]:
    """Return the statement that fails abandoned jobs with no attempts left."""
    dead = (
        sa.select(jobs.c.id)
        .where(_ABANDONED, jobs.c.attempts >= sa.bindparam("most_attempts"))
        # rows that another process is burying, or claiming, at this moment are left to it
        .with_for_update(skip_locked=True)
    )
    values = {"state": "failed", "error": POISON, "finished_at": _AT} | RELEASED
    return sa.update(jobs).where(jobs.c.id.in_(dead)).values(**values).returning(jobs.c.id)


def _extend_lease(session: Session, job: Job) -> dict[str, Any]:
    return {"lease_expires_at": clock.read_now(session) + timedelta(seconds=job.lease_seconds or 0)}


def _end(session: Session, job: Job, **values: Any) -> bool:
    ended = _write_if_held(session, job, values | {"finished_at": clock.read_now(session)} | RELEASED)
    if ended:
        job_work.forget(session, [job.id])
    return ended


def _write_if_held(session: Session, job: Job, values: Mapping[str, Any]) -> bool:
    """Write to the job while this very lease is held, in time or not; False where somebody else has taken it since."""
    # No look at the time: a late runner whose job nobody took may still write its answer.
    held = sa.and_(jobs.c.id == job.id, jobs.c.lease_token == job.lease_token, jobs.c.state == "running")
    statement = sa.update(jobs).where(held).values(**values).returning(jobs.c.id)
    return session.execute(statement).first() is not None
