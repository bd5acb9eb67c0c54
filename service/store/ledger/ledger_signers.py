"""Who signs the ledger: the log's name and key, and those before. The last row is the one that signs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.store.database.tables import ledger_signers


@dataclass(frozen=True, slots=True)
class LogSigner:
    """A name and a key that checkpoints are signed with."""

    number: int
    """By the order in which they came to sign, from 1."""
    origin: str
    """The name of the log."""
    vkey: str
    """The verifier key (C2SP signed-note)."""
    sequence: int | None
    """The leaf that hands the log over to this signer; None for the first one."""


def read_all(session: Session) -> list[LogSigner]:
    """Read every signer of the log, the first one first."""
    return [LogSigner(*row) for row in session.execute(_EVERY)]


_EVERY = sa.select(*(ledger_signers.c[name] for name in LogSigner.__dataclass_fields__)).order_by(
    ledger_signers.c.number
)
"""Made once: every signature executes it."""


def add(session: Session, *, origin: str, vkey: str, sequence: int | None, now: datetime) -> LogSigner:
    """Add the next signer, which signs from now on; `sequence` is the leaf of its handover."""
    last: int = session.scalars(sa.select(sa.func.coalesce(sa.func.max(ledger_signers.c.number), 0))).one()
    signer = LogSigner(last + 1, origin, vkey, sequence)
    session.execute(
        sa.insert(ledger_signers).values(
            number=signer.number, origin=origin, vkey=vkey, sequence=sequence, created_at=now
        )
    )
    return signer
