"""What `forelock ledger` does: how far the ledger is signed and by whom, a new key, a new name after a restore."""

from __future__ import annotations

from pathlib import Path

from service.actions.ledger import handovers
from service.actions.ledger.signer import Signer, draw_origin
from service.errors import InvalidData
from service.keyring.keyring import SigningKeyFile
from service.keyring.signer_state import SignerStateError
from service.store.ledger import checkpoints, ledger, ledger_signers


def rotate(signer: Signer, key_file: Path) -> None:
    """Let a new key sign from here on."""
    handovers.rotate(signer, SigningKeyFile(key_file))


def resume(signer: Signer, origin: str | None, reason: str | None, known: str | None) -> None:
    """Go on from an older database that was restored, under another name."""
    if not reason:
        raise InvalidData(
            "say what happened with --reason: it becomes part of the ledger, where anybody can read it"
        )
    handovers.resume(signer, origin=origin or draw_origin(), reason=reason, known=known)


def status(signer: Signer) -> tuple[str, bool]:
    """Tell who signs, how far, what the signer remembers; and whether it would sign now."""
    with signer.database.read() as session:
        signers = ledger_signers.read_all(session)
        head, stored = ledger.read_head(session), checkpoints.read_latest(session)
    lines = [f"leaves      {head.size}", f"signed      {0 if stored is None else stored.size}"]
    try:
        remembered = signer.state.read()
        message = (
            "nothing"
            if remembered is None
            else f"{remembered.checkpoint.size} of {remembered.checkpoint.origin}"
        )
    except SignerStateError as error:
        message = error.detail
    lines.append(f"remembered  {message} ({signer.state.path})")
    lines += [
        f"signer {signer.number:<4} {signer.vkey}"
        + ("" if signer.sequence is None else f" by leaf {signer.sequence}")
        for signer in signers
    ]
    refused = signer.explain_refusal()
    lines.append("whole       yes" if refused is None else f"whole       no: {refused}")
    return "\n".join(lines) + "\n", refused is None
