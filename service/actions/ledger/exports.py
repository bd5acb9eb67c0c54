"""Locks and plans in the formats of others, and what outside witnesses gave for them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from forelock.transparency.checkpoints import read_checkpoint
from forelock.transparency.tlog_proofs import TlogProof
from service.actions.ledger import proofs
from service.actions.ledger.signer import Signer
from service.domain.ledger import Receipt
from service.domain.plans.preregistration import ONCE_LOCKED, Preregistration
from service.errors import Conflict
from service.reports.exports import intoto, prml
from service.store.ledger import ledger, ledger_signers, stamps
from service.store.ledger.stamps import WITNESSED, StoredStamp
from service.store.plans import plans


@dataclass(frozen=True, slots=True)
class StampedLeaf:
    """A leaf of the ledger, and the stamp of a checkpoint whose log holds it."""

    receipt: Receipt
    stamp: StoredStamp
    proof: str
    """Shows that the stamped log holds the leaf, as the text of a C2SP tlog-proof."""


def make_statement(session: Session, record: Preregistration) -> bytes:
    """Make the in-toto Statement of the record's lock, as canonical JSON.

    Raises:
        Conflict: nothing is locked, or the lock has no signed checkpoint yet.
    """
    return intoto.statement(record, _read_lock_receipt(session, record))


def make_envelope(session: Session, record: Preregistration, signer: Signer) -> bytes:
    """Make the Statement of the record's lock in a DSSE envelope, signed with the key that signs the ledger now.

    Raises:
        Conflict: nothing is locked, the lock has no signed checkpoint yet, or the ledger's key is not here.
    """
    return sign_statement(session, make_statement(session, record), signer)


def sign_statement(session: Session, payload: bytes, signer: Signer) -> bytes:
    """Put a statement into a DSSE envelope, signed with the key that signs the ledger now.

    Raises:
        Conflict: that key is not here.
    """
    current = ledger_signers.read_all(session)[-1]
    for key in signer.list_keys(current.origin):
        if str(key.verifier) == current.vkey:
            return intoto.envelope(payload, key)
    raise Conflict("the key that signs the ledger is not here", code="lock_unsigned")


def make_claim(session: Session, record: Preregistration, hypothesis: str | None) -> bytes:
    """Make the PRML manifest of a hypothesis of the locked plan.

    Raises:
        Conflict: nothing is locked, or the lock has no signed checkpoint yet.
        InvalidData: no such hypothesis, or which one is not said.
    """
    receipt = _read_lock_receipt(session, record)
    return prml.claim_of(
        plans.read_all(session, record.id),
        record=record.id,
        created_at=record.created_at,
        hypothesis=hypothesis,
        producer=read_checkpoint(receipt.checkpoint or "").origin,
    )


def list_stamps(session: Session, record: Preregistration) -> list[StampedLeaf]:
    """List what outside witnesses gave for the record's plans and its verdict, in the ledger's order."""
    leaves = []
    for receipt in ledger.read_receipts(session, record.id):
        if receipt.kind not in WITNESSED:
            continue
        for stamp in stamps.read_covering(session, receipt.sequence):
            inclusion = proofs.prove_inclusion(session, receipt.sequence, stamp.checkpoint.size)
            proof = str(TlogProof(inclusion.index, inclusion.hashes, stamp.checkpoint.note))
            leaves.append(StampedLeaf(receipt, stamp, proof))
    return leaves


def _read_lock_receipt(session: Session, record: Preregistration) -> Receipt:
    """Read the receipt of the last lock or amendment, with the first checkpoint that holds it.

    The first one stays the same whatever is signed later, and so do the bytes of what is exported.

    Raises:
        Conflict: nothing is locked, or no checkpoint holds the lock yet.
    """
    record.require(*ONCE_LOCKED, action="exporting the lock")
    newest = ledger.read_entries(session, record.id, "plan_locked", "plan_amended")[-1]
    (receipt,) = proofs.prove(session, [newest.receipt])
    if receipt.checkpoint is None:
        raise Conflict("the lock is in no signed checkpoint yet: ask again in a moment", code="lock_unsigned")
    return receipt
