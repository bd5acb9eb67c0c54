"""Rows after the verdict, or an unblinding: opened with the key that it released."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from service.actions.plans import cursors
from service.actions.results.unblinding import seals
from service.domain.plans.manifest import Manifest
from service.domain.plans.preregistration import ONCE_LOCKED, Preregistration
from service.domain.results import sealing
from service.domain.results.batches import PlacedBatch
from service.domain.results.secret_rows import NO_TIME, SecretRows
from service.domain.results.statuses import STATUSES
from service.store.plans import plan_keys
from service.store.plans.populations import read_manifests
from service.store.results import batches

Row = dict[str, Any]
PIECE = 10_000
"""Rows that are opened together."""
_CURSOR = re.compile(r"([1-9][0-9]{0,9})-([0-9]{1,9})")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def page(
    session: Session, record: Preregistration, *, cursor: str | None, limit: int
) -> tuple[list[Row], str | None]:
    """Return rows in the order they were posted, and where the next page begins.

    Raises:
        Conflict: `blinded`, or the record has no rows yet.
    """
    record.require(*ONCE_LOCKED)
    plan_private = plan_keys.read_released(session, record.id)
    cells = _readable_cells(session, record)
    first, offset = cursors.read_numbers("1-0" if cursor is None else cursor, _CURSOR)
    manifests = read_manifests(session, record)
    rows: list[Row] = []
    for sequence in batches.read_sequences(session, record.id, start=first):
        batch = batches.get(session, record.id, sequence)
        head = batch.sealed.head
        if not cells(head.population, head.endpoint):
            continue
        placed, _salt = sealing.open_batch(batch.sealed, record.plan_sha256 or "", plan_private)
        begin = offset if sequence == first else 0
        end = min(placed.n, begin + limit - len(rows))
        rows.extend(_rows(placed, manifests[head.population], sequence, begin, end))
        if len(rows) == limit:
            return rows, f"{sequence}-{end}"
    return rows, None


def every(session: Session, record: Preregistration) -> Iterator[Row]:
    """Yield all rows that may be read, in the order they were posted, a batch at a time in memory.

    Raises:
        Conflict: as `page` does, before the first row.
    """
    cursor: str | None = None
    while True:
        rows, cursor = page(session, record, cursor=cursor, limit=PIECE)
        yield from rows
        if cursor is None:
            return


def _readable_cells(session: Session, record: Preregistration) -> Callable[[str, str], bool]:
    """Tell which rows may be read: all after the verdict, before it those that were asked for."""
    if record.judged_at is not None:
        return lambda _population, _endpoint: True
    opened = seals(session, record).unblindings
    return lambda population, endpoint: any(opening.covers(population, endpoint) for opening in opened)


def _rows(placed: PlacedBatch, manifest: Manifest, sequence: int, begin: int, end: int) -> Iterator[Row]:
    """Yield the opened rows of a batch from `begin` to before `end`; a value stands only where the status is ok."""
    values, statuses = placed.rows.values, placed.rows.statuses
    for row in range(begin, end):
        status = int(statuses[row])
        yield {
            **placed.head.names(),
            "item_id": manifest.item_ids[placed.positions[row]],
            "replicate": int(placed.replicates[row]),
            "value": float(values[row]) if status == 0 else None,
            "status": STATUSES[status],
            "observed_at": _time(placed.rows, row),
            "batch": sequence,
        }


def _time(rows: SecretRows, row: int) -> datetime | None:
    if rows.observed_at is None or rows.observed_at[row] == NO_TIME:
        return None
    return _EPOCH + timedelta(microseconds=int(rows.observed_at[row]))
