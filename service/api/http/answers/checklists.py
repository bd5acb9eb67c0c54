"""A filled checklist as an answer, in four forms."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from service.api.calculators import handlers
from service.api.calculators.pool import CalculatorLost
from service.api.http.answers.reporting import REPORTS, ReportForm, make_headers, pack_json
from service.api.http.requests.body import READ_SECONDS
from service.api.http.shared import get_services
from service.errors import InvalidData, Unavailable
from service.reports.forms.checklist import Checklist
from service.reports.forms.html import print_html
from service.reports.forms.markdown import print_checklist
from service.reports.forms.pdf import checklist_content
from service.words import Language

CHECKLISTS: tuple[ReportForm, ...] = ("md", "html", "pdf", "json")


def require_checklist(form: ReportForm) -> None:
    """Refuse a form that no checklist is printed in.

    Raises:
        InvalidData: with the forms that there are.
    """
    if form not in CHECKLISTS:
        named = ", ".join(f"report.{name}" for name in CHECKLISTS)
        raise InvalidData.field("form", f"no checklist is printed as {form}", f"ask for one of {named}")


async def answer_checklist(
    request: Request, checklist: Checklist, form: ReportForm, language: Language
) -> Response:
    """Answer with a checklist in a form, as a file named for the record and the standard.

    Raises:
        Unavailable: the PDF could not be set in time.
    """
    headers = make_headers(f"{checklist.preregistration_id}-{checklist.form}.{form}", form)
    return Response(await _print_checklist(request, checklist, form, language), 200, headers, REPORTS[form])


async def _print_checklist(
    request: Request, checklist: Checklist, form: ReportForm, language: Language
) -> bytes:
    """Return the bytes of a checklist in one of four forms; a calculator typesets the PDF."""
    if form == "json":
        return checklist.__pydantic_serializer__.to_json(checklist)
    if form == "md":
        return print_checklist(checklist, language).encode()
    if form == "html":
        return print_html(checklist, language).encode()
    body = pack_json(checklist_content(checklist, language))
    calculators = get_services(request).calculators
    try:
        return await calculators.run(request, handlers.set_checklist_pdf, body=[body], seconds=READ_SECONDS)
    except CalculatorLost:
        raise Unavailable("the checklist could not be set in time: repeat the request shortly") from None
