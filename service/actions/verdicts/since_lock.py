"""What happened to a record since its lock, counted from the ledger."""

from __future__ import annotations

from collections import Counter

from sqlalchemy.orm import Session

from service.domain.notes.since_lock import COUNTED, SinceLock, since_lock
from service.domain.plans.preregistration import Preregistration
from service.domain.verdicts.records import Verdict
from service.store.ledger import ledger


def since_lock_of(session: Session, record: Preregistration, verdict: Verdict) -> SinceLock:
    """Return what is told of a judged record. Reach it through a record that was read in its project."""
    counts = Counter(entry.receipt.kind for entry in ledger.read_entries(session, record.id, *COUNTED))
    return since_lock(counts, len(verdict.voided_batches), record.last_result_after())
