"""Verdicts: what the locked rules said of the results."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Query, Request, Response
from pydantic import AwareDatetime, Field
from sqlalchemy.orm import Session

from service.actions.plans import families
from service.actions.results import results as actions
from service.actions.verdicts import headlines
from service.api.examples import common as examples
from service.api.http.answers.answers import Page, View, answer, shows
from service.api.http.answers.attested import attest
from service.api.http.requests.deps import (
    Cursor,
    Limit,
    Locker,
    Reader,
    ReadSession,
    RecordId,
    Shared,
    answer_not_modified,
)
from service.api.http.requests.idempotency import OptionalOnce
from service.api.http.serving.route import audits, make_router, refuses
from service.api.parsing.markdown import Lang
from service.api.routes.calculations.jobs import JobView, queue_job
from service.api.routes.plans.preregistrations import NOT_MODIFIED
from service.domain.moment import Moment
from service.domain.plans.preregistration import Preregistration
from service.domain.verdicts.records import Outcome, Verdict
from service.errors import Blinded, Conflict
from service.store.jobs import jobs
from service.store.ledger import ledger
from service.store.plans import preregistrations
from service.store.verdicts import verdicts
from service.store.verdicts.verdicts import StoredVerdict

routes = make_router("verdicts")


class VerdictItem(View):
    """The outcome of one hypothesis."""

    preregistration_id: str
    title: str
    hypothesis: str
    outcome: Outcome | None = Field(description="Null where the stored verdict was altered.")
    headline: str | None = Field(
        description="The outcome, the arms and the estimate with its interval, in a line. Null where the stored "
        "verdict or its plan was altered."
    )
    judged_at: datetime
    altered: bool = Field(
        False, description="The stored verdict is not what was judged: nothing is shown of it."
    )


@routes.get(
    "/preregistrations/{prereg_id}/verdict",
    response_model=Verdict,
    responses=shows(examples.VERDICT) | NOT_MODIFIED | refuses(409, 503),
)
@audits("verdict.read")
def get_verdict(request: Request, caller: Reader, shared: Shared, prereg_id: RecordId) -> Response:
    """Read the verdict: every clause with what was observed, and the analyses behind it.

    The answer is the stored text, byte for byte: its SHA-256 is its ETag, and what the ledger has of it. Before it is
    there: 409 with code `blinded` until the planned n is in, then `verdict_pending` or `verdict_failed`; `withdrawn`
    where none will come. Beside the text the header `Forelock-Family` says which registration on its items this is, and
    `Forelock-Checkpoint` is base64 of a signed note: a checkpoint of the ledger that holds this verdict.
    """
    with shared.database.read() as session:
        record = preregistrations.get(session, caller.project_id, prereg_id)
        verdict = require_verdict(session, record)
        receipt = ledger.read_receipts(session, prereg_id, kind="verdict")[-1]
        place = families.find_place(session, record)
    headers = {"ETag": f'"{verdict.sha256}"'}
    if place is not None:
        headers["Forelock-Family"] = f"{place.id}; registration={place.registration}; of={place.of}"
    unchanged = answer_not_modified(request, headers["ETag"])
    if unchanged is not None:
        unchanged.headers.update(headers)
    response = unchanged or Response(verdict.text, 200, headers, "application/json")
    return attest(shared, response, receipt.sequence)


def require_verdict(session: Session, record: Preregistration) -> StoredVerdict:
    """Return the record's stored verdict.

    Raises:
        Conflict: `blinded`, `verdict_pending`, `verdict_failed` or `withdrawn`.
        RecordAltered: it is not what was judged.
    """
    verdict = verdicts.find_stored(session, record.project_id, record.id)
    if verdict is None:
        raise _explain_absence(
            record, jobs.find_latest(session, record.project_id, kind="verdict", subject=record.id)
        )
    return verdict


@routes.post(
    "/preregistrations/{prereg_id}/verdict",
    status_code=202,
    response_model=JobView,
    responses=shows(examples.JOB, 202) | refuses(409),
)
def retry_verdict(caller: Locker, once: OptionalOnce, shared: Shared, prereg_id: RecordId) -> Response:
    """Queue the verdict of a complete plan again, after its job failed. One that is queued or running is kept."""
    return queue_job(shared, once, caller, prereg_id, _enqueue_again, "verdict.ask")


def _enqueue_again(session: Session, record: Preregistration, moment: Moment) -> jobs.Job:
    record.require("complete")
    return actions.enqueue(session, record, "verdict", moment)


@routes.get("/verdicts", response_model=Page[VerdictItem], responses=shows(examples.VERDICTS))
@audits("verdicts.list")
def list_verdicts(
    caller: Reader,
    session: ReadSession,
    project: Annotated[
        str | None, Query(max_length=64, description="Id of the project; only the key's own is found.")
    ] = None,
    hypothesis: Annotated[str | None, Query(max_length=64, description="Id of the hypothesis.")] = None,
    outcome: Annotated[Outcome | None, Query(description="Only this outcome.")] = None,
    since: Annotated[
        AwareDatetime | None, Query(description="Only verdicts from this time on, with its UTC offset.")
    ] = None,
    lang: Lang = "en",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """List outcomes by hypothesis, newest first. Only judged records have lines; `lang` is the headlines'."""
    if project not in (None, caller.project_id):
        return answer(Page[VerdictItem](items=[], next_cursor=None))
    stored, following = verdicts.read_page(
        session,
        caller.project_id,
        hypothesis=hypothesis,
        outcome=outcome,
        since=since,
        cursor=cursor,
        limit=limit,
    )
    lines = headlines.of_lines(session, caller.project_id, stored)
    items = [
        VerdictItem(
            **line.model_dump(exclude={"sha256"}), headline=None if first is None else first.text(lang)
        )
        for line, first in zip(stored, lines, strict=True)
    ]
    return answer(Page[VerdictItem](items=items, next_cursor=following))


def _explain_absence(record: Preregistration, job: jobs.Job | None) -> Conflict:
    """Return the refusal that says why a record has no verdict, by its state and the newest verdict job."""
    if record.state == "withdrawn":
        return Conflict(
            f"preregistration {record.id} was withdrawn before it was judged: no verdict will come, and its rows stay "
            "sealed",
            code="withdrawn",
        )
    if record.state != "complete":
        left = (
            "; lock it first"
            if record.state == "draft"
            else "; progress?missing=true lists what is not, and an import with `complete` says of a run that is over "
            "that what it lacks is missing"
        )
        return Blinded(
            f"preregistration {record.id} is {record.state}: its verdict comes when every planned result is in"
            f"{left}"
        )
    if job is not None and job.state == "failed":
        detail = (job.error or {}).get("detail", "the job failed")
        return Conflict(
            f"the verdict job failed ({detail}); queue it again with POST /v1/preregistrations/{record.id}/verdict",
            code="verdict_failed",
        )
    return Conflict(
        "every result is in and the verdict is being computed; ask again shortly", code="verdict_pending"
    )
