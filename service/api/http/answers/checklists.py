"""A filled checklist as an answer, in four forms."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from service.api.calculators import aside
from service.api.calculators.pool import CalculatorLost
from service.api.http.answers.reporting import CLOSED, REPORTS, ReportForm, packed
from service.api.http.requests.body import READ_SECONDS
from service.api.http.shared import services
from service.errors import InvalidData, Unavailable
from service.reports.forms.checklist import Checklist
from service.reports.forms.html import print_html
from service.reports.forms.markdown import print_checklist
from service.reports.forms.pdf import checklist_content
from service.words import Language

CHECKLISTS: tuple[ReportForm, ...] = ("md", "html", "pdf", "json")


def require_checklist(form: ReportForm) -> None:
    """Refuse a form that no checklist is printed in."""
    if form not in CHECKLISTS:
        named = ", ".join(f"report.{name}" for name in CHECKLISTS)
        raise InvalidData.field("form", f"no checklist is printed as {form}", f"ask for one of {named}")


async def checklisted(
    request: Request, checklist: Checklist, form: ReportForm, language: Language
) -> Response:
    """The checklist as an answer, named for the record and the standard."""
    name = f"{checklist.preregistration_id}-{checklist.form}.{form}"
    headers = {
        "Cache-Control": "private, no-cache",
        "Content-Security-Policy": CLOSED,
        "Content-Disposition": f'{"inline" if form in ("html", "pdf") else "attachment"}; filename="{name}"',
    }
    return Response(await _printed(request, checklist, form, language), 200, headers, REPORTS[form])


async def _printed(request: Request, checklist: Checklist, form: ReportForm, language: Language) -> bytes:
    if form == "json":
        return checklist.__pydantic_serializer__.to_json(checklist)
    if form == "md":
        return print_checklist(checklist, language).encode()
    if form == "html":
        return print_html(checklist, language).encode()
    body = packed(checklist_content(checklist, language))
    calculators = services(request).calculators
    try:
        return await calculators.run(request, aside.checklist_pdf, body=[body], seconds=READ_SECONDS)
    except CalculatorLost:
        raise Unavailable("the checklist could not be set in time: repeat the request shortly") from None
