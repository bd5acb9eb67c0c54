"""Posting results: check a batch against the locked plan, seal it, store it, and notice completion.

Nothing here may answer differently for different outcomes: faults name fields and items, never
values, and what is stored beside the sealed columns follows from item ids alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from sqlalchemy.orm import Session

from service.actions.look_requests import enqueue_due, require_unread
from service.actions.manifests import manifests_of as manifests_of
from service.domain import sealing
from service.domain.access import Key
from service.domain.ledger import Receipt
from service.domain.plan import Plan
from service.domain.preregistration import Preregistration
from service.domain.results import (
    STATUSES,
    PlacedBatch,
    ResultBatch,
    check,
    claim,
    expected_cells,
    release,
)
from service.store import audit, batches, coverage, jobs, ledger, plan_keys, preregistrations
from service.store.batches import NewBatch


@dataclass(frozen=True, slots=True)
class Prepared:
    """A batch that fits the plan, ready for the write transaction."""

    preregistration_id: str
    placed: PlacedBatch
    item_ids: tuple[str, ...] = field(repr=False)
    n_items: int


@dataclass(frozen=True, slots=True)
class Salts:
    """Randomness of one submission: for the sealed rows and for the ledger's leaf."""

    rows: bytes
    leaf: bytes


@dataclass(frozen=True, slots=True)
class Accepted:
    """What a stored batch answers: counts and a receipt, no values."""

    record: Preregistration
    sequence: int
    n: int
    received: int
    expected: int
    receipt: Receipt


def prepare(session: Session, caller: Key, prereg_id: str, batch: ResultBatch) -> Prepared:
    """Check a batch against the plan: the slow part, before the write transaction begins."""
    record = preregistrations.get(session, caller.project_id, prereg_id)
    record.require("locked", "collecting")
    manifests = manifests_of(session, record)
    placed = check(batch, record.plan, manifests)
    manifest = manifests[placed.population]
    return Prepared(prereg_id, placed, manifest.item_ids, manifest.n)


def submit(
    session: Session, caller: Key, prepared: Prepared, *, job_id: str, salts: Salts, now: datetime
) -> Accepted:
    """Seal and store a prepared batch; the one that completes the plan enqueues the verdict with it."""
    placed = prepared.placed
    record = preregistrations.get(session, caller.project_id, prepared.preregistration_id, for_update=True)
    record.require("locked", "collecting")
    _claim_cells(session, record.id, prepared)
    facts = sealing.BatchFacts(
        preregistration_id=record.id,
        plan_sha256=record.plan_sha256 or "",
        sequence=batches.next_sequence(session, record.id),
        population=placed.population,
        arm=placed.arm,
        endpoint=placed.endpoint,
        run=placed.run,
        positions=placed.positions.astype("<i4").tobytes(),
        replicates=placed.replicates.astype("<u2").tobytes(),
    )
    rows = sealing.SecretRows(placed.values, placed.statuses, placed.observed_at)
    sealed = sealing.seal_rows(plan_keys.public(session, record.id), rows, salts.rows, facts)
    batches.append(
        session,
        NewBatch(
            preregistration_id=record.id,
            sequence=facts.sequence,
            population=facts.population,
            arm=facts.arm,
            endpoint=facts.endpoint,
            run=facts.run,
            n=placed.n,
            positions=facts.positions,
            replicates=facts.replicates,
            sealed=sealed.ciphertext,
            commitment_sha256=sealed.commitment_sha256,
            status_counts=_status_counts(record.plan, placed),
            received_at=now,
            key_id=caller.id,
        ),
    )
    record, received, expected = _advance(session, record, job_id=job_id, now=now)
    receipt = ledger.append(
        session,
        "batch",
        {
            "preregistration_id": record.id,
            "batch": facts.sequence,
            "population": facts.population,
            "arm": facts.arm,
            "endpoint": facts.endpoint,
            "run": facts.run,
            "n": placed.n,
            "commitment_sha256": sealed.commitment_sha256,
        },
        project_id=record.project_id,
        preregistration_id=record.id,
        salt=salts.leaf,
        now=now,
    )
    return Accepted(record, facts.sequence, placed.n, received, expected, receipt)


def void(
    session: Session,
    caller: Key,
    record: Preregistration,
    sequence: int,
    reason: str,
    *,
    salt: bytes,
    now: datetime,
) -> Receipt:
    """Void a whole batch, freeing its cells: the repair for a wrong upload, printed in the verdict."""
    record.require("collecting")
    facts = batches.get(session, record.id, sequence).facts(record.plan_sha256 or "")
    positions = np.frombuffer(facts.positions, dtype="<i4")
    require_unread(session, record, facts.population, positions)
    batches.void(session, record.id, sequence, reason, caller.id, now)
    replicates = np.frombuffer(facts.replicates, dtype="<u2")
    for replicate in np.unique(replicates):
        cell = (record.id, facts.population, facts.arm, facts.endpoint, int(replicate))
        bitmap = coverage.bitmap(session, *cell, _size(record.plan, facts.population))
        coverage.save(session, *cell, bitmap, release(bitmap, positions[replicates == replicate]))
    audit.record(
        session,
        project_id=record.project_id,
        key_id=caller.id,
        action="batch.void",
        subject=record.id,
        facts={"batch": sequence},
        now=now,
    )
    return ledger.append(
        session,
        "batch_voided",
        {"preregistration_id": record.id, "batch": sequence, "reason": reason},
        project_id=record.project_id,
        preregistration_id=record.id,
        salt=salt,
        now=now,
    )


def enqueue_verdict(session: Session, record: Preregistration, *, job_id: str, now: datetime) -> jobs.Job:
    """Queue the verdict of a complete plan; one that waits or runs already is returned instead."""
    return jobs.enqueue(
        session,
        job_id=job_id,
        project_id=record.project_id,
        kind="verdict",
        params={"preregistration_id": record.id},
        subject=record.id,
        now=now,
    )


def expected_total(plan: Plan) -> int:
    """Rows that make the plan complete."""
    return sum(cell.size for cell in expected_cells(plan))


def _claim_cells(session: Session, prereg_id: str, prepared: Prepared) -> None:
    placed = prepared.placed
    for replicate, positions in placed.by_replicate():
        cell = (prereg_id, placed.population, placed.arm, placed.endpoint, replicate)
        bitmap = coverage.bitmap(session, *cell, prepared.n_items)
        coverage.save(session, *cell, bitmap, claim(bitmap, positions, prepared.item_ids))


def _advance(
    session: Session, record: Preregistration, *, job_id: str, now: datetime
) -> tuple[Preregistration, int, int]:
    """Move the record on by what is in now; returns it with the received and expected rows."""
    received = sum(count.received for count in coverage.counts(session, record.id))
    expected = expected_total(record.plan)
    if record.state == "locked":
        record = preregistrations.move(session, record, "collecting", now)
    if received == expected:
        record = preregistrations.move(session, record, "complete", now)
        enqueue_verdict(session, record, job_id=job_id, now=now)
    else:
        enqueue_due(session, record, job_id=job_id, now=now)
    return record, received, expected


def _size(plan: Plan, population: str) -> int:
    found = plan.population(population)
    return 0 if found is None else found.n


def _status_counts(plan: Plan, placed: PlacedBatch) -> dict[str, int] | None:
    """Counts by status where the policy allows them: under `fail` an error is an outcome."""
    if plan.missing != "exclude_pair":
        return None
    counted = Counter(placed.statuses.tolist())
    return {name: counted.get(code, 0) for code, name in enumerate(STATUSES)}
