"""Jobs of statistical tests: take the answer that is there, join the job that computes it, or queue one."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime

from sqlalchemy.orm import Session

from service.errors import Conflict, TooMany
from service.keyring import Keyring
from service.stats.registry import library_versions
from service.store import job_work, jobs
from service.store.jobs import Job


def enqueue_once(
    session: Session,
    *,
    kind: str,
    version: int,
    body: bytes,
    work: Callable[[], tuple[int, float]],
    project_id: str,
    keyring: Keyring,
    most: int,
    job_id: str,
    now: datetime,
) -> Job:
    """One job for equal bodies of a project; `work` tells blocks and seconds where a new one is needed.

    Raises:
        TooMany: `too_many_jobs`.
    """
    about = json.dumps([project_id, kind, version, library_versions()], sort_keys=True)
    subject = keyring.fingerprint("job", about.encode(), body)  # nobody else can tell which body it was
    known = jobs.latest(session, project_id, kind=kind, subject=subject)
    if known is not None and known.state in (*jobs.UNFINISHED, "succeeded"):
        return known
    if jobs.unfinished(session, project_id, most) >= most:
        raise TooMany(
            f"this project has {most} jobs waiting or running, as many as it may; wait for some to end, "
            "or cancel them with DELETE /v1/jobs/{id}",
            code="too_many_jobs",
        )
    blocks, seconds = work()
    params = {"version": version, "blocks": blocks, "seconds": seconds}
    job = jobs.enqueue(
        session, project_id=project_id, kind=kind, params=params, now=now, job_id=job_id, subject=subject
    )
    if job.id == job_id:
        job_work.put_input(session, job_id, body)
    return job


def cancel(session: Session, job: Job) -> None:
    """End an unfinished job. A verdict or a look cannot be called off: the plan has asked for it."""
    if job.kind in jobs.OF_RECORDS:
        raise Conflict(
            f"a {job.kind} job cannot be cancelled: the locked plan asks for it", code="not_cancellable"
        )
    if not jobs.cancel(session, job):
        raise Conflict(f"the job has {job.state} already; only waiting and running jobs can be cancelled")
