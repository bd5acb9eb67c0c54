"""Locks and plans in the formats of others, and what outside witnesses gave for them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from forelock.transparency.checkpoints import read_checkpoint
from forelock.transparency.tlog_proofs import TlogProof
from service.actions.ledger import proofs
from service.actions.ledger.signer import Signer
from service.domain.ledger import Receipt
from service.domain.plans.preregistration import Preregistration
from service.errors import Conflict
from service.reports.exports import intoto, prml
from service.store.ledger import ledger, ledger_signers, stamps
from service.store.ledger.stamps import WITNESSED, StoredStamp
from service.store.plans import plans


@dataclass(frozen=True, slots=True)
class StampedLeaf:
    """A stamp, what it is of, and that it is of a log which holds that."""

    receipt: Receipt
    stamp: StoredStamp
    proof: str


def make_statement(session: Session, record: Preregistration) -> bytes:
    """The in-toto Statement of the record's lock.

    Raises:
        Conflict: nothing is locked, or the lock has no signed checkpoint yet.
    """
    return intoto.statement(record, _read_lock_receipt(session, record))


def make_envelope(session: Session, record: Preregistration, signer: Signer) -> bytes:
    """The same in a DSSE envelope, signed with the key that signs the ledger now.

    Raises:
        Conflict: as above.
    """
    return sign_statement(session, make_statement(session, record), signer)


def sign_statement(session: Session, payload: bytes, signer: Signer) -> bytes:
    """A statement in a DSSE envelope, signed with the key that signs the ledger now.

    Raises:
        Conflict: that key is not here.
    """
    current = ledger_signers.read_all(session)[-1]
    for key in signer.own(current.origin):
        if str(key.verifier) == current.vkey:
            return intoto.envelope(payload, key)
    raise Conflict("the key that signs the ledger is not here", code="lock_unsigned")


def make_claim(session: Session, record: Preregistration, hypothesis: str | None) -> bytes:
    """The PRML manifest of a hypothesis.

    Raises:
        Conflict: nothing is locked, or the lock has no signed checkpoint yet.
        InvalidData: no such hypothesis, or which one is not said.
    """
    receipt = _read_lock_receipt(session, record)
    return prml.claim_of(
        plans.every(session, record.id),
        record=record.id,
        created_at=record.created_at,
        hypothesis=hypothesis,
        producer=read_checkpoint(receipt.checkpoint or "").origin,
    )


def list_stamps(session: Session, record: Preregistration) -> list[StampedLeaf]:
    """What witnesses gave for the record's plans and its verdict, in the ledger's order."""
    stamped_leaves = []
    for receipt in ledger.read_receipts(session, record.id):
        if receipt.kind not in WITNESSED:
            continue
        for stamp in stamps.read_covering(session, receipt.sequence):
            inclusion = proofs.prove_inclusion(session, receipt.sequence, stamp.checkpoint.size)
            proof = str(TlogProof(inclusion.index, inclusion.hashes, stamp.checkpoint.note))
            stamped_leaves.append(StampedLeaf(receipt, stamp, proof))
    return stamped_leaves


def _read_lock_receipt(session: Session, record: Preregistration) -> Receipt:
    """The receipt of the last lock, with the first checkpoint that holds it: it stays the same."""
    record.require("locked", "collecting", "complete", "judged", "withdrawn", action="exporting the lock")
    newest = ledger.read_entries(session, record.id, "plan_locked", "plan_amended")[-1]
    (receipt,) = proofs.prove(session, [newest.receipt])
    if receipt.checkpoint is None:
        raise Conflict("the lock is in no signed checkpoint yet: ask again in a moment", code="lock_unsigned")
    return receipt
