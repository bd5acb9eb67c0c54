"""The project's jobs, for its admins: what is queued, how far it is, and calling a statistical test off."""

from __future__ import annotations

from typing import cast, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from service.actions.verdicts import jobs as actions
from service.api.http.requests.deps import PageSession, require_scope
from service.api.http.shared import get_services
from service.api.routes.calculations.jobs import make_job_view
from service.errors import InvalidData, NotFound
from service.store.jobs import jobs
from service.store.jobs.jobs import OF_RECORDS, UNFINISHED, JobState
from service.web.html.forms import refuse_other_sites
from service.web.html.rendering import HEADERS, PageRoute, html
from service.web.html.speech import language_of
from service.web.html.times import time_view
from service.web.visitors.sign_in import Admin, is_id
from service.words import Language, catalogue, message, say

PATH = "/jobs"
STATES = {
    "queued": "pages.queued",
    "running": "pages.running",
    "succeeded": "pages.succeeded",
    "failed": "pages.failed",
    "cancelled": "pages.cancelled",
}

routes = APIRouter(route_class=PageRoute, include_in_schema=False)


@routes.get(PATH)
def list_jobs(
    request: Request, session: PageSession, visitor: Admin, state: str = "", cursor: str | None = None
) -> Response:
    """Jobs that are still kept, newest first. Times are as coarse as the API tells them."""
    if state and state not in get_args(JobState):
        known = ", ".join(get_args(JobState))
        raise InvalidData.field(
            "state", message("refusals.no_state_of_job"), message("refusals.choose_one", names=known)
        )
    rows, following = jobs.read_page(
        session, visitor.project_id, state=cast(JobState, state) if state else None, cursor=cursor
    )
    query = {"state": state} if state else {}
    language = language_of(request)
    lines = [
        {
            "job": view,
            "problem": row.error or {},
            "kind": _kind_in(language, row.kind),
            "created": time_view("", view.created_at),
            "finished": None if view.finished_at is None else time_view("", view.finished_at),
            "record": row.subject if row.kind in OF_RECORDS else None,
            "may_cancel": row.state in UNFINISHED
            and row.kind not in OF_RECORDS
            and visitor.allows("tests:run"),
        }
        for row in rows
        for view in [make_job_view(row)]
    ]
    return html(
        request,
        "jobs.html",
        visitor=visitor,
        lines=lines,
        states=STATES,
        state=state,
        older=f"{PATH}?{urlencode({**query, 'cursor': following})}" if following else "",
    )


def _kind_in(language: Language, kind: str) -> str:
    """Return what a job computes: in English the API's word for it, else its title, where it has one."""
    code = f"job_{kind}" if kind in OF_RECORDS else kind
    known = language != "en" and code in catalogue.templates(language, "titles")
    return say(f"titles.{code}", language) if known else kind


@routes.post(PATH + "/{job_id}/cancel")
def cancel(request: Request, visitor: Admin, job_id: str) -> Response:
    """Call off the job of a statistical test."""
    refuse_other_sites(request)
    require_scope(visitor, "tests:run")
    if not is_id(job_id):
        raise NotFound(message("refusals.no_job"))
    with get_services(request).database.write() as session:
        actions.cancel(session, jobs.get(session, visitor.project_id, job_id))
    return RedirectResponse(PATH, 303, HEADERS)
