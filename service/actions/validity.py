"""What stands against the verdict of a record, found from the record and its ledger. Opens no row."""

from __future__ import annotations

from sqlalchemy.orm import Session

from service.domain.plans.preregistration import Preregistration
from service.domain.verdicts.validity import Mark, unblinded
from service.store import batches, ledger


def marks(session: Session, record: Preregistration) -> tuple[Mark, ...]:
    """Every mark of a record, in the order in which the codes stand in `validity`."""
    found = [_unblinded(session, record)]
    return tuple(mark for mark in found if mark is not None)


def _unblinded(session: Session, record: Preregistration) -> Mark | None:
    """Outcomes were opened; batches that count and stand after that in the ledger came too late."""
    openings = ledger.entries(session, record.id, kind="unblinding")
    if not openings:
        return None
    first = openings[0]
    counting = set(batches.sequences(session, record.id))
    late = [
        int(body["batch"])
        for _, body in ledger.numbered(session, record.id, kind="batch", after=first.sequence)
        if body["batch"] in counting
    ]
    return unblinded(first.created_at, late)
