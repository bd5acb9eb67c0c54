"""Batches of results: immutable, columnar, outcomes sealed. One row per batch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from pydantic import Field
from sqlalchemy.orm import Session

from service.domain.results.batches import BatchHead
from service.domain.results.sealing import SealedBatch
from service.errors import Conflict, NotFound, RecordAltered
from service.records import Record
from service.store.database import integrity, paging
from service.store.database.tables import batch_voids, batches, ledger_entries
from service.store.ledger import ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBatch:
    """A sealed batch as kept: the last of its four shapes. `next_sequence` numbers it, since the seal binds that."""

    sealed: SealedBatch
    status_counts: Mapping[str, int] | None
    received_at: datetime
    key_id: str
    void_reason: str | None = None

    @property
    def void(self) -> bool:
        """True when it does not count."""
        return self.void_reason is not None


class BatchView(Record):
    """A batch in a list."""

    batch: int
    population: str
    arm: str
    endpoint: str
    run: str | None
    n: int
    commitment_sha256: str = Field(description="Salted; says nothing about outcomes until the salt is known.")
    status_counts: dict[str, int] | None = Field(description="Only under the missing policy `exclude_pair`.")
    received_at: datetime
    key_id: str
    void_reason: str | None
    voided_at: datetime | None
    altered: bool = Field(False, description="It is not the batch that the ledger has: it is not judged on.")


_WITH_VOIDS = batches.outerjoin(
    batch_voids,
    sa.and_(
        batch_voids.c.preregistration_id == batches.c.preregistration_id,
        batch_voids.c.sequence == batches.c.sequence,
    ),
)


def next_sequence(session: Session, preregistration_id: str) -> int:
    """Return the number the next batch will have, from 1. Hold the record (`for_update`) before asking."""
    return (session.scalar(_LAST, {"id": preregistration_id}) or 0) + 1


_LAST = sa.select(sa.func.max(batches.c.sequence)).where(batches.c.preregistration_id == sa.bindparam("id"))
_APPEND = sa.insert(batches)


def append(session: Session, *new: StoredBatch) -> None:
    """Store batches in this order, while their records are locked or collecting."""
    session.execute(_APPEND, [_make_columns(batch) for batch in new])


def _make_columns(batch: StoredBatch) -> dict[str, Any]:
    """Make the row of a batch: what is sealed, and what may be known of it."""
    sealed = batch.sealed
    return {
        "preregistration_id": sealed.preregistration_id,
        "sequence": sealed.sequence,
        **sealed.head.names(),
        "n": sealed.n,
        "positions": sealed.positions,
        "replicates": sealed.replicates,
        "sealed": sealed.ciphertext,
        "commitment_sha256": sealed.commitment_sha256,
        "status_counts": batch.status_counts,
        "received_at": batch.received_at,
        "key_id": batch.key_id,
    }


def read_all(
    session: Session, preregistration_id: str, *, include_void: bool = False
) -> Iterator[StoredBatch]:
    """Yield the record's batches in order, one at a time: they can be large."""
    # The numbers first: a cursor over sealed batches would hold all of them in memory on Postgres.
    for sequence in _read_sequences_on_record(session, preregistration_id, include_void=include_void):
        yield get(session, preregistration_id, sequence)


@dataclass(frozen=True, slots=True)
class PlacedItems:
    """Which items a batch holds results of."""

    sequence: int
    population: str
    arm: str
    endpoint: str
    positions: bytes
    replicates: bytes


def read_placed(session: Session, preregistration_id: str) -> Iterator[PlacedItems]:
    """Yield what the batches that count hold, one at a time and without a sealed byte."""
    columns = [batches.c[name] for name in PlacedItems.__dataclass_fields__]
    for sequence in read_sequences(session, preregistration_id):
        this = sa.and_(batches.c.preregistration_id == preregistration_id, batches.c.sequence == sequence)
        yield PlacedItems(*session.execute(sa.select(*columns).where(this)).one())


def get(session: Session, preregistration_id: str, sequence: int) -> StoredBatch:
    """Read one batch with its sealed rows."""
    statement = (
        sa.select(batches, batch_voids.c.reason)
        .select_from(_WITH_VOIDS)
        .where(batches.c.preregistration_id == preregistration_id, batches.c.sequence == sequence)
    )
    row = session.execute(statement).mappings().one_or_none()
    if row is None:
        raise NotFound(f"preregistration {preregistration_id} has no batch {sequence}")
    # The inverse of `_make_columns`, with the reason of its void.
    batch = StoredBatch(
        sealed=SealedBatch(
            preregistration_id=preregistration_id,
            sequence=sequence,
            head=BatchHead(row["population"], row["arm"], row["endpoint"], row["run"]),
            n=row["n"],
            positions=row["positions"],
            replicates=row["replicates"],
            ciphertext=row["sealed"],
            commitment_sha256=row["commitment_sha256"],
        ),
        status_counts=row["status_counts"],
        received_at=row["received_at"],
        key_id=row["key_id"],
        void_reason=row["reason"],
    )
    integrity.require(
        "batch",
        f"{preregistration_id}/{sequence}",
        holds=_is_on_record(session, batch.sealed.leaf(), batch.void_reason),
    )
    return batch


def read_page(
    session: Session, preregistration_id: str, *, cursor: str | None = None, limit: int = 50
) -> tuple[list[BatchView], str | None]:
    """Return what may be known of the record's batches, newest first."""
    columns = [batches.c[name] for name in BatchView.model_fields if name in batches.c]
    statement = (
        sa.select(
            batches.c.sequence, *columns, batch_voids.c.reason.label("void_reason"), batch_voids.c.voided_at
        )
        .select_from(_WITH_VOIDS)
        .where(batches.c.preregistration_id == preregistration_id)
    )

    def view(row: sa.RowMapping) -> BatchView:
        known = {"batch" if name == "sequence" else name: value for name, value in row.items()}
        batch = BatchView(**known)
        leaf = {"preregistration_id": preregistration_id} | {
            name: getattr(batch, name) for name in ("batch", *_ON_RECORD)
        }
        if _is_on_record(session, leaf, batch.void_reason):
            return batch
        integrity.note(session, RecordAltered("batch", f"{preregistration_id}/{batch.batch}"))
        return batch.model_copy(update={"altered": True})

    return paging.read_page(session, statement, (batches.c.sequence,), view, cursor=cursor, limit=limit)


def read_sequences(session: Session, preregistration_id: str, *, start: int = 1) -> list[int]:
    """Return the numbers of the batches that count, from `start` on."""
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


def read_status_counts(session: Session, preregistration_id: str) -> Iterator[Mapping[str, int]]:
    """Counts by status of the batches that count, where the plan allows them."""
    statement = (
        sa.select(batches.c.status_counts)
        .select_from(_WITH_VOIDS)
        .where(batches.c.preregistration_id == preregistration_id, batch_voids.c.sequence.is_(None))
    )
    return (counts for counts in session.scalars(statement) if counts is not None)


def count(session: Session, preregistration_id: str) -> int:
    """Return how many batches there are, voided ones included."""
    return next_sequence(session, preregistration_id) - 1


def count_rows(session: Session, preregistration_id: str) -> int:
    """Return how many rows there are, those of voided batches included."""
    statement = sa.select(sa.func.coalesce(sa.func.sum(batches.c.n), 0))
    return int(session.scalar(statement.where(batches.c.preregistration_id == preregistration_id)) or 0)


def count_voids(session: Session, preregistration_id: str) -> int:
    """Return how many batches were voided."""
    statement = sa.select(sa.func.count()).where(batch_voids.c.preregistration_id == preregistration_id)
    return session.scalar(statement) or 0


def find_first_time(session: Session, preregistration_id: str) -> datetime | None:
    """Return when the first batch came in, voided or not; None before it."""
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


_Leaves = tuple[dict[int, dict[str, Any]], dict[int, str], int]
"""What the ledger has of a record: batches and reasons of voids by number, and the last leaf that was read."""
_ON_RECORD = ("population", "arm", "endpoint", "run", "n", "commitment_sha256")


def _read_leaves(session: Session, preregistration_id: str) -> _Leaves:
    """Only leaves that came since the last time are read."""
    known = integrity.get_known(session).leaves
    batch, reason, last = known.get(preregistration_id) or ({}, {}, -1)
    new = ledger.read_numbered_bodies(session, preregistration_id, kind="batch", after=last)
    voided = ledger.read_numbered_bodies(session, preregistration_id, kind="batch_voided", after=last)
    leaves = (
        batch | {body["batch"]: body for _, body in new},
        reason | {body["batch"]: body["reason"] for _, body in voided},
        max([last, *(number for number, _ in (*new, *voided))]),
    )
    known.add(preregistration_id, leaves, len(leaves[0]) + len(leaves[1]) + 1)
    return leaves


def _is_on_record(session: Session, leaf: Mapping[str, Any], void_reason: str | None) -> bool:
    """Whether the ledger has a batch with this very leaf, and its void if it is void."""
    preregistration_id, number = leaf["preregistration_id"], leaf["batch"]

    def has(leaves: _Leaves) -> bool:
        body, reason = leaves[0].get(number), leaves[1].get(number)
        agrees = body is not None and all(body[name] == leaf[name] for name in _ON_RECORD)
        # A void may come in between the row and the leaves, so a void in the ledger alone is let pass here. What is
        # judged is read by `_read_sequences_on_record`, which compares voids both ways in one statement.
        return agrees and void_reason in (None, reason)

    known = integrity.get_known(session).leaves.get(preregistration_id)
    # Leaves never change, so what is known suffices; only what is not in it asks the ledger for newer ones.
    return (known is not None and has(known)) or has(_read_leaves(session, preregistration_id))


def _read_sequences_on_record(session: Session, preregistration_id: str, *, include_void: bool) -> list[int]:
    """The numbers of a record's batches in order, once they are those that the ledger has, void where it says so.

    Raises:
        RecordAltered: the table and the ledger differ.
    """
    nothing = sa.null()
    rows = (
        sa.select(batches.c.sequence, batch_voids.c.sequence, nothing)
        .select_from(_WITH_VOIDS)
        .where(batches.c.preregistration_id == preregistration_id)
    )
    leaves = sa.select(nothing, nothing, ledger_entries.c.leaf).where(
        ledger_entries.c.preregistration_id == preregistration_id,
        ledger_entries.c.kind.in_(("batch", "batch_voided")),
    )
    stored: dict[int, bool] = {}
    recorded: dict[int, bool] = {}
    # one statement sees one state: between two of them a batch could come in
    for sequence, void, leaf in session.execute(rows.union_all(leaves)):
        if leaf is None:
            stored[sequence] = void is not None
        else:
            entry = json.loads(leaf)
            number = entry["body"]["batch"]
            recorded[number] = recorded.get(number, False) or entry["kind"] == "batch_voided"
    integrity.require("batches", preregistration_id, holds=stored == recorded)
    return sorted(number for number, void in stored.items() if include_void or not void)
