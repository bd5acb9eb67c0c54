"""The report of a verdict, in five forms."""

from __future__ import annotations

from typing import Annotated, Any

from anyio import to_thread
from fastapi import Path, Query, Request, Response

from service.actions.verdicts import checklists
from service.api.examples import charts as examples
from service.api.http.answers.checklists import answer_checklist, require_checklist
from service.api.http.answers.reporting import REPORTS, GatheredReport, ReportForm, answer_report, gather
from service.api.http.requests.deps import Reader, RecordId, Shared
from service.api.http.serving.route import audits, make_router, refuses
from service.api.http.shared import Services
from service.api.parsing.markdown import Lang
from service.api.routes.verdicts.verdicts import require_verdict
from service.domain.access import Key
from service.errors import NotFound
from service.reports.forms.checklist import Checklist
from service.reports.forms.standards import StandardName
from service.reports.verdict.content import Report
from service.store.plans import preregistrations
from service.words import Language

routes = make_router("verdicts")

Printed = Annotated[str, Path(max_length=8, description="`md`, `html`, `tex`, `pdf` or `json`.")]
Asked = Annotated[
    StandardName | None,
    Query(
        alias="form",
        description="The checklist of a standard in place of the report: `gpai`, `neurips`, `nist` or `reforms`.",
    ),
]
_SHOWN: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            "application/json": {"example": examples.REPORT},
            **{
                REPORTS[form].partition(";")[0]: {"schema": {"type": "string", "format": "binary"}}
                for form in REPORTS
                if form != "json"
            },
        }
    }
}


@routes.get(
    "/preregistrations/{prereg_id}/report.{form}", response_model=Report, responses=_SHOWN | refuses(409)
)
@audits("report.read")
async def get_report(
    request: Request,
    caller: Reader,
    shared: Shared,
    prereg_id: RecordId,
    form: Printed,
    lang: Lang = "en",
    standard: Asked = None,
) -> Response:
    """Read the verdict as a statistical report, or the checklist of a reporting standard.

    Basic statistics of both arms, every test with its statistic, p and effect size, the intervals, the clauses of the
    rule, the conclusion in the verdict's own words, deviations and what they do, the evidence, and where the ledger has
    it. Before the verdict it is refused as the verdict is.

    With `form`, the items of that standard instead, in any state of the record: what the record says of each, word for
    word, and what is not in it.
    """
    wanted = require_report(form)
    if standard is not None:
        require_checklist(wanted)
        filled = await to_thread.run_sync(fill_checklist, shared, caller, prereg_id, standard)
        return await answer_checklist(request, filled, wanted, lang)
    gathered = await to_thread.run_sync(gather_report, shared, caller, prereg_id, lang)
    return await answer_report(request, gathered, wanted, lang)


def fill_checklist(shared: Services, caller: Key, prereg_id: str, standard: StandardName) -> Checklist:
    """Fill the checklist of a standard from a record that the caller may read."""
    with shared.database.read() as session:
        record = preregistrations.get(session, caller.project_id, prereg_id)
        return checklists.of_record(session, record, standard)


def require_report(form: str) -> ReportForm:
    """Return the form of report that a path names.

    Raises:
        NotFound: there is no such form.
    """
    if form not in REPORTS:
        raise NotFound(f"no such report; there are {', '.join(f'report.{suffix}' for suffix in REPORTS)}")
    return form


def gather_report(shared: Services, caller: Key, prereg_id: str, language: Language) -> GatheredReport:
    """Gather what the report of a record is printed from, if the caller may read it.

    Raises:
        Conflict: there is no verdict; `require_verdict` says why.
    """
    with shared.database.read() as session:
        record = preregistrations.get(session, caller.project_id, prereg_id)
        return gather(session, record, require_verdict(session, record).read(), language)
