"""The tree over the ledger's leaves: roots and proofs of any size, each from O(log n) rows.

What is read here is not compared with anything: whoever gives it out, or signs it, verifies it against a root.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.domain import merkle
from service.domain.ledger import HASH_BYTES
from service.domain.merkle import Node, Span
from service.store.database import integrity
from service.store.database.tables import ledger_entries, ledger_nodes


def read_root(session: Session, size: int) -> bytes:
    """Read the root of the log as it was with `size` leaves."""
    return merkle.root(size, _read_hashes(session, [merkle.span(0, size)]))


def prove_inclusion(session: Session, index: int, size: int) -> list[bytes]:
    """Return the hashes that prove leaf `index` to be in the log of `size` leaves, from the leaf upward.

    Raises:
        ValueError: the log of that size has no such leaf.
    """
    return _fold(session, merkle.inclusion(index, size))


def prove_inclusions(session: Session, indexes: Sequence[int], size: int) -> list[list[bytes]]:
    """Return for several leaves the hashes that prove them to be in the log of `size` leaves, by two statements."""
    paths = [merkle.inclusion(index, size) for index in indexes]
    hashes = _read_hashes(session, [span for path in paths for span in path])
    return [merkle.fold(path, hashes) for path in paths]


def prove_consistency(session: Session, first: int, second: int) -> list[bytes]:
    """Return the hashes that prove the log of `second` leaves to begin with that of `first`.

    Raises:
        ValueError: the sizes are not in order.
    """
    return _fold(session, merkle.consistency(first, second))


def find_index(session: Session, leaf_sha256: str) -> int | None:
    """Find the index of the first leaf with that hash; None where there is none."""
    sequence: int | None = session.scalar(
        sa.select(sa.func.min(ledger_entries.c.sequence)).where(ledger_entries.c.leaf_sha256 == leaf_sha256)
    )
    return sequence


def _fold(session: Session, spans: Sequence[Span]) -> list[bytes]:
    return merkle.fold(spans, _read_hashes(session, spans))


def _read_hashes(session: Session, spans: Iterable[Span]) -> dict[Node, bytes]:
    """Read the hash of every node of the spans.

    Raises:
        RecordAltered: a node has no hash, or one of another length.
    """
    nodes = {node for span in spans for node in span}
    # An inner node stands beside the last leaf under it, which made it whole; a leaf's hash is with its entry.
    leaves = {node.last for node in nodes if node.level == 0}
    inner = {node.last for node in nodes if node.level > 0}
    by_leaf: dict[int, str] = _read_rows(session, _LEAVES, leaves)
    completed: dict[int, bytes] = _read_rows(session, _NODES, inner)
    hashes = {}
    for node in nodes:
        if node.level == 0:
            hashes[node] = bytes.fromhex(by_leaf.get(node.last, ""))
        else:
            hashes[node] = merkle.hash_of(node, bytes(completed.get(node.last, b"")))
        name = f"{node.level}/{node.position}"
        integrity.require("ledger node", name, holds=len(hashes[node]) == HASH_BYTES)
    return hashes


def _read_rows(session: Session, statement: sa.Select[Any], wanted: set[int]) -> dict[int, Any]:
    if not wanted:
        return {}
    return {row[0]: row[1] for row in session.execute(statement, {"wanted": sorted(wanted)})}


_LEAVES = sa.select(ledger_entries.c.sequence, ledger_entries.c.leaf_sha256).where(
    ledger_entries.c.sequence.in_(sa.bindparam("wanted", expanding=True))
)
_NODES = sa.select(ledger_nodes.c.sequence, ledger_nodes.c.hashes).where(
    ledger_nodes.c.sequence.in_(sa.bindparam("wanted", expanding=True))
)
