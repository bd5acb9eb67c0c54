"""The report of a verdict as an answer, in five forms."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from fastapi import Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.actions.verdicts import charts as pictures
from service.actions.verdicts import reports as actions
from service.api.calculators import handlers
from service.api.calculators.pool import CalculatorLost
from service.api.http.answers.drawing import CLOSED, draw_in_calculator
from service.api.http.requests.body import READ_SECONDS
from service.api.http.shared import get_services
from service.domain.plans.preregistration import Preregistration
from service.domain.verdicts.records import Verdict
from service.errors import Conflict, Unavailable
from service.reports.charts.style import Spec
from service.reports.verdict.content import Report
from service.reports.verdict.html import print_html
from service.reports.verdict.latex import print_latex
from service.reports.verdict.markdown import print_markdown
from service.reports.verdict.pdf import fit_pictures, pdf_content
from service.words import Language

ReportForm = Literal["md", "html", "tex", "pdf", "json"]
REPORTS: dict[ReportForm, str] = {
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "tex": "application/x-tex; charset=utf-8",
    "pdf": "application/pdf",
    "json": "application/json",
}


@dataclass(frozen=True, slots=True)
class GatheredReport:
    """A report with the specs of its pictures: `forest`, and `cumulative` where the rows are open."""

    report: Report
    specs: dict[str, Spec]


def gather(session: Session, record: Preregistration, verdict: Verdict, language: Language) -> GatheredReport:
    """Read everything that the report of a verdict is printed from."""
    return GatheredReport(
        actions.of_verdict(session, record, verdict), make_specs(session, record, verdict, language)
    )


def make_specs(
    session: Session, record: Preregistration, verdict: Verdict, language: Language
) -> dict[str, Spec]:
    """Make the specs of a report's pictures, by name; one without anything to draw is left out."""
    specs: dict[str, Spec] = {}
    wanted: tuple[pictures.OfVerdict, ...] = ("forest", "cumulative")
    for name in wanted:
        try:
            specs[name] = pictures.of_verdict(session, record, verdict, name, None, language)
        except Conflict:  # nothing to draw, or the rows are not open
            continue
    return specs


async def answer_report(
    request: Request, gathered: GatheredReport, form: ReportForm, language: Language
) -> Response:
    """Answer with a report in a form, as a file named for the record.

    Raises:
        Unavailable: the PDF could not be set in time.
    """
    report = gathered.report
    headers = make_headers(f"{report.preregistration_id}-report.{form}", form)
    return Response(await _print(request, gathered, form, language), 200, headers, REPORTS[form])


def make_headers(name: str, form: ReportForm) -> dict[str, str]:
    """Make the headers of a printed form, a file of that name: pages and PDFs open in the browser, others are saved."""
    disposition = "inline" if form in ("html", "pdf") else "attachment"
    return {
        "Cache-Control": "private, no-cache",
        "Content-Security-Policy": CLOSED,
        "Content-Disposition": f'{disposition}; filename="{name}"',
    }


async def _print(request: Request, gathered: GatheredReport, form: ReportForm, language: Language) -> bytes:
    """Print a report in a form; pictures and PDF are made in a calculator."""
    report = gathered.report
    if form == "json":
        return report.__pydantic_serializer__.to_json(report)
    if form == "md":
        return print_markdown(report, language).encode()
    if form == "tex":
        return print_latex(report, language).encode()
    if form == "html":
        drawn = [
            await draw_in_calculator(request, pack_json(spec), "svg") for spec in gathered.specs.values()
        ]
        return print_html(report, tuple(picture.decode() for picture in drawn), language).encode()
    body = pack_json({"content": pdf_content(report, language), "pictures": fit_pictures(gathered.specs)})
    try:
        return await get_services(request).calculators.run(
            request, handlers.set_report_pdf, body=[body], seconds=READ_SECONDS
        )
    except CalculatorLost:
        raise Unavailable("the report could not be set in time: repeat the request shortly") from None


def pack_json(value: object) -> bytes:
    """Dump a value as compact JSON; half a surrogate pair becomes a question mark.

    Raises:
        ValueError: a number is not finite.
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(
        "utf-8", "replace"
    )
