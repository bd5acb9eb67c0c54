"""Entries of the ledger as a bundle holds them: the leaf's text, its place, and the path to the checkpoint's root."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from forelock.bundles import canonical
from forelock.bundles.container import Reader
from forelock.bundles.faults import Broken
from forelock.counting import count_values
from forelock.transparency import merkle
from forelock.transparency.encoding import MAX_SIZE, base64_bytes
from forelock.transparency.faults import TransparencyFault
from forelock.transparency.tlog_proofs import TlogProof

RECEIPT = re.compile(r"receipts/([0-9]{12})\.(leaf|tlog-proof)")
BATCHES = "batches.jsonl"
MAX_LEAF = 1 << 16
MAX_PROOF = 1 << 20
MAX_LINE = 1 << 17
MAX_VALUES = 2_000
"""Of one entry: a run in an environment of fifty names has some hundred."""
BATCH_KINDS = ("batch", "batch_voided")
SALT = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Entry:
    """A leaf that is in the log."""

    index: int
    kind: str
    body: dict[str, Any]
    weight: int = 0
    """Bytes of memory that it takes, from above."""


def names(index: int) -> tuple[str, str]:
    """Return what a leaf and its proof are called in a bundle."""
    return f"receipts/{index:012}.leaf", f"receipts/{index:012}.tlog-proof"


class Receipts:
    """Reads entries and checks each against one checkpoint: its size, root and note."""

    def __init__(self, reader: Reader, note: str, size: int, root: bytes) -> None:
        self._reader, self._note, self._size, self._root = reader, note, size, root

    def single(self) -> Iterator[Entry]:
        """Yield every entry that has a proof file of its own, one at a time in the log's order.

        Raises:
            Broken: a leaf or its proof is not what its format says.
            Unproven: a leaf is not in the log where its proof says.
        """
        indexes = sorted(
            {int(match[1]) for name in self._reader.members if (match := RECEIPT.fullmatch(name))}
        )
        for index in indexes:
            yield self._single(index)

    def _single(self, index: int) -> Entry:
        leaf_name, proof_name = names(index)
        leaf = self._reader.read(leaf_name, MAX_LEAF)
        proof = TlogProof.parse(self._reader.read(proof_name, MAX_PROOF))
        # One checkpoint for all entries: its signature is checked once, and every path has to lead to its root.
        if (proof.index, proof.checkpoint, proof.extra) != (index, self._note, None):
            raise Broken(f"{proof_name} is of another entry, or of another checkpoint than the bundle's")
        self._require_included(index, leaf, proof.hashes)
        return _entry(index, leaf, leaf_name)

    def batches(self) -> Iterator[Entry]:
        """Yield the entries of batches and their voids, one at a time: there may be very many."""
        before = -1
        for number, line in enumerate(self._reader.lines(BATCHES, MAX_LINE), 1):
            where = f"line {number} of {BATCHES}"
            receipt = canonical.read(line, where, most=MAX_VALUES)
            index, leaf, path = _line(receipt, where)
            # In strict order, so that no entry counts twice.
            if index <= before:
                raise Broken(f"{where} is not in the log's order")
            before = index
            self._require_included(index, leaf, path)
            entry = _entry(index, leaf, where)
            if entry.kind not in BATCH_KINDS:
                raise Broken(f"{where} is the entry of no batch")
            yield entry

    def _require_included(self, index: int, leaf: bytes, path: tuple[bytes, ...]) -> None:
        """Refuse a leaf whose path does not lead to the checkpoint's root (RFC 9162, 2.1.3.2)."""
        hashed = merkle.leaf_hash(leaf)
        try:
            merkle.verify_inclusion(index=index, size=self._size, leaf=hashed, proof=path, root=self._root)
        except TransparencyFault as fault:
            raise type(fault)(f"entry {index} of the log: {fault}") from None


def _line(receipt: Any, where: str) -> tuple[int, bytes, tuple[bytes, ...]]:
    """Index, leaf and path of one line of the batches' entries."""
    if not isinstance(receipt, dict) or set(receipt) != {"index", "leaf", "proof"}:
        raise Broken(f"{where} is not an entry with its proof")
    index, leaf, path = receipt["index"], receipt["leaf"], receipt["proof"]
    hashes: list[Any] = path if isinstance(path, list) and len(path) < 64 else [None]
    if type(index) is not int or not 0 <= index <= MAX_SIZE or not isinstance(leaf, str):
        raise Broken(f"{where} is not an entry with its proof")
    if not all(isinstance(digest, str) for digest in hashes):
        raise Broken(f"{where} is not an entry with its proof")
    decoded = tuple(base64_bytes(digest, "a hash", length=merkle.HASH_BYTES) for digest in hashes)
    return index, leaf.encode(errors="replace"), decoded


def _entry(index: int, leaf: bytes, where: str) -> Entry:
    """Return the entry of the ledger that a leaf's text says.

    Raises:
        Broken: it is not the canonical text of an event of version 1.
    """
    entry = canonical.read(leaf, where, most=MAX_VALUES)
    if not isinstance(entry, dict) or set(entry) != {"version", "kind", "body", "salt"}:
        raise Broken(f"{where} is not an entry of a ledger")
    kind, body, salt = entry["kind"], entry["body"], entry["salt"]
    if entry["version"] != 1 or not isinstance(kind, str) or not isinstance(body, dict):
        raise Broken(f"{where} is of a version that this program does not know")
    if not isinstance(salt, str) or not SALT.fullmatch(salt):
        raise Broken(f"{where} has no salt")
    return Entry(index, kind, body, 4 * len(leaf) + 200 * count_values(leaf, MAX_VALUES))
