"""Hashing and proofs against what transparency-dev/merkle and Go publish, and by definition."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from forelock.transparency import merkle
from forelock.transparency.faults import Unproven
from tests import rfc6962
from tests.rfc6962 import LEAVES, ROOTS

# Proofs: transparency-dev/merkle, proof/verify_test.go.
SOME_HASH = bytes.fromhex("abacaba000000000000000000000000000000000000000000060061e00123456")
A = "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7"
B = "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e"
C = "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"
D = "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"
E = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0"
F = "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"
G = "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"
H = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
I = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a"  # noqa: E741
J = "b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f"
INCLUSION = [(1, 1, ""), (1, 8, A + B + C), (6, 8, D + E + F), (3, 3, G), (2, 5, H + B + D)]
"""Leaf counted from 1, size, proof."""
CONSISTENCY = [(1, 1, ""), (1, 8, A + B + C), (6, 8, I + E + F), (2, 5, B + D), (6, 7, I + J + F)]
ARGON = json.loads((Path(__file__).parent / "argon2020.json").read_text())
"""golang.org/x/mod/sumdb/tlog, testdata/argon2020: answers of the Certificate Transparency log Argon 2020."""


def hashes(text: str) -> list[bytes]:
    return [bytes.fromhex(text[start : start + 64]) for start in range(0, len(text), 64)]


def holds(verify: Callable[..., None], **given: object) -> bool:
    try:
        verify(**given)
    except Unproven:
        return False
    return True


def included(leaf: int, size: int, proof: Sequence[bytes], root: bytes, hashed: bytes) -> bool:
    return holds(merkle.verify_inclusion, index=leaf, size=size, leaf=hashed, proof=proof, root=root)


def consistent(size1: int, size2: int, proof: Sequence[bytes], root1: bytes, root2: bytes) -> bool:
    return holds(merkle.verify_consistency, size1=size1, root1=root1, size2=size2, root2=root2, proof=proof)


def flipped(proof: list[bytes], index: int, mask: int) -> list[bytes]:
    changed = bytes([proof[index][0] ^ mask]) + proof[index][1:]
    return [*proof[:index], changed, *proof[index + 1 :]]


def test_hashes_against_transparency_dev() -> None:
    """rfc6962/rfc6962_test.go."""
    assert merkle.EMPTY_ROOT.hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert merkle.leaf_hash(b"").hex() == H
    assert (
        merkle.leaf_hash(b"L123456").hex()
        == "395aa064aa4c29f7010acfe3f25db9485bbd4b91897b6ad7ad547639252b4d56"
    )
    assert (
        merkle.node_hash(b"N123", b"N456").hex()
        == "aa217fe888e47007fa15edab33c2b492a722cb106c64667fc2b044444de66bbb"
    )


@pytest.mark.parametrize(("leaf", "size", "text"), INCLUSION)
def test_inclusion_against_transparency_dev(leaf: int, size: int, text: str) -> None:
    proof, root, hashed, index = hashes(text), ROOTS[size - 1], merkle.leaf_hash(LEAVES[leaf - 1]), leaf - 1
    assert included(index, size, proof, root, hashed)
    wrong = {
        "index - 1": (index - 1, size, proof, root, hashed),
        "index + 1": (index + 1, size, proof, root, hashed),
        "index ^ 2": (index ^ 2, size, proof, root, hashed),
        "size * 2": (index, size * 2, proof, root, hashed),
        "size / 2": (index, size // 2, proof, root, hashed),
        "wrong leaf": (index, size, proof, root, b"WrongLeaf"),
        "empty root": (index, size, proof, merkle.EMPTY_ROOT, hashed),
        "random root": (index, size, proof, SOME_HASH, hashed),
        "trailing garbage": (index, size, [*proof, b""], root, hashed),
        "trailing root": (index, size, [*proof, root], root, hashed),
        "preceding garbage": (index, size, [b"", *proof], root, hashed),
        "preceding root": (index, size, [root, *proof], root, hashed),
    }
    for place in range(len(proof)):
        wrong[f"bit 3 of {place}"] = (index, size, flipped(proof, place, 8), root, hashed)
    if proof:
        wrong["removed"] = (index, size, proof[:-1], root, hashed)
    if len(proof) > 1:
        wrong["inserted"] = (index, size, [proof[0], SOME_HASH, *proof[1:]], root, hashed)
    assert [name for name, case in wrong.items() if included(*case)] == []


@pytest.mark.parametrize(("size1", "size2", "text"), CONSISTENCY)
def test_consistency_against_transparency_dev(size1: int, size2: int, text: str) -> None:
    proof, root1, root2 = hashes(text), ROOTS[size1 - 1], ROOTS[size2 - 1]
    assert consistent(size1, size2, proof, root1, root2)
    if not proof:
        return
    wrong = {
        "size1 - 1": (size1 - 1, size2, proof, root1, root2),
        "size1 + 1": (size1 + 1, size2, proof, root1, root2),
        "size1 ^ 2": (size1 ^ 2, size2, proof, root1, root2),
        "size2 * 2": (size1, size2 * 2, proof, root1, root2),
        "size2 / 2": (size1, size2 // 2, proof, root1, root2),
        "wrong root1": (size1, size2, proof, b"WrongRoot", root2),
        "wrong root2": (size1, size2, proof, root1, b"WrongRoot"),
        "swapped": (size1, size2, proof, root2, root1),
        "empty": (size1, size2, [], root1, root2),
        "trailing garbage": (size1, size2, [*proof, b""], root1, root2),
        "trailing root1": (size1, size2, [*proof, root1], root1, root2),
        "trailing root2": (size1, size2, [*proof, root2], root1, root2),
        "preceding garbage": (size1, size2, [b"", *proof], root1, root2),
        "preceding root1": (size1, size2, [root1, *proof], root1, root2),
        "preceding root2": (size1, size2, [root2, *proof], root1, root2),
        "preceding proof": (size1, size2, [proof[0], *proof], root1, root2),
        "truncated": (size1, size2, proof[:-1], root1, root2),
    }
    for place in range(len(proof)):
        wrong[f"bit 4 of {place}"] = (size1, size2, flipped(proof, place, 16), root1, root2)
    assert [name for name, case in wrong.items() if consistent(*case)] == []


@pytest.mark.parametrize(
    ("size1", "size2", "root1", "root2", "proof", "holds"),
    [
        (0, 0, merkle.EMPTY_ROOT, merkle.EMPTY_ROOT, [], True),
        (0, 1, merkle.EMPTY_ROOT, SOME_HASH, [], True),
        (1, 1, SOME_HASH, SOME_HASH, [], True),
        (0, 0, merkle.EMPTY_ROOT, SOME_HASH, [], False),
        (1, 1, SOME_HASH, ROOTS[0], [], False),
        (1, 0, SOME_HASH, ROOTS[0], [], False),
        (2, 1, SOME_HASH, ROOTS[0], [], False),
        (1, 2, SOME_HASH, ROOTS[0], [], False),
        (0, 0, merkle.EMPTY_ROOT, merkle.EMPTY_ROOT, [SOME_HASH], False),
        (0, 1, merkle.EMPTY_ROOT, merkle.EMPTY_ROOT, [SOME_HASH], False),
        (1, 1, merkle.EMPTY_ROOT, merkle.EMPTY_ROOT, [SOME_HASH], False),
        # theirs takes any root of the empty tree; RFC 6962 knows one
        (0, 1, SOME_HASH, ROOTS[0], [], False),
        (0, 0, SOME_HASH, SOME_HASH, [], False),
    ],
)
def test_edges_of_consistency(
    size1: int, size2: int, root1: bytes, root2: bytes, proof: list[bytes], *, holds: bool
) -> None:
    assert consistent(size1, size2, proof, root1, root2) is holds


@pytest.mark.parametrize(("index", "size"), [(0, 0), (0, 1), (1, 0), (2, 1), (-1, 1), (0, 2**63)])
def test_no_proof_shows_nothing_of_another_tree(index: int, size: int) -> None:
    for leaf, root in ((SOME_HASH, b""), (b"", merkle.EMPTY_ROOT), (SOME_HASH, merkle.EMPTY_ROOT)):
        assert not included(index, size, [], root, leaf)


def test_inclusion_against_a_certificate_transparency_log() -> None:
    leaf = merkle.leaf_hash(base64.b64decode(ARGON["leaf_input"]))
    root, proof = base64.b64decode(ARGON["root"]), [base64.b64decode(each) for each in ARGON["audit_path"]]
    assert included(ARGON["leaf_index"], ARGON["tree_size"], proof, root, leaf)
    assert not included(ARGON["leaf_index"] + 1, ARGON["tree_size"], proof, root, leaf)


def test_consistency_against_a_certificate_transparency_log() -> None:
    root, proof = base64.b64decode(ARGON["root"]), [base64.b64decode(each) for each in ARGON["consistency"]]
    old = base64.b64decode(ARGON["old_root"])
    assert consistent(ARGON["old_size"], ARGON["tree_size"], proof, old, root)
    assert not consistent(ARGON["old_size"], ARGON["tree_size"], proof, SOME_HASH, root)


def test_every_proof_of_small_trees_by_definition() -> None:
    leaves = [merkle.leaf_hash(b"leaf %d" % each) for each in range(33)]
    for size in range(1, len(leaves) + 1):
        here = leaves[:size]
        root = rfc6962.root(here)
        for index in range(size):
            proof = rfc6962.path(index, here)
            assert included(index, size, proof, root, here[index])
            assert not any(
                included(other, size, proof, root, here[index]) for other in range(size) if other != index
            )
        for size1 in range(1, size):
            proof = rfc6962.subproof(size1, here)
            assert consistent(size1, size, proof, rfc6962.root(leaves[:size1]), root)
            other = [merkle.leaf_hash(b"other"), *leaves[1:size1]]
            assert not consistent(size1, size, proof, rfc6962.root(other), root)
