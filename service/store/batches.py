"""Batches of results: immutable, columnar, outcomes sealed. One row per batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.domain.sealing import BatchFacts
from service.errors import Conflict, NotFound
from service.store import paging
from service.store.tables import batch_voids, batches


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBatch:
    """A sealed batch. `sequence` comes from `next_sequence`, since the seal binds it."""

    preregistration_id: str
    sequence: int
    population: str
    arm: str
    endpoint: str
    run: str | None
    n: int
    positions: bytes
    replicates: bytes
    sealed: bytes
    commitment_sha256: str
    status_counts: Mapping[str, int] | None
    received_at: datetime
    key_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBatch(NewBatch):
    """A batch as kept, and whether it was voided."""

    void_reason: str | None

    @property
    def void(self) -> bool:
        """True when it does not count."""
        return self.void_reason is not None

    def facts(self, plan_sha256: str) -> BatchFacts:
        """What the seal is bound to."""
        return BatchFacts(
            preregistration_id=self.preregistration_id,
            plan_sha256=plan_sha256,
            sequence=self.sequence,
            population=self.population,
            arm=self.arm,
            endpoint=self.endpoint,
            run=self.run,
            positions=self.positions,
            replicates=self.replicates,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicBatch:
    """What a list of batches shows."""

    sequence: int
    population: str
    arm: str
    endpoint: str
    run: str | None
    n: int
    commitment_sha256: str
    status_counts: Mapping[str, int] | None
    received_at: datetime
    key_id: str
    void_reason: str | None
    voided_at: datetime | None


_WITH_VOIDS = batches.outerjoin(
    batch_voids,
    sa.and_(
        batch_voids.c.preregistration_id == batches.c.preregistration_id,
        batch_voids.c.sequence == batches.c.sequence,
    ),
)


def next_sequence(session: Session, preregistration_id: str) -> int:
    """The number the next batch will have, from 1. Hold the record (`for_update`) before asking."""
    return (session.scalar(_LAST, {"id": preregistration_id}) or 0) + 1


_LAST = sa.select(sa.func.max(batches.c.sequence)).where(batches.c.preregistration_id == sa.bindparam("id"))
_APPEND = sa.insert(batches)
_COLUMNS = tuple(NewBatch.__dataclass_fields__)


def append(session: Session, *new: NewBatch) -> None:
    """Store batches in this order, while their records are locked or collecting."""
    session.execute(_APPEND, [{name: getattr(batch, name) for name in _COLUMNS} for batch in new])


def every(session: Session, preregistration_id: str, *, include_void: bool = False) -> Iterator[StoredBatch]:
    """The record's batches in order, one at a time: they can be large."""
    sequences = sa.select(batches.c.sequence).select_from(_WITH_VOIDS)
    sequences = sequences.where(batches.c.preregistration_id == preregistration_id)
    if not include_void:
        sequences = sequences.where(batch_voids.c.sequence.is_(None))
    for sequence in session.scalars(sequences.order_by(batches.c.sequence)).all():
        yield get(session, preregistration_id, sequence)


def get(session: Session, preregistration_id: str, sequence: int) -> StoredBatch:
    """One batch with its sealed rows."""
    statement = (
        sa.select(batches, batch_voids.c.reason)
        .select_from(_WITH_VOIDS)
        .where(batches.c.preregistration_id == preregistration_id, batches.c.sequence == sequence)
    )
    row = session.execute(statement).mappings().one_or_none()
    if row is None:
        raise NotFound(f"preregistration {preregistration_id} has no batch {sequence}")
    known = {name: row[name] for name in NewBatch.__dataclass_fields__}
    return StoredBatch(**known, void_reason=row["reason"])


def page(
    session: Session, preregistration_id: str, *, cursor: str | None = None, limit: int = 50
) -> tuple[list[PublicBatch], str | None]:
    """What may be known of the record's batches, newest first."""
    shown = [batches.c[name] for name in PublicBatch.__dataclass_fields__ if name in batches.c]
    statement = (
        sa.select(*shown, batch_voids.c.reason.label("void_reason"), batch_voids.c.voided_at)
        .select_from(_WITH_VOIDS)
        .where(batches.c.preregistration_id == preregistration_id)
    )
    return paging.page(session, statement, (batches.c.sequence,), _public, cursor=cursor, limit=limit)


def sequences(session: Session, preregistration_id: str, *, start: int = 1) -> list[int]:
    """The numbers of the batches that count, from `start` on."""
    statement = (
        sa.select(batches.c.sequence)
        .select_from(_WITH_VOIDS)
        .where(
            batches.c.preregistration_id == preregistration_id,
            batches.c.sequence >= start,
            batch_voids.c.sequence.is_(None),
        )
    )
    return list(session.scalars(statement.order_by(batches.c.sequence)))


def status_counts(session: Session, preregistration_id: str) -> Iterator[Mapping[str, int]]:
    """Counts by status of the batches that count, where the plan allows them."""
    statement = (
        sa.select(batches.c.status_counts)
        .select_from(_WITH_VOIDS)
        .where(batches.c.preregistration_id == preregistration_id, batch_voids.c.sequence.is_(None))
    )
    return (counts for counts in session.scalars(statement) if counts is not None)


def count(session: Session, preregistration_id: str) -> int:
    """How many batches there are, voided ones included."""
    return next_sequence(session, preregistration_id) - 1


def voids(session: Session, preregistration_id: str) -> int:
    """How many batches were voided."""
    statement = sa.select(sa.func.count()).where(batch_voids.c.preregistration_id == preregistration_id)
    return session.scalar(statement) or 0


def first_received(session: Session, preregistration_id: str) -> datetime | None:
    """When the first batch came in, voided or not; None before it."""
    statement = sa.select(sa.func.min(batches.c.received_at))
    first: datetime | None = session.scalar(
        statement.where(batches.c.preregistration_id == preregistration_id)
    )
    return first


def void(
    session: Session, preregistration_id: str, sequence: int, reason: str, key_id: str, now: datetime
) -> None:
    """Strike a batch. Its row stays. Hold the record (`for_update`) before."""
    if get(session, preregistration_id, sequence).void:
        raise Conflict(f"batch {sequence} of preregistration {preregistration_id} is void already")
    session.execute(
        sa.insert(batch_voids).values(
            preregistration_id=preregistration_id,
            sequence=sequence,
            reason=reason,
            key_id=key_id,
            voided_at=now,
        )
    )


def _public(row: sa.RowMapping) -> PublicBatch:
    known: dict[str, Any] = {name: row[name] for name in PublicBatch.__dataclass_fields__}
    return PublicBatch(**known)
