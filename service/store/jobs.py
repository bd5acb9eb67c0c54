"""Jobs as rows. A runner holds one under a lease; who lost the lease writes nothing."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any, Literal

import sqlalchemy as sa
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from service.errors import NotFound
from service.store import clock, scope
from service.store.tables import jobs

MAX_ATTEMPTS = 3
"""A job whose runners died this often is failed: it may be what kills them."""

JobState = Literal["queued", "running", "succeeded", "failed", "cancelled"]

POISON = {
    "code": "job_abandoned",
    "title": "The job's runner died too often",
    "detail": "every runner that took this job stopped without an answer; see the runner's log",
}


class Job(BaseModel):
    """A job as stored. `result` is what an inline answer would have been, `error` a problem document."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    id: str
    project_id: str
    kind: str
    subject: str | None = Field(
        None, description="What it is about; one unfinished job per kind and subject."
    )
    state: JobState
    params: dict[str, Any]
    attempts: int
    runner: str | None = None
    lease_token: str | None = Field(None, repr=False)
    lease_seconds: float | None = None
    lease_expires_at: datetime | None = None
    progress: float | None = Field(None, description="From 0 to 1.")
    result: dict[str, Any] | None = Field(None, repr=False)
    error: dict[str, Any] | None = None
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None


def enqueue(
    session: Session,
    *,
    project_id: str,
    kind: str,
    params: Mapping[str, Any],
    now: datetime,
    job_id: str,
    subject: str | None = None,
) -> Job:
    """Add a job in the caller's transaction. An unfinished one on the same subject is returned instead."""
    row = {
        "id": job_id,
        "project_id": project_id,
        "kind": kind,
        "subject": subject,
        "state": "queued",
        "params": dict(params),
        "attempts": 0,
        "created_at": now,
    }
    dialect = sqlite if session.get_bind().dialect.name == "sqlite" else postgresql
    unfinished = sa.text("state IN ('queued', 'running')")
    statement = dialect.insert(jobs).on_conflict_do_nothing(
        index_elements=["project_id", "kind", "subject"], index_where=unfinished
    )
    if session.execute(statement.values(row).returning(jobs.c.id)).first() is not None:
        return get(session, project_id, job_id)
    same = scope.of_project(sa.select(jobs), jobs, project_id).where(
        jobs.c.kind == kind, jobs.c.subject == subject, unfinished
    )
    waiting = session.execute(same).mappings().one_or_none()
    if waiting is not None:
        return _read(waiting)
    # It finished between the two statements: the subject is free again.
    return enqueue(
        session, project_id=project_id, kind=kind, params=params, now=now, job_id=job_id, subject=subject
    )


def claim(
    session: Session,
    *,
    runner: str,
    lease_seconds: float,
    kinds: Collection[str] | None = None,
    max_attempts: int = MAX_ATTEMPTS,
) -> Job | None:
    """Take the oldest job that waits, or whose runner let its lease run out."""
    now = clock.now(session)
    _bury(session, now, max_attempts)
    free = sa.or_(
        jobs.c.state == "queued", sa.and_(jobs.c.state == "running", jobs.c.lease_expires_at <= now)
    )
    oldest = sa.select(jobs.c.id).where(free).order_by(jobs.c.created_at, jobs.c.id).limit(1)
    if kinds is not None:
        oldest = oldest.where(jobs.c.kind.in_(sorted(kinds)))
    statement = (
        sa.update(jobs)
        .where(jobs.c.id == oldest.with_for_update(skip_locked=True).scalar_subquery())
        .values(
            state="running",
            attempts=jobs.c.attempts + 1,
            runner=runner,
            lease_token=secrets.token_hex(16),
            lease_seconds=lease_seconds,
            lease_expires_at=now + timedelta(seconds=lease_seconds),
            started_at=sa.func.coalesce(
                jobs.c.started_at, sa.bindparam("started", now, jobs.c.started_at.type)
            ),
        )
        .returning(jobs)
    )
    row = session.execute(statement).mappings().one_or_none()
    return None if row is None else _read(row)


def heartbeat(session: Session, job: Job, progress: float | None = None) -> bool:
    """Extend the lease by its own length; false when it was lost."""
    seconds = job.lease_seconds or 0
    values: dict[str, Any] = {"lease_expires_at": clock.now(session) + timedelta(seconds=seconds)}
    if progress is not None:
        values["progress"] = progress
    return _guarded(session, job, values)


def finish(session: Session, job: Job, result: Mapping[str, Any]) -> bool:
    """Store the answer; false, and nothing is written, when the lease was lost."""
    return _end(session, job, state="succeeded", result=dict(result), error=None, progress=1.0)


def fail(session: Session, job: Job, problem: Mapping[str, Any]) -> bool:
    """Store why there is no answer; false, and nothing is written, when the lease was lost."""
    return _end(session, job, state="failed", error=dict(problem))


def get(session: Session, project_id: str, job_id: str) -> Job:
    """The project's job of that id."""
    statement = scope.of_project(sa.select(jobs).where(jobs.c.id == job_id), jobs, project_id)
    row = session.execute(statement).mappings().one_or_none()
    if row is None:
        raise NotFound(f"there is no job {job_id} in this project")
    return _read(row)


def latest(session: Session, project_id: str, *, kind: str, subject: str | None) -> Job | None:
    """The newest job of a kind about a subject."""
    statement = scope.of_project(sa.select(jobs), jobs, project_id).where(
        jobs.c.kind == kind, jobs.c.subject == subject
    )
    newest = statement.order_by(jobs.c.created_at.desc(), jobs.c.id.desc()).limit(1)
    row = session.execute(newest).mappings().one_or_none()
    return None if row is None else _read(row)


def waiting(session: Session) -> dict[str, int]:
    """How many jobs of the deployment are in each unfinished state."""
    statement = sa.select(jobs.c.state, sa.func.count().label("number")).where(
        jobs.c.state.in_(("queued", "running"))
    )
    counts = {row.state: row.number for row in session.execute(statement.group_by(jobs.c.state))}
    return {state: counts.get(state, 0) for state in ("queued", "running")}


def _bury(session: Session, now: datetime, max_attempts: int) -> None:
    """Fail the jobs whose last permitted runner died."""
    dead = (
        sa.select(jobs.c.id)
        .where(jobs.c.state == "running", jobs.c.lease_expires_at <= now, jobs.c.attempts >= max_attempts)
        .with_for_update(skip_locked=True)
    )
    session.execute(
        sa.update(jobs)
        .where(jobs.c.id.in_(dead))
        .values(state="failed", error=POISON, finished_at=now, lease_token=None, lease_expires_at=None)
    )


def _end(session: Session, job: Job, **values: Any) -> bool:
    released = {"finished_at": clock.now(session), "lease_token": None, "lease_expires_at": None}
    return _guarded(session, job, values | released)


def _guarded(session: Session, job: Job, values: Mapping[str, Any]) -> bool:
    """Write only while this very lease is held, in time or not: nobody else has taken the job since."""
    held = sa.and_(jobs.c.id == job.id, jobs.c.lease_token == job.lease_token, jobs.c.state == "running")
    statement = sa.update(jobs).where(held).values(**values).returning(jobs.c.id)
    return session.execute(statement).first() is not None


def _read(row: sa.RowMapping) -> Job:
    return Job.model_validate(dict(row))
