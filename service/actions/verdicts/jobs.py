"""Jobs of statistical tests: take the answer that is there, join the job that computes it, or queue one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from service.domain.moment import Moment
from service.errors import Conflict, TooMany
from service.keyring.keyring import Keyring
from service.stats.shared.declaring.registry import library_versions
from service.store.jobs import job_work, jobs
from service.store.jobs.jobs import Job


@dataclass(frozen=True, slots=True)
class Quota:
    """What the unfinished jobs of one project may amount to."""

    jobs: int
    input_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Computation:
    """What a job computes: a statistical test or a calibration, on this body."""

    kind: str
    version: int
    body: bytes = field(repr=False)
    work: Callable[[], tuple[int, float]]
    """Its blocks and seconds; asked where a new job is needed."""


def enqueue_once(
    session: Session,
    computation: Computation,
    moment: Moment,
    *,
    project_id: str,
    keyring: Keyring,
    quota: Quota,
) -> Job:
    """One job for equal computations of a project: one that was answered, one under way, or a new one.

    Raises:
        TooMany: `too_many_jobs`, `too_many_job_bytes`.
    """
    about = json.dumps(
        [project_id, computation.kind, computation.version, library_versions()], sort_keys=True
    )
    # By a keyed hash: nobody else can tell which body it was.
    subject = keyring.fingerprint("job", about.encode(), computation.body)
    known = jobs.find_latest(session, project_id, kind=computation.kind, subject=subject)
    if known is not None and known.state in (*jobs.UNFINISHED, "succeeded"):
        return known
    if jobs.count_unfinished(session, project_id, quota.jobs) >= quota.jobs:
        raise TooMany(
            f"this project has {quota.jobs} jobs waiting or running, as many as it may; wait for some to end, "
            "or cancel them with DELETE /v1/jobs/{id}",
            code="too_many_jobs",
        )
    if job_work.count_input_bytes(session, project_id) + len(computation.body) > quota.input_bytes:
        raise TooMany(
            f"the jobs of this project that wait or run hold requests of {quota.input_bytes} bytes, as many as "
            "they may; wait for some to end, or cancel them with DELETE /v1/jobs/{id}",
            code="too_many_job_bytes",
        )
    blocks, seconds = computation.work()
    params = {"version": computation.version, "blocks": blocks, "seconds": seconds}
    new = jobs.NewJob(
        id=moment.new_id(),
        project_id=project_id,
        kind=computation.kind,
        params=params,
        subject=subject,
        created_at=moment.now,
    )
    job = jobs.enqueue(session, new)
    if job.id == new.id:
        job_work.put_input(session, new.id, computation.body)
    return job


def cancel(session: Session, job: Job) -> None:
    """End an unfinished job. A verdict or a look cannot be called off: the plan has asked for it."""
    if job.kind in jobs.OF_RECORDS:
        raise Conflict(
            f"a {job.kind} job cannot be cancelled: the locked plan asks for it", code="not_cancellable"
        )
    if not jobs.cancel(session, job):
        raise Conflict(f"the job has {job.state} already; only waiting and running jobs can be cancelled")
