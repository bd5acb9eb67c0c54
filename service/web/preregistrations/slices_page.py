"""All slices of a hypothesis: the record's own page shows as many as it has room for, those that fail first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Request
from starlette.responses import Response

from service.actions.verdicts import reports
from service.actions.verdicts.charts import chosen
from service.api.http.requests.deps import PageSession
from service.api.http.shared import get_services
from service.api.routes.verdicts.verdicts import require_verdict
from service.reports.verdict import words
from service.reports.verdict.content import HypothesisReport
from service.store.plans import preregistrations
from service.web.html.rendering import PageRoute, html
from service.web.html.speech import Say, language_of
from service.web.preregistrations.hypothesis_view import slice_strips
from service.web.preregistrations.record_view import title_of
from service.web.preregistrations.strips import Strip
from service.web.visitors.sign_in import LIST, Visitor, known
from service.words import Language

MOST_SHOWN = 200
"""Slices on the page of a record, over all of its hypotheses: more would weigh more than a page may."""
_FIRST = ("fails", "unknown", "holds")

routes = APIRouter(route_class=PageRoute, include_in_schema=False)


@dataclass(frozen=True, slots=True)
class SliceRow:
    """A slice as a row: its name, its numbers and its standing."""

    cells: tuple[str, ...]
    mark: str
    """`holds`, `fails` or `unknown`."""
    strip: Strip | None


@dataclass(frozen=True, slots=True)
class SlicesView:
    """The slices of a hypothesis, or the first of them."""

    head: tuple[str, ...]
    rows: tuple[SliceRow, ...]
    n: int
    """How many there are."""


def view_slices(
    judged: HypothesisReport, strips: Sequence[Strip | None], language: Language, most: int | None = None
) -> SlicesView:
    """The slices in the order of the verdict; of more than `most` those that fail, then those that cannot tell."""
    head, cells = words.slices_table(judged, language)
    marks = words.slice_marks(judged)
    rows = [SliceRow(*row) for row in zip(cells, marks, strips, strict=True)] if cells else []
    shown = rows
    if most is not None and len(rows) > most:
        shown = sorted(rows, key=lambda row: _FIRST.index(row.mark))[:most]
    return SlicesView(head, tuple(shown), len(rows))


@routes.get(LIST + "/{preregistration_id}/slices")
def slices(
    request: Request, session: PageSession, visitor: Visitor, preregistration_id: str, hypothesis: str = ""
) -> Response:
    """All slices of a judged hypothesis. Before the verdict they are refused as everywhere."""
    record = preregistrations.get(session, visitor.project_id, known(preregistration_id))
    verdict = require_verdict(session, record).read()
    judged = chosen(verdict, hypothesis or None)
    get_services(request).reads.note(visitor, "verdict.read", record.id)
    language = language_of(request)
    report = reports.of_verdict(session, record, verdict)
    (of_hypothesis,) = [each for each in report.hypotheses if each.id == judged.id]
    return html(
        request,
        "all_slices.html",
        visitor=visitor,
        title=title_of(record.plan.title, Say(language)),
        back=f"{LIST}/{record.id}",
        id=judged.id,
        view=view_slices(of_hypothesis, slice_strips(judged), language),
        line=words.slices_line(of_hypothesis, language),
    )
