"""Several systems from one table: the ranks that the data leave open, and who cannot be told apart."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse, Response

from service.api.calculators.command_line import SECONDS, read_table
from service.api.calculators.pool import CalculatorLost, unreadable
from service.api.http.shared import get_services
from service.api.parsing.multipart import Form
from service.domain.access import Key
from service.errors import ForelockError
from service.stats.shared.declaring import registry
from service.store.jobs import jobs
from service.web.calculations.answers import AnswerView, answer_to, view_answer
from service.web.html.forms import LARGE, reads_form
from service.web.html.rendering import HEADERS, PageRoute, html, refusal
from service.web.html.speech import language_of
from service.web.visitors.sign_in import Tester

PATH = "/leaderboards"

routes = APIRouter(route_class=PageRoute, include_in_schema=False)


@routes.get(PATH)
def empty(request: Request, visitor: Tester) -> Response:
    """Show the form for a table."""
    return _page(request, visitor, "", "higher")


@routes.post(PATH)
async def rank_table(
    request: Request, visitor: Tester, form: Annotated[Form, Depends(reads_form(LARGE))]
) -> Response:
    """The arms of the table in order."""
    text, better = form.text("table"), form.one("better", "higher")
    test, shared = registry.serving("ranked"), get_services(request)
    try:
        table = await shared.calculators.run(
            request,
            read_table,
            str(shared.settings.data_dir / "scratch"),
            body=[text.encode()],
            seconds=SECONDS,
        )
        body = json.dumps(json.loads(table.request) | {"better": better}).encode()
        answer = await answer_to(request, visitor, test, body)
    except CalculatorLost:
        return refusal(request, unreadable())
    except ForelockError as error:
        if error.status not in (400, 413, 422):
            return refusal(request, error)
        return _page(request, visitor, text, better, error=error)
    if isinstance(answer, jobs.Job):
        return RedirectResponse(f"/tests/{test.name}?job={answer.id}", 303, HEADERS)
    view = await view_answer(request, test, answer, language_of(request))
    return _page(request, visitor, text, better, view=view, remarks=table.remarks)


def _page(
    request: Request,
    visitor: Key,
    text: str,
    better: str,
    *,
    view: AnswerView | None = None,
    remarks: Sequence[str] = (),
    error: ForelockError | None = None,
) -> Response:
    """Render the page of several systems: its form with this table, and an answer or a refusal below."""
    return html(
        request,
        "ranked.html",
        200 if error is None else error.status,
        visitor=visitor,
        text=text,
        better=better,
        told=view,
        means=() if view is None else _format_means([arm["mean"] for arm in view.analysis["arms"]]),
        remarks=remarks,
        error=error,
    )


def _format_means(means: Sequence[float]) -> list[str]:
    """Means with one number of decimals, so that they stand below one another: four digits of the largest."""
    largest = max(map(abs, means), default=0.0)
    if largest >= 1e6 or 0 < largest < 1e-3:
        return [f"{mean:.3e}" for mean in means]
    places = max(0, 3 - (math.floor(math.log10(largest)) if largest else 0))
    return [f"{mean:.{places}f}" for mean in means]
