"""The tree over the ledger's leaves: roots and proofs of any size, each from O(log n) rows.

What is read here is not compared with anything: whoever gives it out, or signs it, verifies it against a root.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.domain import merkle
from service.domain.merkle import Node, Span
from service.store import integrity
from service.store.tables import ledger_entries, ledger_nodes


def root(session: Session, size: int) -> bytes:
    """The root of the log as it was with `size` leaves."""
    return merkle.root(size, _hashes(session, [merkle.span(0, size)]))


def inclusion(session: Session, index: int, size: int) -> list[bytes]:
    """What proves leaf `index` to be in the log of `size` leaves, from the leaf upward.

    Raises:
        ValueError: the log of that size has no such leaf.
    """
    return _folded(session, merkle.inclusion(index, size))


def consistency(session: Session, first: int, second: int) -> list[bytes]:
    """What proves the log of `second` leaves to begin with that of `first`.

    Raises:
        ValueError: the sizes are not in order.
    """
    return _folded(session, merkle.consistency(first, second))


def index_of(session: Session, leaf_sha256: str) -> int | None:
    """Where the leaf of that hash stands."""
    found: int | None = session.scalar(
        sa.select(sa.func.min(ledger_entries.c.sequence)).where(ledger_entries.c.leaf_sha256 == leaf_sha256)
    )
    return found


def _folded(session: Session, spans: Sequence[Span]) -> list[bytes]:
    return merkle.folded(spans, _hashes(session, spans))


def _hashes(session: Session, spans: Iterable[Span]) -> dict[Node, bytes]:
    nodes = {node for span in spans for node in span}
    leaves = {node.last for node in nodes if node.level == 0}
    inner = {node.last for node in nodes if node.level > 0}
    by_leaf = dict(_rows(session, _LEAVES, leaves))
    completed = dict(_rows(session, _NODES, inner))
    found = {}
    for node in nodes:
        if node.level == 0:
            found[node] = bytes.fromhex(by_leaf.get(node.last, ""))
        else:
            found[node] = merkle.hash_of(node, bytes(completed.get(node.last, b"")))
        integrity.require(
            "ledger node", f"{node.level}/{node.index}", holds=len(found[node]) == merkle.HASH_BYTES
        )
    return found


def _rows(
    session: Session, statement: sa.Select[tuple[int, bytes]], wanted: set[int]
) -> list[tuple[int, bytes]]:
    return (
        [(row[0], row[1]) for row in session.execute(statement, {"wanted": sorted(wanted)})] if wanted else []
    )


_LEAVES = sa.select(ledger_entries.c.sequence, ledger_entries.c.leaf_sha256).where(
    ledger_entries.c.sequence.in_(sa.bindparam("wanted", expanding=True))
)
_NODES = sa.select(ledger_nodes.c.sequence, ledger_nodes.c.hashes).where(
    ledger_nodes.c.sequence.in_(sa.bindparam("wanted", expanding=True))
)
