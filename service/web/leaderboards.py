"""Several systems from one table: the ranks that the data leave open, and who cannot be told apart."""

from __future__ import annotations

import json
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse, Response

from forelock.columns import Named, Unnamed
from forelock.problem import FileFault
from forelock.ranking import columns_of
from forelock.rows import table_in
from service.api.http.shared import services
from service.api.parsing.multipart import Form
from service.domain.access import Key
from service.errors import ForelockError, InvalidData
from service.stats.shared.declaring import registry
from service.store.jobs import jobs
from service.web.computing import Shown, answer_to, shown
from service.web.forms import LARGE, reads_form
from service.web.rendering import HEADERS, PageRoute, html, refusal
from service.web.signing import Tester
from service.web.speech import language_of

PATH = "/leaderboards"
NAME = "table"
"""What faults call a table that was written or uploaded."""

routes = APIRouter(route_class=PageRoute, include_in_schema=False)


@routes.get(PATH)
def empty(request: Request, visitor: Tester) -> Response:
    """The form."""
    return _page(request, visitor, "", "higher")


@routes.post(PATH)
async def ranked(
    request: Request, visitor: Tester, form: Annotated[Form, Depends(reads_form(LARGE))]
) -> Response:
    """The arms of the table in order."""
    text, better = form.text("table"), form.one("better", "higher")
    test = registry.serving("ranked")
    try:
        body, columns = await to_thread.run_sync(_body, text, better, limiter=services(request).slow)
        answer = await answer_to(request, visitor, test, body)
    except ForelockError as error:
        if error.status not in (400, 413, 422):
            return refusal(request, error)
        return _page(request, visitor, text, better, error=error)
    if isinstance(answer, jobs.Job):
        return RedirectResponse(f"/tests/{test.name}?job={answer.id}", 303, HEADERS)
    told = await shown(request, test, answer, language_of(request))
    return _page(request, visitor, text, better, told=told, columns=columns)


def _body(text: str, better: str) -> tuple[bytes, Named]:
    """The table as the API's request, and which of its columns stands for what.

    Raises:
        InvalidData: naming the line of the table.
    """
    try:
        arms, columns = columns_of(table_in(text, NAME), NAME)
    except Unnamed as fault:
        raise InvalidData(
            f"{fault.found}: write {' and '.join(fault.roles)} above it in the first line"
        ) from None
    except FileFault as fault:
        raise InvalidData(str(fault)) from None
    return json.dumps(arms | {"better": better}).encode(), columns


def _page(
    request: Request,
    visitor: Key,
    text: str,
    better: str,
    *,
    told: Shown | None = None,
    columns: Named | None = None,
    error: ForelockError | None = None,
) -> Response:
    return html(
        request,
        "ranked.html",
        200 if error is None else error.status,
        visitor=visitor,
        text=text,
        better=better,
        told=told,
        columns=columns,
        error=error,
    )
