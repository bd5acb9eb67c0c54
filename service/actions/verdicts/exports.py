"""Verdicts in the formats of others: in-toto, the Hub, OpenTelemetry."""

from __future__ import annotations

from sqlalchemy.orm import Session

from service.actions.delivery.messages import format_page_url
from service.actions.ledger import proofs
from service.actions.verdicts import evidence
from service.actions.verdicts.charts import summaries
from service.domain.plans.preregistration import Preregistration
from service.errors import Conflict, InvalidData
from service.reports.exports import otlp, verdict_statement
from service.reports.exports.hub import Scored
from service.store.ledger import ledger
from service.store.verdicts import verdicts
from service.store.verdicts.verdicts import StoredVerdict


def statement(session: Session, record: Preregistration, public_url: str | None) -> bytes:
    """Return the in-toto Statement of the verdict of a judged record.

    Raises:
        Conflict: the verdict is in no signed checkpoint yet.
    """
    (receipt,) = proofs.prove(session, ledger.read_receipts(session, record.id, kind="verdict")[-1:])
    if receipt.checkpoint is None:
        raise Conflict(
            "the verdict is in no signed checkpoint yet: ask again in a moment", code="verdict_unsigned"
        )
    stored = verdicts.find_stored(session, record.project_id, record.id)
    if stored is None:
        raise Conflict("there is no verdict yet", code="verdict_pending")
    return verdict_statement.statement(
        record.plan,
        stored.read(),
        sha256=stored.sha256,
        receipt=receipt,
        version=record.version,
        page=None if public_url is None else format_page_url(record, public_url),
    )


def events(session: Session, record: Preregistration, stored: StoredVerdict) -> bytes:
    """Return the verdict as OpenTelemetry events."""
    verdict = stored.read()
    sentences = evidence.in_words(session, record, verdict)
    return otlp.events(verdict, {sentence.hypothesis: sentence.headline.en for sentence in sentences})


def make_scores(
    session: Session,
    record: Preregistration,
    stored: StoredVerdict,
    hypothesis: str | None,
    public_url: str | None,
) -> Scored:
    """Return the candidate's score of a hypothesis.

    Raises:
        InvalidData: no such hypothesis, or which one is not said.
        Conflict: its outcome is invalid, or its rows were erased.
    """
    verdict = stored.read()
    known = {one.id: one for one in verdict.hypotheses}
    hypothesis_id = next(iter(known)) if hypothesis is None and len(known) == 1 else hypothesis
    if hypothesis_id not in known:
        message = (
            "a score is of one hypothesis" if hypothesis_id is None else "the plan has no such hypothesis"
        )
        raise InvalidData.field("query.hypothesis", message, f"name one of: {', '.join(known)}")
    judged = known[hypothesis_id]
    arms = {arm.arm: arm for arm in summaries(session, record, judged.id)}
    if judged.outcome == "invalid" or judged.candidate not in arms:
        raise Conflict(
            "the outcome is invalid: no score follows from it; the report says why", code="verdict_invalid"
        )
    page = None if public_url is None else format_page_url(record, public_url)
    return Scored(record.plan, verdict, judged, arms[judged.candidate], page)
