"""Changing who signs the ledger: a new key under the same name, or a new name after an older database was restored.

Either is a leaf of the log, signed by both sides, so that whoever trusts the one before can go on.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from forelock.transparency.checkpoints import Checkpoint, open_checkpoint, read_checkpoint
from forelock.transparency.faults import TransparencyFault
from forelock.transparency.handovers import Handover, Lost
from forelock.transparency.notes import Signer as NoteSigner
from service.actions.ledger.signer import CheckpointRefused, SignedCheckpoint, Signer
from service.domain.ledger import Kind
from service.errors import Conflict, InvalidData
from service.keyring.keyring import SigningKeyFile
from service.keyring.signer_state import Remembered
from service.store.database import clock
from service.store.ledger import ledger, ledger_signers, ledger_tree


def rotate(signer: Signer, keys: SigningKeyFile) -> SignedCheckpoint | None:
    """Let a new key sign from here on. A rotation that was interrupted is brought to its end.

    Raises:
        CheckpointRefused: the log does not go on from what was signed.
    """
    signer.establish()
    # The new key is on the disk before the ledger names it: else a crash between the two would leave a log that
    # nobody can sign. It takes the old one's place only once the handover is committed.
    successor = keys.prepare()
    with signer.turn() as turn, turn.write() as session:
        seen = signer.look(session, signer.state.read(), for_update=True)
        after = next(
            key
            for key in signer.list_keys(seen.signer.origin)
            if key.private.private_bytes_raw() == successor
        )
        # Where they are the same an interrupted rotation has appended its leaf already.
        if str(after.verifier) != seen.signer.vkey:
            handover = Handover(
                seen.by.verifier, after.verifier, size=seen.checkpoint.size, root=seen.checkpoint.root
            )
            _append_handover(session, "key_rotation", handover, handover.sign(seen.by, after))
    signer.step("rotated")
    keys.take_over()
    return signer.checkpoint()


def resume(signer: Signer, *, origin: str, reason: str, known: str | None) -> SignedCheckpoint | None:
    """Go on under another name from the log as it is, on record as not being the one that was signed.

    Args:
        signer: whose state, if it is there, tells how far the lost log was.
        origin: the new name.
        reason: what happened.
        known: the note of a checkpoint of the lost log that somebody kept, or None.

    Raises:
        Conflict: nothing is lost.
        InvalidData: the checkpoint is not of this deployment, or the name was used before.
    """
    remembered = signer.state.read()
    if known is not None:
        remembered = max(
            filter(None, (remembered, _open(signer, known))), key=lambda candidate: candidate.checkpoint.size
        )
    with signer.turn() as turn, turn.write() as session:
        head = ledger.read_head(session, for_update=True)
        lost = _find_lost(signer, session, remembered)
        signers = ledger_signers.read_all(session)
        if origin in {lost.checkpoint.origin, *(signer.origin for signer in signers)}:
            raise InvalidData.field("origin", "is the name of a log before this one", "choose another")
        before, after = _same_key(signer, lost, origin)
        handover = Handover(
            before.verifier,
            after.verifier,
            size=head.size,
            root=head.root(),
            reason=reason,
            lost=Lost(lost.checkpoint.size, lost.checkpoint.root, lost.note),
        )
        if not signers:  # the restored database never had a log that was signed
            ledger_signers.add(
                session,
                origin=before.name,
                vkey=str(before.verifier),
                sequence=None,
                now=clock.read_now(session),
            )
        _append_handover(session, "resumption", handover, handover.sign(before, after))
    signer.step("resumed")
    return signer.checkpoint()


def _append_handover(session: Session, kind: Kind, handover: Handover, note: str) -> None:
    """Append the handover as a leaf of the log, and make its key the one that signs from there on."""
    moment = clock.read_moment(session)
    receipt = ledger.append(session, None, kind, {"note": note}, moment)
    ledger_signers.add(
        session,
        origin=handover.after.name,
        vkey=str(handover.after),
        sequence=receipt.sequence,
        now=moment.now,
    )


def _find_lost(signer: Signer, session: Session, remembered: Remembered | None) -> Remembered:
    """Return the newest checkpoint that the log here does not go on from.

    Raises:
        Conflict: with code `nothing_lost`, where none is known or the log does go on from it.
        CheckpointRefused: the log holds that checkpoint, so something else is amiss.
    """
    if remembered is None:
        raise Conflict(
            "nothing here remembers another log: name a checkpoint that was kept with --checkpoint FILE",
            code="nothing_lost",
        )
    try:
        signer.look(session, remembered)
    except CheckpointRefused:
        if _holds(session, remembered.checkpoint):
            raise
        return remembered
    raise Conflict("the log goes on from what was signed: there is nothing to resume", code="nothing_lost")


def _holds(session: Session, before: Checkpoint) -> bool:
    """Tell whether the log begins with the one that the checkpoint was signed for, and so has lost nothing of it."""
    if before.size > ledger.read_head(session).size:
        return False
    return ledger_tree.read_root(session, before.size) == before.root


def _same_key(signer: Signer, lost: Remembered, origin: str) -> tuple[NoteSigner, NoteSigner]:
    """Return the key that signed the lost checkpoint, under the lost name and under the new one.

    Raises:
        CheckpointRefused: none of the keys here signed it.
    """
    name = lost.checkpoint.origin
    for before, after in zip(signer.list_keys(name), signer.list_keys(origin), strict=True):
        try:
            open_checkpoint(lost.note, [before.verifier], origin=name)
        except TransparencyFault:
            continue
        return before, after
    raise CheckpointRefused(
        "the signing key here did not sign the lost log: bring keys/signing.key from where it was signed, or its backup"
    )


def _open(signer: Signer, known: str) -> Remembered:
    """Open the note of a checkpoint that somebody kept.

    Raises:
        InvalidData: it is no such note, or no key that is here signed it.
    """
    try:
        name = read_checkpoint(known).origin
        keys = [key.verifier for key in signer.list_keys(name)]
        return Remembered(known, open_checkpoint(known, keys))
    except TransparencyFault as fault:
        raise InvalidData.field(
            "checkpoint", str(fault), "give one that this deployment's key signed"
        ) from fault
