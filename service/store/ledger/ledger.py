"""The ledger's leaves and its head. An append takes the ledger's lock: make it the transaction's last act."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.domain.ledger import Frontier, Kind, Receipt, leaf_bytes, leaf_hash
from service.domain.moment import Moment
from service.domain.plans.preregistration import Preregistration
from service.store.database import integrity, paging
from service.store.database.pipeline import together
from service.store.database.tables import ledger_entries, ledger_head, ledger_nodes

APART = timedelta(seconds=60)
"""Entries that are written at once may be dated this far apart: a write waits for the lock of another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event that is to become a leaf of the log: what happened, to which record, and the salt of its hash."""

    kind: Kind
    body: Mapping[str, Any]
    project_id: str | None
    preregistration_id: str | None
    salt: bytes


def append(
    session: Session, record: Preregistration | None, kind: Kind, body: Mapping[str, Any], moment: Moment
) -> Receipt:
    """Add an event of a record, whose id its body has first, or of the log itself as the next leaf, under a fresh salt.

    It takes the ledger's lock, for which every other write waits: whatever else takes a lock comes before.
    """
    event = Event(
        kind=kind,
        body=body if record is None else {"preregistration_id": record.id, **body},
        project_id=None if record is None else record.project_id,
        preregistration_id=None if record is None else record.id,
        salt=moment.salt(),
    )
    leaves = make_next_leaves(session, [event], now=moment.now)
    add(session, leaves)
    return leaves.receipts[0]


@dataclass(frozen=True, slots=True)
class Leaves:
    """Events as the next leaves of the log, before they are written."""

    receipts: Sequence[Receipt]
    entries: Sequence[Mapping[str, Any]]
    """A row of `ledger_entries` for every leaf."""
    nodes: Sequence[Mapping[str, Any]]
    """A row of `ledger_nodes` for every leaf that makes subtrees whole, with their roots."""
    log: Frontier
    """The log with these leaves in it."""


def measure_set_back(session: Session, now: datetime) -> timedelta | None:
    """Measure how far the clock stands before the newest entry; None where concurrent writes explain it."""
    newest = session.scalar(_NEWEST)
    return newest - now if newest is not None and newest - now >= APART else None


def make_next_leaves(session: Session, events: Sequence[Event], *, now: datetime) -> Leaves:
    """Make the leaves that events become, in this order. It takes the ledger's lock, so `add` must follow."""
    leaves = [leaf_bytes(event.kind, event.body, event.salt) for event in events]
    # Canonical texts are made before: whoever holds the head holds up every other write.
    log = read_head(session, for_update=True)
    receipts, entries, nodes = [], [], []
    for event, leaf in zip(events, leaves, strict=True):
        hashed = leaf_hash(leaf)
        receipt = Receipt(sequence=log.size, kind=event.kind, leaf_sha256=hashed.hex(), leaf=leaf.decode())
        receipts.append(receipt)
        entries.append(
            {
                "sequence": receipt.sequence,
                "kind": event.kind,
                "project_id": event.project_id,
                "preregistration_id": event.preregistration_id,
                "leaf": receipt.leaf,
                "leaf_sha256": receipt.leaf_sha256,
                "created_at": now,
            }
        )
        log, completed = log.grow(hashed)
        if completed:
            nodes.append({"sequence": receipt.sequence, "hashes": completed})
    return Leaves(receipts, entries, nodes, log)


def add(session: Session, leaves: Leaves) -> None:
    """Write the leaves that `make_next_leaves` made under the ledger's lock."""
    # Sent to Postgres in one go: the ledger's lock is held until they are done, and everybody waits for it.
    with together(session):
        session.execute(_APPEND, leaves.entries)
        if leaves.nodes:
            session.execute(_COMPLETE, leaves.nodes)
        session.execute(_GROW, {"new_size": leaves.log.size, "new_peaks": leaves.log.to_bytes()})


def read_head(session: Session, *, for_update: bool = False) -> Frontier:
    """Read the log's size and the peaks its root is made of; `for_update` takes the ledger's lock."""
    row = session.execute(_HELD_HEAD if for_update else _HEAD).one()
    return Frontier.from_bytes(row.size, bytes(row.peaks))


# Made once: every write to the ledger executes them.
_HEAD = sa.select(ledger_head.c.size, ledger_head.c.peaks)
_HELD_HEAD = _HEAD.with_for_update()
_APPEND = sa.insert(ledger_entries)
_NEWEST = sa.select(ledger_entries.c.created_at).order_by(ledger_entries.c.sequence.desc()).limit(1)
_COMPLETE = sa.insert(ledger_nodes)
_GROW = sa.update(ledger_head).values(size=sa.bindparam("new_size"), peaks=sa.bindparam("new_peaks"))


def read_receipts(session: Session, preregistration_id: str, *, kind: Kind | None = None) -> list[Receipt]:
    """Read the record's receipts in order. Reach it through a record that was read in its project."""
    kinds = () if kind is None else (kind,)
    return [_make_receipt(entry) for entry in _read_rows(session, preregistration_id, *kinds)]


def iterate_receipts(session: Session, preregistration_id: str, *kinds: Kind) -> Iterator[Receipt]:
    """Iterate over the record's receipts of these kinds in order, with at most `_AT_ONCE` in memory."""
    after = -1
    while rows := _read_rows(session, preregistration_id, *kinds, after=after, most=_AT_ONCE):
        yield from map(_make_receipt, rows)
        after = rows[-1]["sequence"]


_AT_ONCE = 500


def read_bodies(session: Session, preregistration_id: str, *, kind: Kind) -> list[dict[str, Any]]:
    """Read the bodies of the record's entries of a kind, in order.

    Reach it through a record that was read in its project.
    """
    return [body for _, body in read_numbered_bodies(session, preregistration_id, kind=kind)]


def read_numbered_bodies(
    session: Session, preregistration_id: str, *, kind: Kind, after: int = -1
) -> list[tuple[int, dict[str, Any]]]:
    """Read sequence and body of the record's entries of a kind after the leaf `after`, in order."""
    return [
        (entry["sequence"], json.loads(entry["leaf"])["body"])
        for entry in _read_rows(session, preregistration_id, kind, after=after)
    ]


def read_leaf(session: Session, sequence: int) -> str:
    """Read the leaf of that number, for leaves of the deployment itself, which no record leads to.

    Raises:
        RecordAltered: there is none, or it is not what was hashed.
    """
    row = session.execute(
        sa.select(ledger_entries.c.leaf, ledger_entries.c.leaf_sha256).where(
            ledger_entries.c.sequence == sequence
        )
    ).one_or_none()
    text, hashed = ("", "") if row is None else row
    integrity.require("ledger entry", str(sequence), holds=leaf_hash(text.encode()).hex() == hashed)
    return str(text)


def parse_body(leaf: str) -> dict[str, Any]:
    """Parse the body of the event out of a leaf's canonical text, without kind and salt."""
    body: dict[str, Any] = json.loads(leaf)["body"]
    return body


def find_newest(session: Session, preregistration_id: str) -> int | None:
    """Find the number of the record's last entry; None where it has none."""
    statement = sa.select(sa.func.max(ledger_entries.c.sequence))
    sequence: int | None = session.scalar(
        statement.where(ledger_entries.c.preregistration_id == preregistration_id)
    )
    return sequence


@dataclass(frozen=True, slots=True)
class Entry:
    """An event of a record: its place in the ledger, when it was added, and what it says."""

    receipt: Receipt
    created_at: datetime
    body: Mapping[str, Any]

    @property
    def sequence(self) -> int:
        """The number of its leaf in the log, from 0."""
        return self.receipt.sequence


def read_entries(
    session: Session, preregistration_id: str, *kinds: Kind, skip: int = 0, most: int | None = None
) -> list[Entry]:
    """Read the record's entries of these kinds in order, of every kind where none is named.

    The first `skip` are left out, and at most `most` are read; None: all of them.

    Reach it through a record that was read in its project.
    """
    return [
        Entry(_make_receipt(entry), entry["created_at"], json.loads(entry["leaf"])["body"])
        for entry in _read_rows(session, preregistration_id, *kinds, skip=skip, most=most)
    ]


def read_page(
    session: Session, preregistration_id: str, *, cursor: str | None, limit: int
) -> tuple[list[Entry], str | None]:
    """Read a page of the record's entries, newest first, and the cursor of the next.

    Reach it through a record that was read in its project.
    """
    wanted = [ledger_entries.c[name] for name in _SHOWN]
    statement = sa.select(*wanted).where(ledger_entries.c.preregistration_id == preregistration_id)

    def read(row: sa.RowMapping) -> Entry:
        entry: dict[str, Any] = dict(row)
        _require_whole(entry)
        return Entry(_make_receipt(entry), entry["created_at"], json.loads(entry["leaf"])["body"])

    return paging.read_page(
        session, statement, (ledger_entries.c.sequence,), read, cursor=cursor, limit=limit
    )


def _make_receipt(entry: Mapping[str, Any]) -> Receipt:
    return Receipt(**{name: entry[name] for name in _SHOWN if name != "created_at"})


_SHOWN = ("sequence", "kind", "leaf", "leaf_sha256", "created_at")


def _read_rows(
    session: Session,
    preregistration_id: str,
    *kinds: Kind,
    after: int = -1,
    skip: int = 0,
    most: int | None = None,
) -> list[dict[str, Any]]:
    """Read the rows of a record's entries after the leaf `after`, in order, once every leaf is what was hashed.

    Raises:
        RecordAltered: a leaf is not what was hashed.
    """
    wanted = [ledger_entries.c[name] for name in _SHOWN]
    statement = sa.select(*wanted).where(
        ledger_entries.c.preregistration_id == preregistration_id, ledger_entries.c.sequence > after
    )
    if kinds:
        statement = statement.where(ledger_entries.c.kind.in_(kinds))
    ordered = statement.order_by(ledger_entries.c.sequence).limit(most).offset(skip or None)
    rows = [dict(row) for row in session.execute(ordered).mappings()]
    for entry in rows:
        _require_whole(entry)
    return rows


def _require_whole(entry: Mapping[str, Any]) -> None:
    """Require that an entry's leaf is what was hashed."""
    holds = leaf_hash(entry["leaf"].encode()).hex() == entry["leaf_sha256"]
    integrity.require("ledger entry", str(entry["sequence"]), holds=holds)


def read_leaf_hashes(session: Session, start: int, end: int) -> list[str]:
    """Read the leaf hashes from `start` up to, not including, `end`."""
    statement = sa.select(ledger_entries.c.leaf_sha256).where(
        ledger_entries.c.sequence >= start, ledger_entries.c.sequence < end
    )
    return list(session.scalars(statement.order_by(ledger_entries.c.sequence)))
