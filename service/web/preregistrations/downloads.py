"""What is downloaded from the page of a record: pictures, reports, rows, the bundle."""

from __future__ import annotations

from anyio import to_thread
from fastapi import APIRouter, Request
from starlette.responses import Response

from service.api.http.answers.checklists import answer_checklist, require_checklist
from service.api.http.answers.drawing import answer_picture
from service.api.http.answers.reporting import answer_report
from service.api.http.shared import get_services
from service.api.routes.results.rows import answer_rows_file
from service.api.routes.verdicts import bundles
from service.api.routes.verdicts.charts import make_record_spec, require_chart
from service.api.routes.verdicts.citations import answer_citation, require_citation
from service.api.routes.verdicts.reports import Asked, fill_checklist, gather_report, require_report
from service.web.html.rendering import PageRoute
from service.web.html.speech import language_of
from service.web.preregistrations.record_page import ONE
from service.web.visitors.sign_in import Visitor, get_visitor, known

routes = APIRouter(route_class=PageRoute, include_in_schema=False)


@routes.get(ONE + "/charts/{chart}.{form}")
async def chart(
    request: Request,
    preregistration_id: str,
    chart: str,
    form: str,
    hypothesis: str | None = None,
    theme: str = "",
    shape: str = "",
) -> Response:
    """A picture of a record for its page: with `theme=both` as light or dark as that is, `shape=narrow` for a phone."""
    name, wanted = require_chart(chart, form)
    key = await to_thread.run_sync(get_visitor, request)
    spec = await to_thread.run_sync(
        make_record_spec,
        get_services(request),
        key,
        known(preregistration_id),
        name,
        hypothesis,
        language_of(request),
    )
    get_services(request).reads.note(key, "chart.read", preregistration_id)
    return await answer_picture(
        request, spec, wanted, "both" if theme == "both" else "light", narrow=shape == "narrow"
    )


@routes.get(ONE + "/report.{form}")
async def report(request: Request, preregistration_id: str, form: str, standard: Asked = None) -> Response:
    """The report of a verdict, or the checklist of a standard, from its page."""
    wanted, language = require_report(form), language_of(request)
    key = await to_thread.run_sync(get_visitor, request)
    if standard is not None:
        require_checklist(wanted)
        filled = await to_thread.run_sync(
            fill_checklist, get_services(request), key, known(preregistration_id), standard
        )
        get_services(request).reads.note(key, "report.read", preregistration_id)
        return await answer_checklist(request, filled, wanted, language)
    gathered = await to_thread.run_sync(
        gather_report, get_services(request), key, known(preregistration_id), language
    )
    get_services(request).reads.note(key, "report.read", preregistration_id)
    return await answer_report(request, gathered, wanted, language)


@routes.get(ONE + "/citation.{form}")
def citation(request: Request, visitor: Visitor, preregistration_id: str, form: str) -> Response:
    """How the record is cited, from its page."""
    wanted = require_citation(form)
    get_services(request).reads.note(visitor, "verdict.read", preregistration_id)
    return answer_citation(get_services(request), visitor, known(preregistration_id), wanted)


@routes.get(ONE + "/bundle")
def bundle(request: Request, visitor: Visitor, preregistration_id: str) -> Response:
    """Everything that shows what a record is, as one file."""
    get_services(request).reads.note(visitor, "bundle.read", preregistration_id)
    return bundles.get_bundle(visitor, get_services(request), known(preregistration_id))


@routes.get(ONE + "/results.csv")
def rows(request: Request, visitor: Visitor, preregistration_id: str) -> Response:
    """The rows of a judged record. Before the verdict they are refused as everywhere."""
    response = answer_rows_file(get_services(request), visitor, known(preregistration_id))
    get_services(request).reads.note(visitor, "results.read", preregistration_id)
    return response
