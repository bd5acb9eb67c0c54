"""Leases on jobs: whose turn it is, who holds a job, and what only the holder may write."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.errors import ForelockError
from service.store import clock, job_work
from service.store.job_work import Shard
from service.store.jobs import RELEASED, Job, read
from service.store.tables import jobs

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


def claim(
    session: Session,
    *,
    runner: str,
    lease_seconds: float,
    kinds: Collection[str] | None = None,
    max_attempts: int = MAX_ATTEMPTS,
) -> Job | None:
    """Take a job that waits, or whose runner let its lease run out.

    Projects take turns: the one with the fewest running jobs, then the one that was served longest
    ago. Within a project the oldest job goes first.
    """
    now = clock.now(session)
    _bury(session, now, max_attempts)
    for project_id in _turns(session, now, kinds):
        job = _claim_of(session, project_id, runner, lease_seconds, now, kinds)
        if job is not None:  # None: others took what was there meanwhile
            return job
    return None


def _turns(session: Session, now: datetime, kinds: Collection[str] | None) -> list[str]:
    """Projects with jobs to claim, whose turn it is first."""
    waiting = sa.select(jobs.c.project_id).where(_free(now, kinds)).distinct().subquery()
    theirs = jobs.alias()
    last = sa.select(sa.func.max(theirs.c.claimed_at)).where(theirs.c.project_id == waiting.c.project_id)
    running = _running_of(waiting.c.project_id, now)
    order = (running, last.scalar_subquery().asc().nulls_first(), waiting.c.project_id)
    return list(session.scalars(sa.select(waiting.c.project_id).order_by(*order).limit(MOST_TURNS)))


def _claim_of(
    session: Session,
    project_id: str,
    runner: str,
    lease_seconds: float,
    now: datetime,
    kinds: Collection[str] | None,
) -> Job | None:
    """Take the project's oldest free job, in one statement."""
    oldest = (
        sa.select(jobs.c.id)
        .where(_free(now, kinds), jobs.c.project_id == project_id)
        .order_by(jobs.c.created_at, jobs.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    started = sa.func.coalesce(jobs.c.started_at, sa.bindparam("started", now, jobs.c.started_at.type))
    statement = (
        sa.update(jobs)
        .where(jobs.c.id == oldest.scalar_subquery())
        .values(
            state="running",
            attempts=jobs.c.attempts + 1,
            runner=runner,
            lease_token=secrets.token_hex(16),
            lease_seconds=lease_seconds,
            lease_expires_at=now + timedelta(seconds=lease_seconds),
            started_at=started,
            claimed_at=now,
        )
        .returning(jobs)
    )
    row = session.execute(statement).mappings().one_or_none()
    return None if row is None else read(row)


def outranked(session: Session, job: Job, kinds: Collection[str] | None = None) -> bool:
    """True when a project with fewer running jobs than this one's waits for a runner."""
    now = clock.now(session)
    waiting = (
        sa.select(jobs.c.project_id)
        .where(_free(now, kinds), jobs.c.project_id != job.project_id)
        .distinct()
        .subquery()
    )
    ours = session.scalar(sa.select(_running_of(sa.literal(job.project_id), now))) or 0
    fewer = sa.select(waiting.c.project_id).where(_running_of(waiting.c.project_id, now) < ours).limit(1)
    return session.execute(fewer).first() is not None


def heartbeat(session: Session, job: Job, progress: float | None = None) -> bool:
    """Extend the lease by its own length; false when it was lost."""
    return _held(session, job, _extended(session, job) | _told(progress))


def store_shard(session: Session, job: Job, shard: Shard, progress: float | None) -> bool:
    """Keep a shard, and with it the lease; false, and nothing is written, when it was lost.

    A job that gets on does not count its attempts against it.
    """
    if not _held(session, job, _extended(session, job) | _told(progress) | {"attempts": 1}):
        return False
    job_work.put_shard(session, job.id, shard)
    return True


def release(session: Session, job: Job, *, counts: bool) -> bool:
    """Put the job back for any runner; `counts` says whether this attempt counts against it."""
    values = {"state": "queued", "attempts": jobs.c.attempts - (0 if counts else 1)} | RELEASED
    return _held(session, job, values)


def finish(session: Session, job: Job, result: Mapping[str, Any] | None) -> bool:
    """Store the answer; false, and nothing is written, when the lease was lost."""
    kept = None if result is None else dict(result)
    return _end(session, job, state="succeeded", result=kept, error=None, progress=1.0)


def fail(session: Session, job: Job, problem: Mapping[str, Any]) -> bool:
    """Store why there is no answer; false, and nothing is written, when the lease was lost."""
    return _end(session, job, state="failed", error=dict(problem))


def _free(now: datetime, kinds: Collection[str] | None) -> sa.ColumnElement[bool]:
    abandoned = sa.and_(jobs.c.state == "running", jobs.c.lease_expires_at <= now)
    free = sa.or_(jobs.c.state == "queued", abandoned)
    return free if kinds is None else sa.and_(free, jobs.c.kind.in_(sorted(kinds)))


def _running_of(project_id: sa.ColumnElement[Any], now: datetime) -> sa.ScalarSelect[int]:
    held = jobs.alias()
    return (
        sa.select(sa.func.count())
        .select_from(held)
        .where(held.c.state == "running", held.c.lease_expires_at > now, held.c.project_id == project_id)
        .scalar_subquery()
    )


def _bury(session: Session, now: datetime, max_attempts: int) -> None:
    """Fail the jobs whose last permitted runner died."""
    dead = (
        sa.select(jobs.c.id)
        .where(jobs.c.state == "running", jobs.c.lease_expires_at <= now, jobs.c.attempts >= max_attempts)
        .with_for_update(skip_locked=True)
    )
    values = {"state": "failed", "error": POISON, "finished_at": now} | RELEASED
    buried = session.execute(
        sa.update(jobs).where(jobs.c.id.in_(dead)).values(**values).returning(jobs.c.id)
    ).all()
    if buried:
        job_work.forget(session, [row.id for row in buried])


def _extended(session: Session, job: Job) -> dict[str, Any]:
    return {"lease_expires_at": clock.now(session) + timedelta(seconds=job.lease_seconds or 0)}


def _told(progress: float | None) -> dict[str, Any]:
    return {} if progress is None else {"progress": progress}


def _end(session: Session, job: Job, **values: Any) -> bool:
    ended = _held(session, job, values | {"finished_at": clock.now(session)} | RELEASED)
    if ended:
        job_work.forget(session, [job.id])
    return ended


def _held(session: Session, job: Job, values: Mapping[str, Any]) -> bool:
    """Write only while this very lease is held, in time or not: nobody else has taken the job since."""
    held = sa.and_(jobs.c.id == job.id, jobs.c.lease_token == job.lease_token, jobs.c.state == "running")
    statement = sa.update(jobs).where(held).values(**values).returning(jobs.c.id)
    return session.execute(statement).first() is not None
