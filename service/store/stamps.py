"""Stamps of outside witnesses on signed checkpoints, and whose turn it is to ask for one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.orm import Session

from forelock.witness.found import Kind
from service.domain.ledger import Kind as LeafKind
from service.store import checkpoints, integrity
from service.store.checkpoints import StoredCheckpoint
from service.store.tables import ledger_checkpoints, ledger_entries, stamps, witness_turns

WITNESSED: tuple[LeafKind, ...] = ("plan_locked", "plan_amended", "verdict")
"""What a witness is asked to stamp: plans and verdicts, not every batch."""


@dataclass(frozen=True, slots=True)
class StoredStamp:
    """A stamp of the checkpoint of a size."""

    checkpoint: StoredCheckpoint
    kind: Kind
    number: int
    root: str
    content: bytes
    waiting: bool
    obtained_at: datetime


def insert(
    session: Session,
    checkpoint: StoredCheckpoint,
    kind: Kind,
    content: bytes,
    *,
    root: str,
    waiting: bool,
    now: datetime,
) -> None:
    """Keep a stamp, the next of its kind on this checkpoint."""
    last = session.scalar(
        sa.select(sa.func.coalesce(sa.func.max(stamps.c.number), 0)).where(
            _of(checkpoint), stamps.c.kind == kind
        )
    )
    session.execute(
        sa.insert(stamps).values(
            size=checkpoint.size,
            signer=checkpoint.signer,
            kind=kind,
            number=int(last or 0) + 1,
            root=root,
            note_sha256=hashlib.sha256(checkpoint.note.encode()).hexdigest(),
            content=content,
            waiting=int(waiting),
            obtained_at=now,
        )
    )


def covering(session: Session, sequence: int) -> list[StoredStamp]:
    """The newest stamp of each kind on the first stamped checkpoint of that kind that holds a leaf."""
    found = []
    for kind in session.scalars(sa.select(stamps.c.kind).where(stamps.c.size > sequence).distinct()).all():
        statement = _STAMPS.where(stamps.c.size > sequence, stamps.c.kind == kind)
        ordered = statement.order_by(stamps.c.size, stamps.c.signer, stamps.c.number.desc())
        found += [_stamp(row) for row in session.execute(ordered.limit(1))]
    return sorted(found, key=lambda each: each.kind)


def waiting(session: Session, kind: Kind, *, limit: int) -> list[StoredStamp]:
    """The newest stamps of a kind that wait for more, the oldest first."""
    newer = stamps.alias()
    superseded = sa.exists().where(
        newer.c.size == stamps.c.size,
        newer.c.signer == stamps.c.signer,
        newer.c.kind == stamps.c.kind,
        newer.c.number > stamps.c.number,
    )
    statement = _STAMPS.where(stamps.c.kind == kind, stamps.c.waiting == 1, ~superseded)
    return [_stamp(row) for row in session.execute(statement.order_by(stamps.c.size).limit(limit))]


def due(session: Session, kind: Kind, looked: int) -> StoredCheckpoint | None:
    """The newest checkpoint, if it holds a plan or a verdict from `looked` on that no stamp of this kind is on.

    One stamp on a later checkpoint holds everything before: after an outage one request makes up for all.
    """
    newest = checkpoints.latest(session)
    if newest is None:
        return None
    stamped = session.scalar(sa.select(sa.func.max(stamps.c.size)).where(stamps.c.kind == kind))
    start = max(looked, stamped or 0)
    wanted = sa.select(ledger_entries.c.sequence).where(
        ledger_entries.c.sequence >= start,
        ledger_entries.c.sequence < newest.size,
        ledger_entries.c.kind.in_(WITNESSED),
    )
    return None if session.scalar(wanted.limit(1)) is None else newest


def take_turn(session: Session, turn: str, *, now: datetime, lease: timedelta) -> int | None:
    """Where the log was looked through to, if it is time and nobody else's turn; None otherwise.

    Whoever takes it and dies leaves it to the next one after the lease.
    """
    known = session.scalar(sa.select(witness_turns.c.kind).where(witness_turns.c.kind == turn))
    if known is None:
        session.execute(sa.insert(witness_turns).values(kind=turn, failures=0, next_at=now, looked=0))
    taken = session.execute(
        sa.update(witness_turns)
        .where(witness_turns.c.kind == turn, witness_turns.c.next_at <= now)
        .values(next_at=now + lease)
    )
    if not taken.rowcount:  # type: ignore[attr-defined]
        return None
    return session.scalar(sa.select(witness_turns.c.looked).where(witness_turns.c.kind == turn))


def end_turn(session: Session, turn: str, *, next_at: datetime, looked: int | None = None) -> None:
    """The turn went well; the next one is then."""
    values: dict[str, object] = {"failures": 0, "next_at": next_at}
    if looked is not None:
        values["looked"] = looked
    session.execute(sa.update(witness_turns).where(witness_turns.c.kind == turn).values(values))


def fail_turn(session: Session, turn: str, *, now: datetime, waits: Sequence[timedelta]) -> timedelta:
    """The witness was away: wait longer after every failure. Returns how long."""
    failures = session.scalar(sa.select(witness_turns.c.failures).where(witness_turns.c.kind == turn)) or 0
    wait = waits[min(failures, len(waits) - 1)]
    session.execute(
        sa.update(witness_turns)
        .where(witness_turns.c.kind == turn)
        .values(failures=failures + 1, next_at=now + wait)
    )
    return wait


_STAMPS = sa.select(stamps, ledger_checkpoints.c.note).join_from(stamps, ledger_checkpoints)


def _of(checkpoint: StoredCheckpoint) -> sa.ColumnElement[bool]:
    return sa.and_(stamps.c.size == checkpoint.size, stamps.c.signer == checkpoint.signer)


def _stamp(row: sa.Row[tuple[object, ...]]) -> StoredStamp:
    integrity.require(
        "stamp", str(row.size), holds=hashlib.sha256(row.note.encode()).hexdigest() == row.note_sha256
    )
    return StoredStamp(
        checkpoint=StoredCheckpoint(row.size, row.signer, row.note),
        kind=row.kind,
        number=row.number,
        root=row.root,
        content=bytes(row.content),
        waiting=bool(row.waiting),
        obtained_at=row.obtained_at,
    )
