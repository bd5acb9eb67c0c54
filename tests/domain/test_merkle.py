"""Proofs by perfect subtrees, against the definition and against figures of other implementations."""

from __future__ import annotations

import hashlib

import pytest

from service.domain import merkle
from service.domain.ledger import Frontier, leaf_hash
from service.domain.merkle import Node
from tests.rfc6962 import LEAVES, ROOTS

# Proofs over the eight leaves, as published with the RFC 6962 reference implementation
# (google/certificate-transparency, cpp/merkletree/merkle_tree_test.cc): leaf or first size, from 1, and second size.
A, B = "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7", ROOTS[1].hex()
PATHS = {
    (1, 1): [],
    (1, 8): [A, "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
             "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"],
    (6, 8): ["bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
             "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
             "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"],
    (3, 3): [B],
    (2, 5): ["6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
             "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
             "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"],
}  # fmt: skip
CONSISTENCY = {
    (1, 1): [],
    (1, 8): [A, "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
             "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"],
    (6, 8): ["0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
             "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
             "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"],
    (2, 5): ["5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
             "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"],
}  # fmt: skip


class Log:
    """A log as the store keeps it: leaves, and beside every second one what it made whole."""

    def __init__(self, leaves):
        self.leaves, self.completed = [leaf_hash(leaf) for leaf in leaves], {}
        frontier = Frontier()
        for sequence, leaf in enumerate(self.leaves):
            frontier, hashes = frontier.grow(leaf)
            if hashes:
                self.completed[sequence] = hashes
        self.frontier = frontier

    def hashes(self, spans):
        return {
            node: self.leaves[node.position]
            if node.level == 0
            else merkle.hash_of(node, self.completed[node.last])
            for each in spans
            for node in each
        }

    def proof(self, spans):
        return merkle.fold(spans, self.hashes(spans))


def mth(leaves):
    """RFC 6962, section 2.1, on leaf hashes."""
    if len(leaves) == 1:
        return leaves[0]
    k = split(len(leaves))
    return hashlib.sha256(b"\x01" + mth(leaves[:k]) + mth(leaves[k:])).digest()


def path(m, leaves):
    """RFC 6962, section 2.1.1, word for word."""
    if len(leaves) == 1:
        return []
    k = split(len(leaves))
    if m < k:
        return [*path(m, leaves[:k]), mth(leaves[k:])]
    return [*path(m - k, leaves[k:]), mth(leaves[:k])]


def subproof(m, leaves, whole):
    """RFC 6962, section 2.1.2, word for word."""
    if m == len(leaves):
        return [] if whole else [mth(leaves)]
    k = split(len(leaves))
    if m <= k:
        return [*subproof(m, leaves[:k], whole), mth(leaves[k:])]
    return [*subproof(m - k, leaves[k:], False), mth(leaves[:k])]


def split(n):
    k = 1
    while k * 2 < n:
        k *= 2
    return k


LOG = Log([bytes([number]) for number in range(64)])


def test_inclusion_by_definition():
    for size in range(1, 65):
        for index in range(size):
            assert LOG.proof(merkle.inclusion(index, size)) == path(index, LOG.leaves[:size])


def test_consistency_by_definition():
    for second in range(1, 65):
        assert merkle.consistency(0, second) == []
        for first in range(1, second + 1):
            assert LOG.proof(merkle.consistency(first, second)) == subproof(first, LOG.leaves[:second], True)


def test_every_root_by_definition():
    for size in range(1, 65):
        assert merkle.root(size, LOG.hashes([merkle.span(0, size)])) == mth(LOG.leaves[:size])
    assert merkle.root(0, {}) == hashlib.sha256(b"").digest()
    assert merkle.root(64, LOG.hashes([merkle.span(0, 64)])) == LOG.frontier.root()


@pytest.mark.parametrize("case", PATHS)
def test_paths_against_the_reference_implementation(case):
    log = Log(LEAVES)
    leaf, size = case
    assert [each.hex() for each in log.proof(merkle.inclusion(leaf - 1, size))] == PATHS[case]


@pytest.mark.parametrize("case", CONSISTENCY)
def test_consistency_against_the_reference_implementation(case):
    log = Log(LEAVES)
    assert [each.hex() for each in log.proof(merkle.consistency(*case))] == CONSISTENCY[case]


@pytest.mark.parametrize(("index", "size"), [(-1, 3), (3, 3), (0, 0), (9, 3)])
def test_a_leaf_outside_of_the_log_is_refused(index, size):
    with pytest.raises(ValueError, match="has no leaf"):
        merkle.inclusion(index, size)


@pytest.mark.parametrize(("first", "second"), [(-1, 3), (4, 3)])
def test_sizes_out_of_order_are_refused(first, second):
    with pytest.raises(ValueError, match="does not grow"):
        merkle.consistency(first, second)


def test_proofs_stay_small():
    for size in (1, 2, 1000, 2**20, 2**20 + 1, 2**40 - 1):
        most = 2 * size.bit_length()
        for index in (0, 1, size // 2, size - 1):
            if index < size:
                assert sum(map(len, merkle.inclusion(index, size))) <= most
                assert sum(map(len, merkle.consistency(index, size))) <= most


def test_a_node_is_whole_with_its_last_leaf():
    assert [node.last for node in (Node(0, 6), Node(1, 2), Node(2, 0), Node(3, 1))] == [6, 5, 3, 15]
