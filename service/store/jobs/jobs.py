"""Jobs as rows. A runner holds one under a lease; who lost the lease writes nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

import sqlalchemy as sa
from pydantic import Field
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from service.records import StrictRecord
from service.store.database import clock, paging, scope
from service.store.database.tables import jobs
from service.store.jobs import job_work
from service.words import message

OF_RECORDS = ("verdict", "look", "monitor", "unblinding")
"""Kinds that open a record's rows or their key; all others compute on a request alone."""
UNFINISHED = ("queued", "running")
"""States of a job that has not ended."""
UNFINISHED_SQL = "state IN ('queued', 'running')"
"""The condition `state in UNFINISHED`, letter for letter as the partial index has it, so that planners use it."""
SILENT = timedelta(minutes=1)
"""How long a job waits, or its lease is over, before a runner counts as silent."""
EXPIRED_AT_ONCE = 500
"""Jobs that one call of `expire` deletes, so that its transaction stays short."""
RELEASED: dict[str, Any] = {"lease_token": None, "lease_expires_at": None}
"""Columns of a job that nobody holds."""

JobState = Literal["queued", "running", "succeeded", "failed", "cancelled"]


class Job(StrictRecord):
    """A job as stored. `result` is what an inline answer would have been, `error` a problem document."""

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
    claimed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job that is to be queued."""

    id: str
    project_id: str
    kind: str
    params: Mapping[str, Any]
    created_at: datetime
    subject: str | None = None


def enqueue(session: Session, new: NewJob) -> Job:
    """Add a job in the caller's transaction, and return it.

    Where an unfinished job of this kind is about the same subject, that one is returned and nothing is added.
    """
    row = asdict(new) | {"state": "queued", "attempts": 0}
    # The partial unique index decides between two that ask at once; a look before the insert could not.
    dialect = sqlite if session.get_bind().dialect.name == "sqlite" else postgresql
    unfinished = sa.text(UNFINISHED_SQL)
    statement = dialect.insert(jobs).on_conflict_do_nothing(
        index_elements=["project_id", "kind", "subject"], index_where=unfinished
    )
    if session.execute(statement.values(row).returning(jobs.c.id)).first() is not None:
        return get(session, new.project_id, new.id)
    same = scope.select_of_project(sa.select(jobs), jobs, new.project_id).where(
        jobs.c.kind == new.kind, jobs.c.subject == new.subject, unfinished
    )
    waiting = session.execute(same).mappings().one_or_none()
    if waiting is not None:
        return read_row(waiting)
    # It finished between the two statements: the subject is free again.
    return enqueue(session, new)


def has_job_without_pool(session: Session) -> bool:
    """Tell whether a job of any project was put back because no pool answered."""
    waits = sa.select(jobs.c.id).where(
        jobs.c.state == "queued", jobs.c.error.is_not(None), sa.text(UNFINISHED_SQL)
    )
    return session.execute(waits.limit(1)).first() is not None


def has_job_without_runner(session: Session, now: datetime) -> bool:
    """Tell whether a job of any project has waited for a runner for `SILENT` while no runner holds any job.

    A runner that is there takes a job within seconds, so this means that none is.
    """
    before = now - SILENT
    left = sa.or_(
        sa.and_(jobs.c.state == "queued", jobs.c.created_at < before),
        sa.and_(jobs.c.state == "running", jobs.c.lease_expires_at < before),
    )
    held = sa.select(jobs.c.id).where(
        jobs.c.state == "running", jobs.c.lease_expires_at > now, sa.text(UNFINISHED_SQL)
    )
    waits = sa.select(jobs.c.id).where(left, sa.text(UNFINISHED_SQL), ~held.exists())
    return session.execute(waits.limit(1)).first() is not None


def cancel(session: Session, job: Job) -> bool:
    """End an unfinished job without an answer, whoever holds it; False when it has ended already."""
    unfinished = sa.and_(jobs.c.id == job.id, jobs.c.state.in_(UNFINISHED))
    values = {"state": "cancelled", "error": None, "finished_at": clock.read_now(session)} | RELEASED
    ended = session.execute(sa.update(jobs).where(unfinished).values(**values).returning(jobs.c.id)).first()
    job_work.forget(session, [job.id])
    return ended is not None


def get(session: Session, project_id: str, job_id: str) -> Job:
    """Read the project's job of that id; NotFound when it has none."""
    this = sa.select(jobs).where(jobs.c.id == job_id)
    return read_row(
        scope.get_row(session, this, jobs, project_id, message("refusals.no_job_of_id", id=job_id))
    )


def read_page(
    session: Session,
    project_id: str,
    *,
    state: JobState | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> tuple[list[Job], str | None]:
    """Read a page of the project's jobs, newest first, and the cursor of the next.

    Results, which may be large, are left out.
    """
    columns = [column for column in jobs.c if column.name != "result"]
    statement = scope.select_of_project(sa.select(*columns), jobs, project_id)
    if state is not None:
        statement = statement.where(jobs.c.state == state)
    order = (jobs.c.created_at, jobs.c.id)
    return paging.read_page(session, statement, order, read_row, cursor=cursor, limit=limit)


def find_latest(
    session: Session, project_id: str, *, kind: str, subject: str | None, result: str | None = None
) -> Job | None:
    """Find the newest job of a kind about a subject.

    With `result`, the newest whose result has a member of that name.
    """
    statement = scope.select_of_project(sa.select(jobs), jobs, project_id).where(
        jobs.c.kind == kind, jobs.c.subject == subject
    )
    if result is not None:
        statement = statement.where(jobs.c.result[result].as_string().is_not(None))
    newest = statement.order_by(jobs.c.created_at.desc(), jobs.c.id.desc()).limit(1)
    row = session.execute(newest).mappings().one_or_none()
    return None if row is None else read_row(row)


def count_by_state(session: Session) -> dict[str, int]:
    """Count the deployment's jobs by unfinished state; a state without jobs counts 0."""
    statement = sa.select(jobs.c.state, sa.func.count().label("number")).where(jobs.c.state.in_(UNFINISHED))
    counts = {row.state: row.number for row in session.execute(statement.group_by(jobs.c.state))}
    return {state: counts.get(state, 0) for state in UNFINISHED}


def holds_lease(session: Session, job: Job) -> bool:
    """Tell whether the lease that the job was claimed under still stands."""
    statement = sa.select(jobs.c.lease_token).where(jobs.c.id == job.id)
    return session.scalar(statement) == job.lease_token


def count_unfinished(session: Session, project_id: str, most: int) -> int:
    """Count the project's jobs that wait or run, no further than `most`: a full queue is not counted to its end."""
    ids = scope.select_of_project(sa.select(jobs.c.id), jobs, project_id).where(jobs.c.state.in_(UNFINISHED))
    return session.scalar(sa.select(sa.func.count()).select_from(ids.limit(most).subquery())) or 0


def read_states(session: Session, job_ids: Collection[str]) -> dict[str, tuple[JobState, float | None]]:
    """Read state and progress of jobs that were read in their project before, by id; one that is gone is missing."""
    rows = session.execute(_STATES, {"ids": sorted(job_ids)})
    return {row.id: (row.state, row.progress) for row in rows}


_STATES = sa.select(jobs.c.id, jobs.c.state, jobs.c.progress).where(
    jobs.c.id.in_(sa.bindparam("ids", expanding=True))
)


def expire(session: Session, *, before: datetime, spare: Collection[str]) -> int:
    """Delete at most `EXPIRED_AT_ONCE` jobs that ended before a time, none of a kind in `spare`; returns how many."""
    old = sa.select(jobs.c.id).where(
        jobs.c.finished_at < before, jobs.c.state.not_in(UNFINISHED), jobs.c.kind.not_in(sorted(spare))
    )
    gone = (
        sa.delete(jobs)
        .where(jobs.c.id.in_(old.limit(EXPIRED_AT_ONCE).scalar_subquery()))
        .returning(jobs.c.id)
    )
    return len(session.execute(gone).all())


def read_row(row: sa.RowMapping) -> Job:
    """Read a row of the table as a job."""
    return Job.model_validate(dict(row))
