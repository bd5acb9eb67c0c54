"""One signer of the ledger at a time, whichever process and machine it is in.

On Postgres an advisory lock, held by the transaction that also keeps the checkpoint; SQLite is on one machine, and
its write lock would hold up everybody, so there it is the lock of a file beside the database.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.store.database.engine import Database

SIGNER_LOCK = 0x666F7265736967  # "foresig"


@dataclass(frozen=True, slots=True)
class Turn:
    """The right to sign.

    What is written is committed when the block of `write` ends on SQLite, and when the turn ends on Postgres.
    """

    _database: Database
    _held: Session | None
    """On Postgres the session whose transaction holds the lock; None on SQLite, where a file does."""
    _flush: bool

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Open a session that sees committed rows."""
        if self._held is not None:
            yield self._held
            return
        with self._database.read() as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Open a session that writes.

        In the turn's own transaction on Postgres, in one of the block's own on SQLite.
        """
        if self._held is not None:
            yield self._held
            return
        with self._database.write(flush=self._flush) as session:
            yield session


@contextmanager
def take_turn(database: Database, *, flush: bool) -> Iterator[Turn]:
    """Wait for the turn to sign. The caller may hold no other lock, and no open session.

    Without `flush` what is written need not be on the disk when the turn ends.
    """
    if database.dialect == "postgresql":
        with database.write(flush=flush) as session:
            session.execute(sa.select(sa.func.pg_advisory_xact_lock(SIGNER_LOCK)))
            yield Turn(database, session, flush)
        return
    descriptor = os.open(f"{database.url.database}-signer", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        # A lock of the open file: the kernel frees it when the process dies. The file itself stays: were it removed,
        # one process could hold the lock of the old file and another that of a new one.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield Turn(database, None, flush)
    finally:
        os.close(descriptor)
