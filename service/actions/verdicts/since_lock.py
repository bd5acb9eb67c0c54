"""What happened to a record since its lock, counted from the ledger."""

from __future__ import annotations

from collections import Counter

from sqlalchemy.orm import Session

from service.domain.ledger import Kind
from service.domain.notes.since_lock import COUNTED, arrival, since_lock, since_lock_parts
from service.domain.plans.preregistration import Preregistration
from service.domain.verdicts.records import Verdict
from service.store.ledger import ledger
from service.words import Message, Value


def since_lock_of(session: Session, record: Preregistration, verdict: Verdict) -> Value:
    """The sentence of a judged record. Reach it through a record that was read in its project."""
    return since_lock(_count(session, record), len(verdict.voided_batches), record.last_result_after())


def arrival_of(session: Session, record: Preregistration) -> Value:
    """How soon after the lock all results of a judged record were in; empty where it is not known."""
    return arrival(_count(session, record), record.last_result_after())


def since_lock_parts_of(
    session: Session, record: Preregistration, verdict: Verdict
) -> tuple[Message, Message]:
    """The same as two: what happened, and how long after the lock results were in."""
    struck = len(verdict.voided_batches)
    return since_lock_parts(_count(session, record), struck, record.last_result_after())


def _count(session: Session, record: Preregistration) -> Counter[Kind]:
    return Counter(entry.receipt.kind for entry in ledger.read_entries(session, record.id, *COUNTED))
