from __future__ import annotations

import hashlib
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.ledger import KINDS, Frontier, Kind, leaf_bytes, leaf_hash, node_hash
from service.errors import InvalidData
from tests.rfc6962 import LEAVES, ROOTS

SALT = bytes(range(16))


def naive_root(leaves):
    """RFC 6962, section 2.1, word for word."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return hashlib.sha256(b"\x01" + naive_root(leaves[:k]) + naive_root(leaves[k:])).digest()


def grow(leaves):
    frontier = Frontier()
    for leaf in leaves:
        frontier = frontier.append(leaf_hash(leaf))
    return frontier


def test_against_the_reference_implementation():
    assert [grow(LEAVES[: n + 1]).root() for n in range(8)] == ROOTS


def test_the_empty_log_has_the_hash_of_nothing():
    assert Frontier().root() == hashlib.sha256(b"").digest()


@given(st.lists(st.binary(max_size=40), max_size=200))
def test_root_by_definition(leaves):
    frontier = grow(leaves)
    assert frontier.root() == naive_root(leaves)
    assert Frontier.from_bytes(frontier.size, frontier.to_bytes()) == frontier


def test_the_frontier_stays_small():
    assert [len(grow([b"x"] * n).peaks) for n in (0, 1, 2, 3, 4, 255, 256)] == [0, 1, 1, 2, 1, 8, 1]


@pytest.mark.parametrize(
    ("size", "data"), [(1, b""), (2, bytes(64)), (1, bytes(31)), (0, bytes(32)), (3, bytes(65))]
)
def test_peaks_that_do_not_fit_the_size_are_refused(size, data):
    with pytest.raises(ValueError, match="peaks"):
        Frontier.from_bytes(size, data)


def test_leaves_and_nodes_are_hashed_apart():
    assert leaf_hash(bytes(64)) != node_hash(bytes(32), bytes(32))


def test_a_leaf_is_canonical_and_salted():
    leaf = leaf_bytes("batch", {"n": 2, "arm": "C1"}, SALT)
    assert leaf == (
        b'{"body":{"arm":"C1","n":2},"kind":"batch","salt":"000102030405060708090a0b0c0d0e0f","version":1}'
    )
    assert leaf == leaf_bytes("batch", {"arm": "C1", "n": 2}, SALT)
    assert leaf != leaf_bytes("close", {"arm": "C1", "n": 2}, SALT)
    assert leaf != leaf_bytes("batch", {"arm": "C1", "n": 2}, bytes(16))


def test_a_leaf_needs_its_whole_salt():
    with pytest.raises(ValueError, match="16 bytes"):
        leaf_bytes("batch", {}, b"")


def test_a_leaf_holds_what_json_can_carry():
    with pytest.raises(InvalidData):
        leaf_bytes("batch", {"x": float("nan")}, SALT)


def test_kinds_are_listed_once():
    assert get_args(Kind) == KINDS
