"""One group of batches at a time, whichever process gathered it.

Every group ends with the ledger's head, so groups of two processes follow one another in any case. Without a turn the
second would first find the records of the first one held, and store each of them in a transaction of its own.
"""

from __future__ import annotations

import sqlalchemy as sa

from service.store.database.pipeline import Questions

GROUP_LOCK = 0x666F726567727570  # "foregrup"

_WAIT = sa.select(sa.func.pg_advisory_xact_lock(GROUP_LOCK))


def ask(questions: Questions) -> None:
    """Wait until no other group is stored, before any other lock is asked for. SQLite has one writer."""
    if questions.dialect.name == "postgresql":
        questions.ask(_WAIT, {}, len)
