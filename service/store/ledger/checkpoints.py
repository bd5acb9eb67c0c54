"""Signed checkpoints of the ledger. They are added and never change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.store.database.tables import ledger_checkpoints


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """A signed note of the log at one size."""

    size: int
    """Leaves of the log that was signed."""
    signer: int
    """Number of the signer in `ledger_signers`."""
    note: str
    """The signed note (C2SP tlog-checkpoint)."""


def read_latest(session: Session) -> StoredCheckpoint | None:
    """Read the newest signed checkpoint, that of the largest log; None before the first."""
    return _read_first(session, _LATEST)


def find_covering(session: Session, sequence: int) -> StoredCheckpoint | None:
    """Find the first checkpoint that holds a leaf; it stays the first, whatever is signed later."""
    return _read_first(session, _COVERING, {"sequence": sequence})


def insert(session: Session, checkpoint: StoredCheckpoint, now: datetime) -> None:
    """Add a signed checkpoint; there must be none of that size and signer."""
    session.execute(_INSERT, asdict(checkpoint) | {"created_at": now})


_BY = ledger_checkpoints.c
_COLUMNS = _BY.size, _BY.signer, _BY.note

# Made once: every signature and every receipt executes them.
_INSERT = sa.insert(ledger_checkpoints)
_LATEST = sa.select(*_COLUMNS).order_by(_BY.size.desc(), _BY.signer.desc()).limit(1)
_COVERING = (
    sa.select(*_COLUMNS)
    # Leaves count from 0: a log of `size` leaves holds those below `size`.
    .where(_BY.size > sa.bindparam("sequence", type_=sa.BigInteger))
    .order_by(_BY.size, _BY.signer)
    .limit(1)
)


def _read_first(
    session: Session, statement: sa.Select[tuple[int, int, str]], values: Mapping[str, int] | None = None
) -> StoredCheckpoint | None:
    row = session.execute(statement, values).one_or_none()
    return None if row is None else StoredCheckpoint(size=row.size, signer=row.signer, note=row.note)
