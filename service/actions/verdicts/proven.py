"""What a judged record shows, whoever runs the service, and what no record can; with what outside holds of its lock."""

from __future__ import annotations

from sqlalchemy.orm import Session

from service.domain.plans.preregistration import Preregistration
from service.store.ledger import ledger, stamps
from service.words import Message, listed, message


def what_is_proven(session: Session, record: Preregistration) -> tuple[Message, ...]:
    """The sentences, in order. Reach it through a record that was read in its project."""
    return (
        message("evidence.shown_by_log"),
        message("evidence.shown_against_operator"),
        _kept_outside(session, record),
        message("evidence.not_shown"),
    )


def _kept_outside(session: Session, record: Preregistration) -> Message:
    """Stamps of time authorities and calendars on the lock. Whether somebody kept a checkpoint nobody can know here."""
    locks = ledger.receipts(session, record.id, kind="plan_locked")
    covering = stamps.covering(session, locks[-1].sequence) if locks else []
    # A calendar's promise that Bitcoin does not hold yet shows nothing against the operator.
    kinds = list(dict.fromkeys(stamp.kind for stamp in covering if not stamp.waiting))
    if not kinds:
        return message("evidence.kept_outside_unknown")
    return message(
        "evidence.kept_outside",
        stamps=listed([message(f"evidence.stamp_{kind}") for kind in kinds], "lists.comma"),
    )
