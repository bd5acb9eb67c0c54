"""A lock or a verdict as it is cited, with the checkpoint that holds it."""

from __future__ import annotations

from sqlalchemy.orm import Session

from forelock.transparency.checkpoints import read_checkpoint
from service.actions.delivery.messages import format_page_url
from service.actions.ledger import proofs
from service.actions.verdicts import evidence
from service.domain.ledger import Receipt
from service.domain.plans.preregistration import ONCE_LOCKED, Preregistration
from service.errors import Conflict
from service.reports.exports.citation import Cited
from service.store.ledger import ledger
from service.store.projects import projects
from service.store.verdicts import verdicts


def leaf_of(session: Session, record: Preregistration) -> Receipt:
    """Return the leaf that is cited: of the verdict, or before it of the plan.

    Raises:
        Conflict: nothing is locked.
    """
    record.require(*ONCE_LOCKED, action="a citation")
    kinds = ("verdict",) if record.judged_at is not None else ("plan_locked", "plan_amended")
    return ledger.read_entries(session, record.id, *kinds)[-1].receipt


def cite(session: Session, record: Preregistration, public_url: str | None) -> Cited:
    """Return what is cited. Before the verdict nothing in it follows from outcomes.

    Raises:
        Conflict: nothing is locked, or no signed checkpoint holds it yet.
    """
    (receipt,) = proofs.prove(session, [leaf_of(session, record)])
    if receipt.checkpoint is None:
        raise Conflict("no signed checkpoint holds it yet: ask again in a moment", code="lock_unsigned")
    checkpoint = read_checkpoint(receipt.checkpoint)
    stored = None if record.judged_at is None else verdicts.find_stored(session, record.project_id, record.id)
    sentences = () if stored is None else evidence.in_words(session, record, stored.read())
    on = record.judged_at or record.locked_at or record.created_at
    return Cited(
        record=record.id,
        plan=record.plan,
        version=record.version,
        plan_sha256=record.plan_sha256 or "",
        verdict_sha256=None if stored is None else stored.sha256,
        headlines=tuple(f"{sentence.hypothesis}: {sentence.headline.en}" for sentence in sentences),
        on=on.date(),
        project=projects.get(session, record.project_id).name,
        leaf=receipt.sequence,
        checkpoint=f"{checkpoint.origin} {checkpoint.size} {checkpoint.root.hex()}",
        page=None if public_url is None else format_page_url(record, public_url),
        withdrawn=record.state == "withdrawn",
    )
