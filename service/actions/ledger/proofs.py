"""Proofs over the ledger, each verified against a signed root before it is given out.

They show hashes only. The leaves behind them are salted, and belong to who may read the record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from forelock.transparency import merkle
from forelock.transparency.checkpoints import Checkpoint, read_checkpoint
from forelock.transparency.faults import TransparencyFault
from forelock.transparency.tlog_proofs import TlogProof
from service.domain.ledger import Receipt
from service.errors import InvalidData, NotFound
from service.store.database import integrity
from service.store.ledger import checkpoints, ledger, ledger_tree
from service.store.ledger.checkpoints import StoredCheckpoint

MOST_LEAVES = 1000
"""Leaf hashes on one page."""
BROKEN = (TransparencyFault,)


@dataclass(frozen=True, slots=True)
class Inclusion:
    """That the leaf at `index` is in the log of `size` leaves with this root: the hashes from its sibling upward."""

    index: int
    size: int
    leaf: bytes
    root: bytes
    hashes: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Consistency:
    """That the log of `second` leaves begins with the log of `first`: the hashes of RFC 9162, section 2.1.4."""

    first: int
    second: int
    hashes: tuple[bytes, ...]


def read_latest(session: Session) -> StoredCheckpoint:
    """Read the newest signed checkpoint.

    Raises:
        NotFound: nothing is signed yet.
    """
    checkpoint = checkpoints.read_latest(session)
    if checkpoint is None:
        raise NotFound("the ledger has no signed checkpoint yet: it gets one with the first lock")
    return checkpoint


def prove(session: Session, receipts: Sequence[Receipt]) -> list[Receipt]:
    """Add to every receipt the first checkpoint that holds its leaf, and the proof.

    A receipt whose leaf no checkpoint holds yet is returned as it is.
    """
    return [_prove(session, receipt) for receipt in receipts]


def prove_inclusion(session: Session, index: int, size: int | None) -> Inclusion:
    """Prove that leaf `index` is in the log of `size` leaves; without a size, in the one of the newest checkpoint.

    Raises:
        NotFound: nothing of that size is signed, or it has no such leaf.
        RecordAltered: what is stored proves nothing.
    """
    size, root = _read_signed_root(session, size)
    if index >= size:
        raise NotFound(f"the signed log of {size} leaves has no leaf {index}")
    return _verify_inclusion(session, index, size, root)


def find_index(session: Session, leaf_sha256: str) -> int:
    """Find the index of the leaf with this RFC 6962 hash.

    Raises:
        NotFound: there is none.
    """
    index = ledger_tree.find_index(session, leaf_sha256)
    if index is None:
        raise NotFound("the ledger has no leaf of that hash")
    return index


def prove_consistency(session: Session, first: int, second: int | None) -> Consistency:
    """Prove that the log of `second` leaves begins with that of `first`; without `second`, the newest signed log.

    Raises:
        InvalidData: the sizes are not in order.
        NotFound: nothing of the second size is signed.
        RecordAltered: what is stored proves nothing.
    """
    second, root = _read_signed_root(session, second)
    if first > second:
        raise InvalidData.field(
            "query.from", f"is larger than {second}", "ask from the smaller size to the larger"
        )
    hashes = ledger_tree.prove_consistency(session, first, second)
    earlier = ledger_tree.read_root(session, first)
    _require_grown(first, earlier, second, root, hashes)
    return Consistency(first, second, tuple(hashes))


def list_leaves(session: Session, start: int, limit: int) -> list[str]:
    """List at most `limit` leaf hashes from `start` on, as far as the log is signed."""
    return ledger.read_leaf_hashes(session, start, min(start + limit, read_latest(session).size))


def _prove(session: Session, receipt: Receipt) -> Receipt:
    """Add checkpoint and inclusion proof to a receipt, verified once; unchanged before a checkpoint covers it."""
    recent_proofs, key = integrity.get_known(session).proofs, (receipt.sequence, receipt.leaf_sha256)
    proof = recent_proofs.get(key)
    if proof is None:
        stored = checkpoints.find_covering(session, receipt.sequence)
        if stored is None:
            return receipt
        checkpoint = _read_checkpoint(stored)
        # Verified once, then remembered by sequence and hash: a receipt that was altered since has another key.
        inclusion = _verify_inclusion(session, receipt.sequence, checkpoint.size, checkpoint.root)
        holds = inclusion.leaf.hex() == receipt.leaf_sha256
        integrity.require("ledger entry", str(receipt.sequence), holds=holds)
        proof = stored.note, str(TlogProof(inclusion.index, inclusion.hashes, stored.note))
        recent_proofs.add(key, proof, 1)
    return receipt.model_copy(update={"checkpoint": proof[0], "proof": proof[1]})


def _verify_inclusion(session: Session, index: int, size: int, root: bytes) -> Inclusion:
    leaf = bytes.fromhex(ledger.read_leaf_hashes(session, index, index + 1)[0])
    hashes = ledger_tree.prove_inclusion(session, index, size)
    with integrity.reading("ledger proof", str(index), BROKEN):
        merkle.verify_inclusion(index=index, size=size, leaf=leaf, proof=hashes, root=root)
    return Inclusion(index, size, leaf, root, tuple(hashes))


def _read_signed_root(session: Session, size: int | None) -> tuple[int, bytes]:
    """Return size and root of the log at a size, once its growth into the newest checkpoint is verified."""
    newest = _read_checkpoint(read_latest(session))
    if size is None or size == newest.size:
        return newest.size, newest.root
    if size > newest.size:
        raise NotFound(f"the ledger is signed up to {newest.size} leaves: ask for no more")
    root = ledger_tree.read_root(session, size)
    _require_grown(
        size, root, newest.size, newest.root, ledger_tree.prove_consistency(session, size, newest.size)
    )
    return size, root


def _require_grown(first: int, root1: bytes, second: int, root2: bytes, hashes: Sequence[bytes]) -> None:
    with integrity.reading("ledger proof", f"{first} to {second}", BROKEN):
        merkle.verify_consistency(size1=first, root1=root1, size2=second, root2=root2, proof=hashes)


def _read_checkpoint(stored: StoredCheckpoint) -> Checkpoint:
    with integrity.reading("checkpoint", str(stored.size), BROKEN):
        checkpoint = read_checkpoint(stored.note)
    integrity.require("checkpoint", str(stored.size), holds=checkpoint.size == stored.size)
    return checkpoint
