"""What is downloaded from the page of a record: pictures, reports, rows, the bundle."""

from __future__ import annotations

from anyio import to_thread
from fastapi import APIRouter, Request
from starlette.responses import Response

from service.api.http.answers.checklists import checklisted, require_checklist
from service.api.http.answers.drawing import pictured
from service.api.http.answers.reporting import reported
from service.api.http.shared import services
from service.api.routes.results.rows import rows_file
from service.api.routes.verdicts import bundles
from service.api.routes.verdicts.charts import known_chart, spec_of_record
from service.api.routes.verdicts.citations import citation_of_record, known_citation
from service.api.routes.verdicts.reports import Asked, checklist_of_record, known_report, report_of_record
from service.web.html.rendering import PageRoute
from service.web.html.speech import language_of
from service.web.preregistrations.record_page import ONE
from service.web.visitors.sign_in import Visitor, known, signed_in

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
    name, wanted = known_chart(chart, form)
    key = await to_thread.run_sync(signed_in, request)
    spec = await to_thread.run_sync(
        spec_of_record,
        services(request),
        key,
        known(preregistration_id),
        name,
        hypothesis,
        language_of(request),
    )
    services(request).reads.note(key, "chart.read", preregistration_id)
    return await pictured(
        request, spec, wanted, "both" if theme == "both" else "light", narrow=shape == "narrow"
    )


@routes.get(ONE + "/report.{form}")
async def report(request: Request, preregistration_id: str, form: str, standard: Asked = None) -> Response:
    """The report of a verdict, or the checklist of a standard, from its page."""
    wanted, language = known_report(form), language_of(request)
    key = await to_thread.run_sync(signed_in, request)
    if standard is not None:
        require_checklist(wanted)
        filled = await to_thread.run_sync(
            checklist_of_record, services(request), key, known(preregistration_id), standard
        )
        services(request).reads.note(key, "report.read", preregistration_id)
        return await checklisted(request, filled, wanted, language)
    gathered = await to_thread.run_sync(
        report_of_record, services(request), key, known(preregistration_id), language
    )
    services(request).reads.note(key, "report.read", preregistration_id)
    return await reported(request, gathered, wanted, language)


@routes.get(ONE + "/citation.{form}")
def citation(request: Request, visitor: Visitor, preregistration_id: str, form: str) -> Response:
    """How the record is cited, from its page."""
    wanted = known_citation(form)
    services(request).reads.note(visitor, "verdict.read", preregistration_id)
    return citation_of_record(services(request), visitor, known(preregistration_id), wanted)


@routes.get(ONE + "/bundle")
def bundle(request: Request, visitor: Visitor, preregistration_id: str) -> Response:
    """Everything that shows what a record is, as one file."""
    services(request).reads.note(visitor, "bundle.read", preregistration_id)
    return bundles.get_bundle(visitor, services(request), known(preregistration_id))


@routes.get(ONE + "/results.csv")
def rows(request: Request, visitor: Visitor, preregistration_id: str) -> Response:
    """The rows of a judged record. Before the verdict they are refused as everywhere."""
    response = rows_file(services(request), visitor, known(preregistration_id))
    services(request).reads.note(visitor, "results.read", preregistration_id)
    return response
