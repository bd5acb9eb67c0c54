from __future__ import annotations

import hashlib
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.ledger import KINDS, Frontier, Kind, leaf_bytes, leaf_hash, node_hash
from service.errors import InvalidData

SALT = bytes(range(16))

# Merkle tree hashes of the first n of eight inputs, as published with the RFC 6962 reference
# implementation (google/certificate-transparency, cpp/merkletree/merkle_tree_test.cc).
INPUTS = [
    "",
    "00",
    "10",
    "2021",
    "3031",
    "40414243",
    "5051525354555657",
    "606162636465666768696a6b6c6d6e6f",
]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


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
    leaves = [bytes.fromhex(text) for text in INPUTS]
    assert [grow(leaves[: n + 1]).root().hex() for n in range(8)] == ROOTS


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
