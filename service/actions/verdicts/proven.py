"""What a judged record shows, whoever runs the service, and what no record can; with what outside holds of its lock."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from forelock.witness.stamp import checkpoint_name
from service.domain.evidence.record import PROVEN
from service.domain.plans.preregistration import Preregistration
from service.store.ledger import ledger, stamps
from service.words import Message, list_values, message


def what_is_proven(session: Session, record: Preregistration) -> tuple[Message, ...]:
    """Return the sentences, in order: first whether anything stands against the operator.

    Reach it through a record that was read in its project.
    """
    by_log, _, not_shown = PROVEN  # what a checkpoint would show is told of this lock's own
    return kept_outside(session, record).says, by_log, not_shown


@dataclass(frozen=True, slots=True)
class KeptOutside:
    """What outside witnesses hold of a lock, as far as the service knows."""

    says: Message
    checkpoint: str | None
    """What `forelock stamps save` calls the checkpoint that a witness stamped; None where none has."""


def kept_outside(session: Session, record: Preregistration) -> KeptOutside:
    """Stamps of time authorities and calendars on the lock. Whether somebody kept a checkpoint nobody can know here."""
    locks = ledger.read_receipts(session, record.id, kind="plan_locked")
    covering = stamps.read_covering(session, locks[-1].sequence) if locks else []
    # A calendar's promise that Bitcoin does not hold yet shows nothing against the operator.
    kinds = list(dict.fromkeys(stamp.kind for stamp in covering if not stamp.waiting))
    if not kinds:
        return KeptOutside(message("evidence.kept_outside", what=message("evidence.kept_unknown")), None)
    stamped = list_values([message(f"evidence.stamp_{kind}") for kind in kinds], "lists.comma")
    what = message("evidence.kept_stamps", stamps=stamped, id=record.id)
    name = checkpoint_name("plan_locked", locks[-1].sequence, kinds[0])
    return KeptOutside(message("evidence.kept_outside", what=what), name)
