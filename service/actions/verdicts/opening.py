"""Opening a record's rows with the key of its plan: the runner unwraps it; after the verdict it is released."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy.orm import Session

from service.actions.results import endings
from service.domain.plans.preregistration import Preregistration
from service.domain.results import sealing
from service.domain.results.batches import expected_total
from service.domain.rules.settings import resolve
from service.domain.verdicts.outcomes import Outcomes, Rows
from service.domain.verdicts.records import VoidedBatch
from service.domain.verdicts.stopping import up_to_stop
from service.errors import Conflict
from service.store.plans import plan_keys
from service.store.plans.populations import read_manifests
from service.store.results import batches
from service.store.verdicts import verdicts

MAX_ROWS = 1_000_000
"""Results that a request opens to compute with."""


def open_batches(
    session: Session, record: Preregistration, plan_private: bytes
) -> tuple[Rows, tuple[VoidedBatch, ...]]:
    """Return what is in of a record, opened with the private key of its plan, and the batches that do not count."""
    outcomes, voided = Outcomes.empty(record.plan, closed=endings.is_closed(session, record)), []
    # Those that are struck are read as well: the store holds each of them against the ledger, and so none is dropped
    # that was not struck on record.
    for batch in batches.read_all(session, record.id, include_void=True):
        if batch.void:
            voided.append(VoidedBatch(batch=batch.sealed.sequence, reason=batch.void_reason or ""))
        else:
            placed, _salt = sealing.open_batch(batch.sealed, record.plan_sha256 or "", plan_private)
            outcomes.place(placed)
    return Rows(resolve(record.plan), read_manifests(session, record), outcomes), tuple(voided)


def open_rows(session: Session, record: Preregistration) -> Rows:
    """Return the rows that a judged record was judged on, with the key that its verdict released.

    Raises:
        Conflict: `blinded`, `erased`, or more rows than a request computes with.
    """
    private, total = plan_keys.read_released(session, record.id), expected_total(record.plan)
    if total > MAX_ROWS:
        raise Conflict(f"the record has {total} results, and a request computes with {MAX_ROWS} at most")
    rows, _voided = open_batches(session, record, private)
    verdict = verdicts.find(session, record.project_id, record.id)
    return up_to_stop(rows if verdict is None else replace(rows, marks=verdict.marks))[0]
