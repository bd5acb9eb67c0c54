"""Merkle trees of RFC 6962: hashing, and checking that a leaf is in a tree and that a tree grew out of another."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from forelock.transparency.encoding import MAX_SIZE
from forelock.transparency.faults import Unproven

HASH_BYTES = 32
EMPTY_ROOT = hashlib.sha256(b"").digest()
"""The root of a tree without leaves (RFC 6962 section 2.1)."""


def leaf_hash(data: bytes) -> bytes:
    """SHA-256(0x00 || data): the hash of a leaf.

    Example:
        >>> leaf_hash(b"").hex()
        '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d'
    """
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """SHA-256(0x01 || left || right): the hash of an inner node."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def verify_inclusion(*, index: int, size: int, leaf: bytes, proof: Sequence[bytes], root: bytes) -> None:
    """Check that a leaf is at an index of the tree of a size and root.

    Args:
        index: of the leaf, from 0.
        size: leaves in the tree.
        leaf: `leaf_hash` of its data, 32 bytes.
        proof: hashes from the leaf's sibling upward, 32 bytes each.
        root: of the tree, 32 bytes.

    Raises:
        Unproven: it does not follow.

    Source:
        RFC 9162 section 2.1.3.2.
    """
    if not 0 <= index < size <= MAX_SIZE:
        raise Unproven(f"a tree of {size} leaves has no leaf {index}")
    _require_hashes(leaf, root, *proof)
    # Steps 2 and 3, where these are fn, sn and r: the place of the path on its level, and the last place there is.
    node, last, digest = index, size - 1, leaf
    for sibling in proof:
        # Step 4.a: the root is reached, and what is left over would be hashed onto it.
        if last == 0:
            raise Unproven("the inclusion proof is longer than the tree is high")
        # Step 4.b: a right child, or a last node without a sibling, which went up as it is: its next sibling is on the
        # left.
        if node & 1 or node == last:
            digest = node_hash(sibling, digest)
            node, last = _while_even(node, last)
        else:
            digest = node_hash(digest, sibling)
        node, last = node >> 1, last >> 1
    if last != 0:
        raise Unproven("the inclusion proof is shorter than the tree is high")
    if digest != root:
        raise Unproven("the inclusion proof leads to another root")


def verify_consistency(*, size1: int, root1: bytes, size2: int, root2: bytes, proof: Sequence[bytes]) -> None:
    """Check that the tree of `size2` and `root2` is that of `size1` and `root1` with leaves appended.

    Raises:
        Unproven: it does not follow. A proof of what needs none (equal sizes, or the empty tree) has to be empty.

    Source:
        RFC 9162 section 2.1.4.2.
    """
    if not 0 <= size1 <= size2 <= MAX_SIZE:
        raise Unproven(f"a tree of {size2} leaves cannot have grown out of one of {size1}")
    _require_hashes(root1, root2, *proof)
    if size1 == 0 and root1 != EMPTY_ROOT:
        raise Unproven("a tree without leaves has another root")
    if size1 in (0, size2):
        if proof:
            raise Unproven("this consistency needs no proof, and one is given")
        if size1 == size2 and root1 != root2:
            raise Unproven(f"two trees of {size1} leaves have different roots")
        return
    # Step 2: a tree of 2^k leaves is a node of the larger tree, and so the proof does not repeat its root. An empty
    # proof then fails below, for the larger tree is higher.
    path = [root1, *proof] if size1 & (size1 - 1) == 0 else list(proof)
    if not path:
        raise Unproven("the consistency proof is empty")
    node, last = size1 - 1, size2 - 1
    # Step 4: levels on which the old tree ends with a right child are whole in both trees; the proof begins above them.
    while node & 1:
        node, last = node >> 1, last >> 1
    # Steps 5 and 6: one path is folded twice, once with what the old tree has and once with all of it.
    old = new = path[0]
    for sibling in path[1:]:
        if last == 0:
            raise Unproven("the consistency proof is longer than the tree is high")
        if node & 1 or node == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            node, last = _while_even(node, last)
        else:
            new = node_hash(new, sibling)
        node, last = node >> 1, last >> 1
    if last != 0:
        raise Unproven("the consistency proof is shorter than the tree is high")
    if old != root1 or new != root2:
        raise Unproven("the consistency proof leads to other roots")


def _while_even(node: int, last: int) -> tuple[int, int]:
    """Up the right border: levels on which the last node has no sibling are skipped."""
    while node and not node & 1:
        node, last = node >> 1, last >> 1
    return node, last


def _require_hashes(*hashes: bytes) -> None:
    if any(len(digest) != HASH_BYTES for digest in hashes):
        raise Unproven(f"a hash has {HASH_BYTES} bytes")
