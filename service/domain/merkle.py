"""Where the hashes of a Merkle log come from: which perfect subtrees a root and the proofs are made of (RFC 6962).

A log of n leaves is made of perfect subtrees, and a perfect subtree never changes once it is whole. So whoever keeps
their roots can prove anything about any two sizes from O(log n) of them. Verification is in `forelock.transparency`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import NamedTuple

from service.domain.ledger import EMPTY_ROOT, HASH_BYTES, node_hash


class Node(NamedTuple):
    """The root of a perfect subtree: of `2 ** level` leaves, and with `position` such subtrees before it."""

    level: int
    position: int

    @property
    def last(self) -> int:
        """The leaf that makes the subtree whole."""
        return (self.position + 1 << self.level) - 1


Span = tuple[Node, ...]
"""Neighbouring subtrees, larger ones first; what they hash to is one hash of a proof."""


def span(start: int, end: int) -> Span:
    """List the perfect subtrees that leaves `start` to `end` fall into; one of that size may begin at `start`."""
    nodes = []
    while start < end:
        level = (end - start).bit_length() - 1
        nodes.append(Node(level, start >> level))
        start += 1 << level
    return tuple(nodes)


def inclusion(index: int, size: int) -> list[Span]:
    """Return the hashes that prove leaf `index` to be in the log of `size` leaves: PATH of RFC 6962, section 2.1.1.

    Raises:
        ValueError: the log of that size has no such leaf.

    Example:
        In a log of 7 leaves leaf 6 is proved by two hashes: of leaves 4 and 5, and of leaves 0 to 3.
    """
    if not 0 <= index < size:
        raise ValueError(f"a log of {size} leaves has no leaf {index}")
    start, end, path = 0, size, []
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            path.append(span(middle, end))
            end = middle
        else:
            path.append(span(start, middle))
            start = middle
    return path[::-1]


def consistency(first: int, second: int) -> list[Span]:
    """List the hashes that prove the log of `first` leaves the beginning of that of `second`: PROOF of section 2.1.2.

    Raises:
        ValueError: the sizes are not in order.

    Example:
        From 4 to 7 leaves: one hash, of leaves 4 to 6. From 0, or to the same size: none.
    """
    if not 0 <= first <= second:
        raise ValueError(f"a log does not grow from {first} to {second} leaves")
    start, end, path, whole = 0, second, [], True
    while 0 < first < end:
        middle = start + _split(end - start)
        if first <= middle:
            path.append(span(middle, end))
            end = middle
        else:
            path.append(span(start, middle))
            start, whole = middle, False
    if first and not whole:
        path.append(span(start, end))
    return path[::-1]


def fold(spans: Iterable[Span], hashes: Mapping[Node, bytes]) -> list[bytes]:
    """Return one hash for each span."""
    return [
        reduce(lambda right, left: node_hash(left, right), [hashes[node] for node in reversed(span)])
        for span in spans
    ]


def root(size: int, hashes: Mapping[Node, bytes]) -> bytes:
    """Return the root of the log of `size` leaves."""
    return fold([span(0, size)], hashes)[0] if size else EMPTY_ROOT


def hash_of(node: Node, completed: bytes) -> bytes:
    """Return a node's hash out of all those that its last leaf made whole: from level 1 up, one after the other."""
    return completed[(node.level - 1) * HASH_BYTES : node.level * HASH_BYTES]


def _split(n: int) -> int:
    """Return the largest power of two below n."""
    return 1 << (n - 1).bit_length() - 1
