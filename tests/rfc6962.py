"""Eight leaves and the root at every size, as published with two implementations of RFC 6962, and its definitions.

google/certificate-transparency, cpp/merkletree/merkle_tree_test.cc; transparency-dev/merkle, proof/verify_test.go.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

LEAVES = [
    bytes.fromhex(each)
    for each in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = [
    bytes.fromhex(each)
    for each in (
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    )
]


def root(leaves: Sequence[bytes]) -> bytes:
    """MTH of section 2.1, word by word, of leaf hashes."""
    if len(leaves) < 2:
        return leaves[0] if leaves else hashlib.sha256(b"").digest()
    split = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\x01" + root(leaves[:split]) + root(leaves[split:])).digest()


def path(index: int, leaves: Sequence[bytes]) -> tuple[bytes, ...]:
    """PATH of section 2.1.1."""
    if len(leaves) < 2:
        return ()
    split = 1 << (len(leaves) - 1).bit_length() - 1
    if index < split:
        return (*path(index, leaves[:split]), root(leaves[split:]))
    return (*path(index - split, leaves[split:]), root(leaves[:split]))


def subproof(size: int, leaves: Sequence[bytes], *, whole: bool = True) -> list[bytes]:
    """SUBPROOF of section 2.1.2."""
    if size == len(leaves):
        return [] if whole else [root(leaves)]
    split = 1 << (len(leaves) - 1).bit_length() - 1
    if size <= split:
        return [*subproof(size, leaves[:split], whole=whole), root(leaves[split:])]
    return [*subproof(size - split, leaves[split:], whole=False), root(leaves[:split])]
