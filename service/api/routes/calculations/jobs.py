"""Jobs: long work, how far it is, and calling it off."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any, Literal

from anyio import to_thread
from fastapi import Request, Response
from fastapi.sse import format_sse_event
from pydantic import Field
from sqlalchemy.orm import Session

from service.actions.verdicts import jobs as actions
from service.actions.verdicts.calibration import KIND as CALIBRATION
from service.api.examples import common as examples
from service.api.http.answers.answers import View, answer, shows
from service.api.http.limits.concurrency import HeldStream, take_stream
from service.api.http.requests.deps import AnyCaller, ReadSession, RecordId, Shared, require_scope
from service.api.http.requests.headers import get_header
from service.api.http.requests.idempotency import Once
from service.api.http.serving.route import make_router, refuses
from service.api.http.shared import Services
from service.domain.access import Key
from service.errors import Unauthorized, Unavailable
from service.processes.wake import nudge
from service.store.database import clock
from service.store.jobs import jobs
from service.store.plans import preregistrations
from service.store.projects import audit

routes = make_router("jobs")

_TELLING = ("look", "monitor", CALIBRATION)
"""Kinds of jobs whose results follow from outcomes of a record: who reads them is in the audit log."""
STREAM_SECONDS = 900.0
"""A stream of events ends after this long; clients that want more connect again."""
QUIET_SECONDS = 15.0
"""A stream without news says so this often, lest a proxy takes it for dead."""
KEY_SECONDS = 5.0
"""How often a stream asks whether its key still stands."""


class JobView(View):
    """A job. What a verdict job found is in the verdict alone."""

    id: str
    kind: str = Field(
        description="`verdict`, `look`, `monitor`, `unblinding`, `calibration`, or the name of a statistical test."
    )
    state: Literal["queued", "running", "succeeded", "failed", "cancelled"]
    progress: float | None = Field(description="From 0 to 1; null when it cannot be told.")
    eta_seconds: float | None = Field(
        description="Seconds to the end, by what is done so far or by the test's estimate; null when it cannot "
        "be told."
    )
    result: dict[str, Any] | None = Field(
        description="What the test answers when it is computed at once. Null until it succeeded."
    )
    error: dict[str, Any] | None = Field(
        description="Null unless it failed, or waits for a worker pool that is away."
    )
    created_at: datetime = Field(description="To the minute where the job works on sealed results.")
    finished_at: datetime | None = Field(description="Likewise.")


def make_job_view(job: jobs.Job) -> JobView:
    """Make the view of a job as its project sees it."""
    fields = {name: getattr(job, name) for name in JobView.model_fields if name != "eta_seconds"}
    if job.kind in jobs.OF_RECORDS:  # how long sealed rows took may follow from what they hold
        fields |= {name: _truncate_to_minute(fields[name]) for name in ("created_at", "finished_at")}
        if job.state != "failed":
            fields["error"] = None
    return JobView(**fields, eta_seconds=_estimate_eta(job, datetime.now(UTC)))


def _truncate_to_minute(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.replace(second=0, microsecond=0)


def queue_job(
    shared: Services, once: Once, caller: Key, prereg_id: str, enqueue: Callable[..., jobs.Job], action: str
) -> Response:
    """Queue the job that `enqueue(session, record, moment)` makes for a record; answer 202, and nudge the runner."""

    def work(session: Session) -> Response:
        record = preregistrations.get(session, caller.project_id, prereg_id, for_update=True)
        moment = clock.read_moment(session)
        job = enqueue(session, record, moment)
        audit.record_act(session, caller, action, record.id, {}, now=moment.now)
        return answer(make_job_view(job), 202, {"Location": f"/v1/jobs/{job.id}"})

    response = once.run(work)
    nudge(shared.settings.runner_socket)
    return response


def queue_computation(shared: Services, caller: Key, computation: actions.Computation) -> jobs.Job:
    """Queue the job of a computation, or return the one that is there already; nudge the runner."""
    with shared.database.write() as session:
        job = actions.enqueue_once(
            session,
            computation,
            clock.read_moment(session),
            project_id=caller.project_id,
            keyring=shared.keyring,
            quota=shared.quota,
        )
    nudge(shared.settings.runner_socket)
    return job


def _estimate_eta(job: jobs.Job, now: datetime) -> float | None:
    """Estimate the seconds to a running job's end, by what is done so far, or by the test's estimate at first."""
    if job.state != "running" or job.started_at is None or "seconds" not in job.params:
        return None
    spent = max((now - job.started_at).total_seconds(), 0.0)
    if job.progress:
        return round(spent * (1 - job.progress) / job.progress, 1)
    return round(max(float(job.params["seconds"]) - spent, 0.0), 1)


def _require_visible(caller: Key, job: jobs.Job) -> jobs.Job:
    """Return the job; refuse keys that may neither read nor, for the job of a statistical test, run tests."""
    if job.kind in (*jobs.OF_RECORDS, CALIBRATION) or not caller.allows("tests:run"):
        require_scope(caller, "read")
    return job


@routes.get("/jobs/{job_id}", response_model=JobView, responses=shows(examples.JOB) | refuses(403))
def get_job(caller: AnyCaller, session: ReadSession, shared: Shared, job_id: RecordId) -> Response:
    """Read a job: its state, how far it is, and its answer.

    Needs the scope `read`; `tests:run` will do for the job of a statistical test.
    """
    job = _require_visible(caller, jobs.get(session, caller.project_id, job_id))
    if job.kind in _TELLING and job.result is not None:
        shared.reads.note(caller, f"{job.kind}.read", job.params.get("preregistration_id"))
    return answer(make_job_view(job))


@routes.delete("/jobs/{job_id}", status_code=204, responses=refuses(403, 409, 507))
def cancel_job(caller: AnyCaller, shared: Shared, job_id: RecordId) -> Response:
    """Call off the job of a statistical test; needs the scope `tests:run`.

    A running one stops within one shard, and keeps nothing. Verdict jobs cannot be called off.
    """
    require_scope(caller, "tests:run")
    with shared.database.write() as session:
        actions.cancel(session, jobs.get(session, caller.project_id, job_id))
    return Response(status_code=204)


_EVENT = 'event: running\ndata: {"state":"running","progress":0.25,"eta_seconds":12.0}\n\n'
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events.",
        "content": {"text/event-stream": {"schema": {"type": "string"}, "example": _EVENT}},
    }
}


@routes.get(
    "/jobs/{job_id}/events",
    response_class=Response,  # FastAPI would take the named class for a generator
    responses=_STREAM | refuses(403, 429),
)
async def get_job_events(caller: AnyCaller, shared: Shared, request: Request, job_id: RecordId) -> Response:
    """Follow a job: an event named by its state at every change, the last one when it has ended.

    Each event's data is JSON with `state`, `progress` and `eta_seconds`. The answer itself is read
    with `GET /v1/jobs/{id}`. The stream ends with the job, soon after the key is revoked or expires, or after a quarter
    of an hour. `GET /v1/limits` says how many one key may follow at a time.
    """
    job = await to_thread.run_sync(_read_job, shared, caller, job_id)
    give_back = take_stream(shared.streams, caller)
    stream = HeldStream(
        _stream_events(shared, caller, job, request),
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )
    stream.give_back = give_back
    return stream


async def _is_still_valid(shared: Services, request: Request) -> bool:
    """Tell whether the key that asked may still ask; it is read from the database as often as for requests."""
    sent = get_header(request, b"authorization")
    try:
        if shared.keys.find_cached(sent) is None:
            await to_thread.run_sync(shared.keys.look_up, sent)
    except Unauthorized:
        return False
    except Unavailable:  # the database is away: whoever may ask is seen when it is back
        return True
    return True


def _read_job(shared: Services, caller: Key, job_id: str) -> jobs.Job:
    with shared.database.read() as session:
        return _require_visible(caller, jobs.get(session, caller.project_id, job_id))


async def _stream_events(
    shared: Services, caller: Key, job: jobs.Job, request: Request
) -> AsyncIterator[bytes]:
    """Yield an event at every change of the job, until it ends, time is up, or the caller is gone or may not listen."""
    until, number = time.monotonic() + STREAM_SECONDS, 0
    while True:
        view = make_job_view(job)
        text = view.model_dump_json(include={"state", "progress", "eta_seconds"})
        yield format_sse_event(data_str=text, event=view.state, id=str(number))
        if job.state not in jobs.UNFINISHED or time.monotonic() > until:
            return
        number += 1
        seen, spoken = (job.state, job.progress), time.monotonic()
        while (news := await shared.watch.wait_for_change(job.id, seen, KEY_SECONDS)) == seen:
            if time.monotonic() > until or await request.is_disconnected():
                return
            if not await _is_still_valid(shared, request):
                return
            if time.monotonic() - spoken >= QUIET_SECONDS:
                spoken = time.monotonic()
                yield format_sse_event(comment="waiting")
        if news is None or not await _is_still_valid(shared, request):  # None: it expired meanwhile
            return
        await asyncio.sleep(0)
        job = await to_thread.run_sync(_read_job, shared, caller, job.id)
