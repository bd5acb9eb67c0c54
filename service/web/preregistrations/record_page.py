"""The page of one preregistration: its plan, what is in, and its verdict once there is one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from anyio import to_thread
from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.actions.plans import families, namings
from service.actions.results import unblinding
from service.actions.verdicts import reports
from service.actions.verdicts.proven import what_is_proven
from service.actions.verdicts.since_lock import since_lock_of
from service.api.http.shared import get_services
from service.domain.access import Key
from service.domain.ledger import Kind
from service.domain.outgoing import Link
from service.domain.plans.preregistration import Preregistration
from service.domain.results.batches import expected_total
from service.domain.verdicts.records import HypothesisVerdict, Verdict
from service.reports.charts.of_verdict import counts_of, forest_of
from service.reports.charts.style import Spec
from service.reports.verdict import words
from service.reports.verdict.content import Report
from service.store.database import clock
from service.store.jobs import jobs
from service.store.ledger import ledger
from service.store.plans import links, preregistrations
from service.store.projects import view_links
from service.store.results import batches, coverage
from service.store.verdicts import verdicts
from service.web.html.rendering import PageRoute, html
from service.web.html.speech import ENGLISH, Say, language_of
from service.web.html.times import time_view
from service.web.preregistrations import record_view, views
from service.web.preregistrations.slices_page import MOST_SHOWN, SlicesView, view_slices
from service.web.visitors.sign_in import LIST, known, visitor_of
from service.words import Language

routes = APIRouter(route_class=PageRoute, include_in_schema=False)
ONE = LIST + "/{preregistration_id}"
PICTURES = {
    "arms": "pages.each_arm_with_its_interval",
    "discordance": "pages.where_the_arms_differ",
    "pareto": "pages.quality_and_cost",
    "multiverse": "pages.the_same_data_under_other",
}
HAPPENED: Mapping[Kind, str] = {
    "plan_amended": record_view.AMENDED,
    "arm_named": record_view.NAMED,
    "close": record_view.CLOSED,
    "withdrawal": record_view.WITHDRAWN,
    "published": record_view.PUBLISHED,
}


@routes.get(ONE)
async def preregistration(request: Request, preregistration_id: str) -> Response:
    """One preregistration: its plan, and its verdict once there is one, with the picture of its intervals."""
    opened = await to_thread.run_sync(_open_record, request, known(preregistration_id))
    return html(
        request,
        "preregistration.html",
        visitor=opened.visitor,
        scripts=("progress.js",) if opened.page.progress is not None else (),
        page=opened.page,
        report=opened.report,
        pictured=opened.intervals
        and f"/preregistrations/{opened.page.id}/charts/forest.svg?lang={language_of(request)}",
        more=opened.further_pictures,
        pictures=PICTURES,
        slices=opened.slices,
        words=words,
    )


@dataclass(frozen=True, slots=True)
class _OpenedRecord:
    """What the page of a record shows, and to whom; the last three only after its verdict."""

    visitor: Key
    page: views.Page
    report: Report | None = None
    intervals: Spec | None = None
    """The picture of them."""
    further_pictures: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By hypothesis, names of `PICTURES`."""
    slices: Mapping[str, SlicesView] = field(default_factory=dict)
    """By hypothesis, as many as the page has room for."""


def _open_record(request: Request, preregistration_id: str) -> _OpenedRecord:
    """The page of a record; who reads its verdict is noted in the audit log."""
    language = language_of(request)
    with get_services(request).database.read() as session:
        visitor = visitor_of(request, session)
        record = preregistrations.get(session, visitor.project_id, preregistration_id)
        if record.judged_at is not None:
            get_services(request).reads.note(visitor, "verdict.read", record.id)
        verdict = verdict_of(session, record)
        elsewhere = () if record.state == "draft" else links.read_all(session, record.id)
        page = page_of_record(session, record, verdict, elsewhere, Say(language))
        if verdict is None:
            return _OpenedRecord(visitor, page)
        report = reports.of_verdict(session, record, verdict)
        return _OpenedRecord(
            visitor,
            page,
            report=report,
            intervals=forest_of(record.plan, verdict, language),
            further_pictures={judged.id: _pictures(record, judged) for judged in verdict.hypotheses},
            slices=_first_slices(report, page, language),
        )


def _first_slices(report: Report, page: views.Page, language: Language) -> dict[str, SlicesView]:
    """The slices of every hypothesis, each with its share of the room where there are too many for one page."""
    judged = {hypothesis.id: hypothesis.judged for hypothesis in page.hypotheses}
    of = [hypothesis for hypothesis in report.hypotheses if hypothesis.slices is not None]
    n = sum(len(each.slices.slices) for each in of if each.slices is not None)
    most = None if n <= MOST_SHOWN else MOST_SHOWN // len(of)
    return {
        each.id: view_slices(each, shown.slice_strips, language, most)
        for each in of
        if (shown := judged[each.id]) is not None
    }


def _pictures(record: Preregistration, judged: HypothesisVerdict) -> list[str]:
    """Pictures of a hypothesis whose rows are open, beside the two that every page shows."""
    pictures = ["arms"]
    if counts_of(record.plan, judged) is not None:
        pictures.append("discordance")
    if len(record.plan.endpoints_of(judged.population)) > 1:
        pictures.append("pareto")
    return [*pictures, "multiverse"]


def page_of_record(
    session: Session,
    record: Preregistration,
    verdict: Verdict | None,
    elsewhere: Sequence[Link] = (),
    say: Say = ENGLISH,
) -> views.Page:
    """The page of a record: its plan, and its verdict once there is one. The same to whoever may read it."""
    failed = record.state == "complete" and _verdict_failed(session, record)
    sealed = unblinding.seals(session, record)
    return record_view.page_of(
        record,
        verdict,
        progress_of(session, record),
        failed=failed,
        under_embargo=view_links.read_sharing(session, record.id).opens_at is not None,
        overdue=record.state != "draft" and record.overdue(clock.read_now(session).date()),
        family=families.find_place(session, record),
        happened=tuple(_list_acts(session, record, say)),
        unblindings=sealed.unblindings,
        erasure=sealed.erasure,
        links=elsewhere,
        arms=namings.read_plan(session, record).arm_cards or (),
        first_result=batches.find_first_time(session, record.id),
        since_lock=None if verdict is None else since_lock_of(session, record, verdict),
        proven=() if verdict is None else what_is_proven(session, record),
        say=say,
    )


def verdict_of(session: Session, record: Preregistration) -> Verdict | None:
    """The verdict of a record that has been judged; a withdrawal does not hide it."""
    if record.judged_at is None:
        return None
    return verdicts.find(session, record.project_id, record.id)


def progress_of(session: Session, record: Preregistration) -> views.Progress | None:
    """Counts of what is in, while results are coming."""
    if record.state not in ("locked", "collecting"):
        return None
    received = sum(count.received for count in coverage.read_counts(session, record.id))
    return views.Progress(received, expected_total(record.plan))


def _list_acts(session: Session, record: Preregistration, say: Say) -> Iterator[views.Happened]:
    """What people did to a locked record, in order, each with its reason."""
    if record.state == "draft":
        return
    for entry in ledger.read_entries(session, record.id, *HAPPENED):
        if entry.receipt.kind == "published":
            reason = say(record_view.EMBARGO_OVER, day=entry.body["embargo_until"])
        else:
            # Who names an arm gives its card and evidence in the place of a reason.
            namings_of_entry = namings.collect_named_arms([entry]).values()
            reason = "; ".join(naming.line() for naming in namings_of_entry) or entry.body["reason"]
        yield views.Happened(time_view(say(HAPPENED[entry.receipt.kind]), entry.created_at), reason)


def _verdict_failed(session: Session, record: Preregistration) -> bool:
    job = jobs.find_latest(session, record.project_id, kind="verdict", subject=record.id)
    return job is not None and job.state == "failed"
