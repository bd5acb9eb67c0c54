"""Stamps of outside witnesses on signed checkpoints, and whose turn it is to ask for one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.orm import Session

from forelock.witness.stamp import Kind
from service.domain.ledger import Kind as LeafKind
from service.store.database import integrity
from service.store.database.tables import ledger_checkpoints, ledger_entries, stamps, witness_turns
from service.store.ledger import checkpoints
from service.store.ledger.checkpoints import StoredCheckpoint

WITNESSED: tuple[LeafKind, ...] = ("plan_locked", "plan_amended", "verdict")
"""What a witness is asked to stamp: plans and verdicts, not every batch."""


@dataclass(frozen=True, slots=True)
class StoredStamp:
    """A stamp that an outside witness gave for a checkpoint."""

    checkpoint: StoredCheckpoint
    kind: Kind
    number: int
    """Among the stamps of this kind on the checkpoint, from 1; a later one has more to show."""
    root: str
    """Root of the log at the checkpoint, hexadecimal."""
    content: bytes
    """The .tsr or .ots file."""
    waiting: bool
    """True while the witness may add to it: its proof is not in a block yet."""
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
    """Add a stamp as the next of its kind on this checkpoint."""
    last = session.scalar(
        sa.select(sa.func.coalesce(sa.func.max(stamps.c.number), 0)).where(
            stamps.c.size == checkpoint.size,
            stamps.c.signer == checkpoint.signer,
            stamps.c.kind == kind,
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


def read_covering(session: Session, sequence: int) -> list[StoredStamp]:
    """Read by kind the newest stamp of the first checkpoint that holds a leaf and has a stamp of that kind."""
    newest = []
    for kind in session.scalars(sa.select(stamps.c.kind).where(stamps.c.size > sequence).distinct()).all():
        statement = _STAMPS.where(stamps.c.size > sequence, stamps.c.kind == kind)
        ordered = statement.order_by(stamps.c.size, stamps.c.signer, stamps.c.number.desc())
        newest += [_read_stamp(row) for row in session.execute(ordered.limit(1))]
    return sorted(newest, key=lambda stamp: stamp.kind)


def read_waiting(session: Session, kind: Kind, *, limit: int) -> list[StoredStamp]:
    """Read the stamps of a kind that a witness may add to, those of the smallest log first; superseded ones not."""
    newer = stamps.alias()
    superseded = sa.exists().where(
        newer.c.size == stamps.c.size,
        newer.c.signer == stamps.c.signer,
        newer.c.kind == stamps.c.kind,
        newer.c.number > stamps.c.number,
    )
    statement = _STAMPS.where(stamps.c.kind == kind, stamps.c.waiting == 1, ~superseded)
    return [_read_stamp(row) for row in session.execute(statement.order_by(stamps.c.size).limit(limit))]


def find_due(session: Session, kind: Kind, looked: int) -> tuple[StoredCheckpoint | None, int]:
    """Find the checkpoint that is to be stamped next, and the leaf at which the next look may begin.

    It is the newest, if a plan or a verdict in it has no stamp of this kind; else None. One stamp on a later checkpoint
    holds everything before: after an outage one request makes up for all.

    Args:
        session: what is read from.
        kind: of the stamp.
        looked: the leaf that an earlier call returned; leaves before it need no stamp.
    """
    newest = checkpoints.read_latest(session)
    if newest is None:
        return None, looked
    stamped = session.scalar(sa.select(sa.func.max(stamps.c.size)).where(stamps.c.kind == kind))
    start = max(looked, stamped or 0)
    wanted = sa.select(ledger_entries.c.sequence).where(
        ledger_entries.c.sequence >= start,
        ledger_entries.c.sequence < newest.size,
        ledger_entries.c.kind.in_(WITNESSED),
    )
    sequence = session.scalar(wanted.order_by(ledger_entries.c.sequence).limit(1))
    # Nothing to stamp below newest.size: the next look begins there. Otherwise it begins at the leaf that waits.
    return (None, max(start, newest.size)) if sequence is None else (newest, sequence)


def is_turn_open(session: Session, turn: str, *, now: datetime) -> bool:
    """Tell whether the time of a turn has come. The turn has to be taken before the witness is asked."""
    return session.scalar(sa.select(witness_turns.c.turn).where(_match_open(turn, now))) is not None


def take_turn(session: Session, turn: str, *, now: datetime, lease: timedelta) -> bool:
    """Take a turn, if its time has come and nobody else took it.

    A runner that dies with the turn leaves it to another after the lease.
    """
    # One statement: of two runners at once the second waits for the row, and then finds that it is not open any more.
    taken = session.execute(
        sa.update(witness_turns).where(_match_open(turn, now)).values(next_at=now + lease)
    )
    return bool(taken.rowcount)  # type: ignore[attr-defined]


def end_turn(session: Session, turn: str, *, next_at: datetime) -> None:
    """End a turn that went well; the next one may be taken at `next_at`."""
    statement = sa.update(witness_turns).where(witness_turns.c.turn == turn)
    session.execute(statement.values(failures=0, next_at=next_at))


def fail_turn(session: Session, turn: str, *, now: datetime, waits: Sequence[timedelta]) -> timedelta:
    """End a turn whose witness did not answer; returns how long to wait, which grows with every failure in a row."""
    failures = session.scalar(sa.select(witness_turns.c.failures).where(witness_turns.c.turn == turn)) or 0
    wait = waits[min(failures, len(waits) - 1)]
    statement = sa.update(witness_turns).where(witness_turns.c.turn == turn)
    session.execute(statement.values(failures=failures + 1, next_at=now + wait))
    return wait


def _match_open(turn: str, now: datetime) -> sa.ColumnElement[bool]:
    when = witness_turns.c.next_at
    return sa.and_(witness_turns.c.turn == turn, sa.or_(when.is_(None), when <= now))


_STAMPS = sa.select(stamps, ledger_checkpoints.c.note).join_from(stamps, ledger_checkpoints)


def _read_stamp(row: sa.Row[tuple[object, ...]]) -> StoredStamp:
    """Read a row as a stamp, once its checkpoint's note is what was hashed."""
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
