"""What is read is compared with its hash, here and nowhere else; what differs is told, and neither used nor served.

A finding is logged and kept in `alterations`: readiness is red, in every process, until somebody has looked.
"""

from __future__ import annotations

import hashlib
import logging
import zlib
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from service.domain.recent import MOST_RECORDS, Recent
from service.errors import InvalidData, RecordAltered
from service.store.database.tables import alterations

log = logging.getLogger("forelock.integrity")
FOUND, KNOWN = "altered", "known"
"""Where a session has what was found in it, and what is known of its database."""
MOST_COMPARED, MOST_LEAVES, MOST_PROOFS = 4_000, 20_000, 2_000
"""What one process remembers of verified rows, leaves and proofs."""


class Alteration(NamedTuple):
    """A row that is not what was stored."""

    kind: str
    subject: str


class Known:
    """What one process has read of the ledger of one database. Leaves never change."""

    def __init__(self) -> None:
        self.compared: Recent[tuple[Hashable, ...], bool] = Recent(MOST_COMPARED)
        """Rows that agreed with it, by everything that was compared."""
        self.leaves: Recent[str, Any] = Recent(MOST_LEAVES, MOST_RECORDS)
        """What it says of the batches of a record."""
        self.proofs: Recent[tuple[int, str], tuple[str, str]] = Recent(MOST_PROOFS)
        """Of leaves, by number and hash: the first checkpoint that holds them, and the proof, as they were verified."""


def get_known(session: Session) -> Known:
    """Return what this process has read and verified of the session's database."""
    known_here: Known = session.info[KNOWN]
    return known_here


def is_same(text: str | bytes, sha256: str) -> bool:
    """Tell whether it is what was hashed."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return hashlib.sha256(data).hexdigest() == sha256


UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, RecursionError, zlib.error, InvalidData)
"""What parsing a stored text raises; a full memory or a database that is away is no fault of the text."""


@contextmanager
def reading(kind: str, subject: str, unreadable: tuple[type[Exception], ...] = UNREADABLE) -> Iterator[None]:
    """Take what cannot be read for altered."""
    try:
        yield
    except unreadable as error:
        raise RecordAltered(kind, subject) from error


def require(kind: str, subject: str, *, holds: bool) -> None:
    """Refuse a row that is not what was stored.

    Raises:
        RecordAltered: naming the row, and nothing that is in it.
    """
    if not holds:
        raise RecordAltered(kind, subject)


def once(session: Session, kind: str, subject: str, *compared: Hashable, holds: Callable[[], bool]) -> None:
    """Refuse what takes a query to compare, asked once for all that is `compared`: such rows never change."""
    before, key = get_known(session).compared, (kind, subject, *compared)
    # Remembered only after it held: a failure is looked at anew every time.
    if before.get(key) is None:
        require(kind, subject, holds=holds())
        before.add(key, True, 1)


def note(session: Session, error: RecordAltered) -> None:
    """Keep a finding that is marked in an answer rather than raised."""
    session.info[FOUND].add(Alteration(error.kind, error.subject))


def tell(finding: Alteration) -> None:
    """Log a finding: which row, and nothing that is in it."""
    log.error("a stored record was altered", extra={"fields": finding._asdict()})


def keep(session: Session, findings: set[Alteration], now: datetime) -> None:
    """Remember findings; a known one stays as it was found first."""
    dialect = sqlite if session.get_bind().dialect.name == "sqlite" else postgresql
    rows = [finding._asdict() | {"found_at": now} for finding in sorted(findings)]
    session.execute(dialect.insert(alterations).on_conflict_do_nothing(), rows)


def read_standing(session: Session) -> list[Alteration]:
    """Return what was found and not forgotten since."""
    order = alterations.c.found_at, alterations.c.kind, alterations.c.subject
    rows = session.execute(sa.select(alterations.c.kind, alterations.c.subject).order_by(*order))
    return [Alteration(*row) for row in rows]


def forget(session: Session, *, kind: str | None = None, subject: str | None = None) -> None:
    """Forget findings: what is altered still is found again as soon as it is read."""
    statement = sa.delete(alterations)
    for column, value in ((alterations.c.kind, kind), (alterations.c.subject, subject)):
        statement = statement if value is None else statement.where(column == value)
    session.execute(statement)
