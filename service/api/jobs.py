"""Jobs: long work, and how far it is."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from fastapi import Response
from pydantic import Field

from service.api import examples
from service.api.answers import View, answer, shows
from service.api.deps import Reader, ReadSession, RecordId
from service.api.route import router
from service.store import jobs

routes = router("jobs")


class JobView(View):
    """A job. What a verdict job found is in the verdict alone."""

    id: str
    kind: str
    state: Literal["queued", "running", "succeeded", "failed", "cancelled"]
    progress: float | None = Field(description="From 0 to 1; null when it cannot be told.")
    result: dict[str, Any] | None = Field(description="Null until it succeeded.")
    error: dict[str, Any] | None = Field(description="Null unless it failed.")
    created_at: datetime
    finished_at: datetime | None


def job_view(job: jobs.Job) -> JobView:
    """The job as its project sees it."""
    return JobView(**{name: getattr(job, name) for name in JobView.model_fields})


@routes.get("/jobs/{job_id}", response_model=JobView, responses=shows(examples.JOB))
def get_job(caller: Reader, session: ReadSession, job_id: RecordId) -> Response:
    """Read a job's state."""
    return answer(job_view(jobs.get(session, caller.project_id, job_id)))
