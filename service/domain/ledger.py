"""The ledger: one Merkle log of everything that happened to locked plans (RFC 6962 hashing)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pydantic import Field

from service.domain.canonical import canonical
from service.records import StrictRecord

Kind = Literal[
    "plan_locked",
    "plan_amended",
    "batch",
    "batch_voided",
    "run",
    "arm_named",
    "deviation",
    "look",
    "reading",
    "close",
    "verdict",
    "withdrawal",
    "published",
    "unblinding",
    "key_rotation",
    "resumption",
    "erasure",
]

KINDS: tuple[Kind, ...] = get_args(Kind)

SALT_BYTES = 16
HASH_BYTES = 32
EMPTY_ROOT = hashlib.sha256(b"").digest()


class Receipt(StrictRecord):
    """Where an event stands in the ledger, and the hash of its leaf."""

    sequence: int = Field(ge=0, description="Index of the leaf, from 0.")
    kind: Kind
    leaf_sha256: str = Field(
        description="RFC 6962 leaf hash, hexadecimal: SHA-256 of a zero byte and the leaf."
    )
    leaf: str | None = Field(
        None,
        description="The leaf: RFC 8785 text of the event and a salt. The salt keeps those who have only the hash from "
        "guessing the event, and is not the salt that seals results.",
    )
    checkpoint: str | None = Field(None, description="Signed note of a tree that holds the leaf.")
    proof: str | None = Field(None, description="Inclusion proof of the leaf in that tree.")


def leaf_bytes(kind: Kind, body: Mapping[str, Any], salt: bytes) -> bytes:
    """Return the canonical text of an event. The salt keeps anybody from guessing it out of its hash."""
    if len(salt) != SALT_BYTES:
        raise ValueError(f"a leaf is salted with {SALT_BYTES} bytes, not {len(salt)}")
    return canonical({"version": 1, "kind": kind, "body": dict(body), "salt": salt.hex()})


def leaf_hash(data: bytes) -> bytes:
    """Return the leaf's hash by RFC 6962: SHA-256(0x00 || data)."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the node's hash by RFC 6962: SHA-256(0x01 || left || right)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


@dataclass(frozen=True, slots=True)
class Frontier:
    """The roots of the perfect subtrees of a log, largest first: all that an append needs.

    There is one for every bit set in `size`, so it holds at most log2(size) + 1 hashes.
    """

    size: int = 0
    peaks: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        if len(self.peaks) != self.size.bit_count() or any(len(peak) != HASH_BYTES for peak in self.peaks):
            raise ValueError(f"these are not the peaks of a log of {self.size} leaves")

    def append(self, leaf: bytes) -> Frontier:
        """Return the frontier with one more leaf hash: O(log n)."""
        return self.grow(leaf)[0]

    def grow(self, leaf: bytes) -> tuple[Frontier, bytes]:
        """Return the same, and the roots of the perfect subtrees that the leaf makes whole, from level 1 up."""
        peaks, completed = [*self.peaks, leaf], b""
        size = self.size
        while size & 1:
            right = peaks.pop()
            peaks[-1] = node_hash(peaks[-1], right)
            completed += peaks[-1]
            size >>= 1
        return Frontier(self.size + 1, tuple(peaks)), completed

    def root(self) -> bytes:
        """Return the Merkle tree hash of the whole log."""
        if not self.peaks:
            return EMPTY_ROOT
        *others, root = self.peaks
        for peak in reversed(others):
            root = node_hash(peak, root)
        return root

    def to_bytes(self) -> bytes:
        """Return the peaks, one after the other."""
        return b"".join(self.peaks)

    @classmethod
    def from_bytes(cls, size: int, data: bytes) -> Frontier:
        """Read a frontier from its bytes: the inverse of `to_bytes`."""
        peaks = tuple(data[start : start + HASH_BYTES] for start in range(0, len(data), HASH_BYTES))
        return cls(size, peaks)
