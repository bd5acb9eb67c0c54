"""The one signer of the ledger: signs committed trees, and none that does not go on from what it signed before.

A checkpoint is made in steps: take the turn, read what is committed, compare it with what was signed last, sign, put
the note on the disk outside of the database, store it, give it out. Each step can be repeated, so a process that dies
between any two of them leaves nothing that the next one could not go on from.
"""

from __future__ import annotations

import base64
import logging
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy.orm import Session

from forelock.transparency import merkle, notes
from forelock.transparency.checkpoints import Checkpoint, open_checkpoint
from forelock.transparency.faults import TransparencyFault
from forelock.transparency.handovers import Handover, follow, read_handover
from service.errors import ForelockError, RecordAltered
from service.keyring.signer_state import Remembered, SignerState, SignerStateError
from service.store.database import clock
from service.store.database.engine import Database
from service.store.ledger import checkpoints, ledger, ledger_signers, ledger_tree, signing
from service.store.ledger.checkpoints import StoredCheckpoint
from service.store.ledger.ledger_signers import LogSigner
from service.store.ledger.signing import Turn

log = logging.getLogger("forelock.ledger")

STEPS = ("taken", "read", "signed", "written", "kept", "stored", "committed")
"""What happens between a commit and its checkpoint, in this order."""
RESUME = "find out why; after an older database was restored on purpose, run `forelock ledger resume`"


class CheckpointRefused(ForelockError):
    """The log is not what was signed before, so nothing is signed."""

    status, code, title = 503, "ledger_refused", "The ledger's checkpoint is refused"


@dataclass(frozen=True, slots=True)
class SignedCheckpoint:
    """A checkpoint that is signed and stored, so that it may be given out."""

    size: int
    note: str
    """The signed note (C2SP tlog-checkpoint)."""

    @property
    def header(self) -> str:
        """The note as base64, for one line of a header."""
        return base64.b64encode(self.note.encode()).decode()


@dataclass(frozen=True, slots=True)
class ComparedLog:
    """The log as it is committed, compared with what was signed before."""

    signer: LogSigner
    by: notes.Signer
    remembered: Remembered | None
    checkpoint: Checkpoint
    note: str
    """The checkpoint as it is signed: the same for the same tree, whoever signs it."""
    stored: StoredCheckpoint | None


def draw_origin() -> str:
    """Draw a name at random that no other log has."""
    return f"forelock/{secrets.token_hex(8)}"


class Signer:
    """Signs checkpoints of the ledger, one at a time."""

    def __init__(
        self,
        database: Database,
        keys: Callable[[], Sequence[bytes]],
        state: SignerState,
        *,
        origin: str | None = None,
        step: Callable[[str], object] = lambda _name: None,
    ) -> None:
        """`keys` reads the private keys that are there, `origin` names a new log, `step` is called after every step."""
        self.database, self.state, self.step = database, state, step
        self._keys, self._origin = keys, origin
        # Threads of this process wait here, not for the lock of the disk: the first signs for all that wait behind it.
        self._guard = Lock()
        self._latest: SignedCheckpoint | None = None
        self._private: notes.Signer | None = None
        self._last_refusal: str | None = None
        # What `explain_refusal` compared last and accepted: the note that was signed, leaves, and signers.
        self._compared: tuple[str, int, int] | None = None

    def checkpoint(self, covers: int | None = None) -> SignedCheckpoint | None:
        """Sign a checkpoint of at least `covers` leaves, or of all that is committed; None while there is no leaf.

        Take no lock and hold no session when calling it: it waits for its turn, and whoever has the turn reads and
        writes the database.

        Raises:
            CheckpointRefused: the log does not go on from what was signed.
            SignerStateError: what was signed cannot be read.
        """
        if (known := self._find_covering(covers)) is not None:
            return known
        with self._guard:
            # Asked again under the guard: whoever was before us has signed what we wait for, as a rule.
            if (known := self._find_covering(covers)) is not None:
                return known
            try:
                self._latest = self._sign()
            except (CheckpointRefused, SignerStateError) as error:
                self._log_refusal(error.detail)
                raise
            self._last_refusal = None
            return self._latest

    def explain_refusal(self) -> str | None:
        """Explain why nothing would be signed now; None when it would. Nothing is signed or stored."""
        try:
            remembered = self.state.read()
            with self.database.read() as session:
                signers, size = ledger_signers.read_all(session), ledger.read_head(session).size
                if remembered is None and not signers:
                    return None
                comparing = (remembered.note if remembered else "", size, len(signers))
                if comparing != self._compared:
                    self.look(session, remembered)
        except (CheckpointRefused, SignerStateError) as error:
            self._log_refusal(error.detail)
            return error.detail
        self._compared = comparing
        return None

    @contextmanager
    def turn(self, *, flush: bool = True) -> Iterator[Turn]:
        """Hold the right to sign, over every process of this machine and every machine of this database."""
        # The file of the state first, then the database's lock: everybody takes them in this order.
        with self.state.alone(), signing.take_turn(self.database, flush=flush) as turn:
            yield turn

    def look(
        self, session: Session, remembered: Remembered | None, *, for_update: bool = False
    ) -> ComparedLog:
        """Compare the committed log with what was signed before, and return it if it may be signed.

        Raises:
            CheckpointRefused: it is not the log that was signed, or the key is not its key.
        """
        signers = ledger_signers.read_all(session)
        if not signers:
            raise CheckpointRefused(f"this database has no log that was ever signed, and one was: {RESUME}")
        by = self.find_private_key(signers[-1])
        stored = checkpoints.read_latest(session)
        if remembered is None and stored is not None:
            remembered = self._adopt(stored, signers)
        head = ledger.read_head(session, for_update=for_update)
        checkpoint = Checkpoint(by.name, head.size, head.root())
        if remembered is not None:
            self._require_grown(session, self._find_base(session, remembered.checkpoint, signers), checkpoint)
        note = checkpoint.sign(by)
        # Ed25519 is deterministic: one signer makes one note of one tree, so another note of this size was altered.
        is_same_size = stored is not None and (stored.size, stored.signer) == (
            checkpoint.size,
            signers[-1].number,
        )
        if stored is not None and is_same_size and stored.note != note:
            raise CheckpointRefused(
                f"the stored checkpoint of {stored.size} is not the one that was signed: {RESUME}"
            )
        return ComparedLog(signers[-1], by, remembered, checkpoint, note, stored)

    def find_private_key(self, signer: LogSigner) -> notes.Signer:
        """Find the private key of a signer among those that are here.

        Raises:
            CheckpointRefused: it is on another machine, or in a backup.
        """
        if self._private is None or str(self._private.verifier) != signer.vkey:
            self._private = next(
                (key for key in self.list_keys(signer.origin) if str(key.verifier) == signer.vkey), None
            )
        if self._private is None:
            raise CheckpointRefused(
                f"the signing key here is not that of the ledger, {signer.vkey}: bring keys/signing.key from the "
                "machine where it was rotated, or from its backup"
            )
        return self._private

    def list_keys(self, origin: str) -> list[notes.Signer]:
        """List the private keys that are here, as signers of a log of that name."""
        return [notes.Signer(origin, Ed25519PrivateKey.from_private_bytes(key)) for key in self._keys()]

    def establish(self) -> None:
        """Give the log a name and a key, once; committed before anything is signed under them."""
        with self.database.read() as session:
            if ledger_signers.read_all(session):
                return
        if self.state.read() is not None:
            return
        with self.turn() as turn, turn.write() as session:
            if not ledger_signers.read_all(session):
                key = self.list_keys(self._origin or draw_origin())[0]
                ledger_signers.add(
                    session,
                    origin=key.name,
                    vkey=str(key.verifier),
                    sequence=None,
                    now=clock.read_now(session),
                )

    def _find_covering(self, covers: int | None) -> SignedCheckpoint | None:
        """Return the checkpoint that was signed last, if it holds `covers` leaves."""
        known = self._latest
        return known if covers is not None and known is not None and known.size >= covers else None

    def _sign(self) -> SignedCheckpoint | None:
        """Sign the log as it stands: the state goes to the disk first, then to the database; None for an empty log."""
        if self._latest is None:  # afterwards there is a log, and it has a name
            with self.database.read() as session:
                if ledger.read_head(session).size == 0 and self.state.read() is None:
                    return None
            self.establish()
        # the state is on the disk, and the same note is stored again from it: its row need not be waited for
        with self.turn(flush=False) as turn:
            self.step("taken")
            remembered = self.state.read()
            with turn.read() as session:
                seen = self.look(session, remembered)
            self.step("read")
            self.step("signed")
            # On the disk before it is given out, and before the database has it: a note that somebody holds and the
            # signer has forgotten could be contradicted by the next one.
            if remembered is None or remembered.note != seen.note:
                self.state.keep(seen.note, self.step)
            self.step("kept")
            if unstored := list(_list_unstored(seen)):
                with turn.write() as session:
                    for checkpoint in unstored:
                        checkpoints.insert(session, checkpoint, clock.read_now(session))
            self.step("stored")
        self.step("committed")
        return SignedCheckpoint(seen.checkpoint.size, seen.note)

    def _adopt(self, stored: StoredCheckpoint, signers: Sequence[LogSigner]) -> Remembered:
        """Take the newest stored checkpoint for what was signed last, where nothing is remembered.

        Raises:
            CheckpointRefused: no key of the ledger signed it.
        """
        keys = [notes.VerifierKey.parse(signer.vkey) for signer in signers if signer.number == stored.signer]
        try:
            checkpoint = open_checkpoint(stored.note, keys)
        except TransparencyFault as fault:
            raise CheckpointRefused(
                f"the newest stored checkpoint cannot be used: {fault}; {RESUME}"
            ) from fault
        log.warning("the signer's state is not here; it begins with the stored checkpoint of %s", stored.size)
        return Remembered(stored.note, checkpoint)

    def _find_base(self, session: Session, before: Checkpoint, signers: Sequence[LogSigner]) -> Checkpoint:
        """Find what the log has to go on from: what was signed, or where it was resumed after that was lost.

        A resumption counts when keys lead from it to the one here: whoever has only the database cannot make one.
        """
        last = signers[-1]
        if before.origin == last.origin:
            return before
        leaves = [
            ledger.read_leaf(session, signer.sequence) for signer in signers if signer.sequence is not None
        ]
        bodies = [ledger.parse_body(leaf)["note"] for leaf in leaves]
        for number, note in enumerate(bodies):
            try:
                resumed = read_handover(note)
                if not resumed.is_resumption or resumed.before.name != before.origin:
                    continue
                chain = follow(resumed.before, bodies[number:])
            except TransparencyFault:
                continue
            if str(chain[-1].after) == last.vkey:
                return _find_surviving(before, resumed)
        raise CheckpointRefused(
            f"the log here is {last.origin}, and the last one signed was {before.origin}: {RESUME}"
        )

    def _require_grown(self, session: Session, before: Checkpoint, now: Checkpoint) -> None:
        """Refuse a log that does not begin with the one that was signed: a rewritten one, or an older database."""
        if now.size < before.size:
            raise CheckpointRefused(
                f"the log has {now.size} leaves, and one of {before.size} was signed: {RESUME}"
            )
        try:
            proof = ledger_tree.prove_consistency(session, before.size, now.size)
            merkle.verify_consistency(
                size1=before.size, root1=before.root, size2=now.size, root2=now.root, proof=proof
            )
        except (TransparencyFault, RecordAltered) as fault:
            raise CheckpointRefused(
                f"the log of {now.size} leaves does not go on from the one of {before.size} that was signed: {RESUME}"
            ) from fault

    def _log_refusal(self, why: str) -> None:
        """Log why nothing is signed, once: probes ask for it every few seconds."""
        if why != self._last_refusal:
            log.error("no checkpoint is signed", extra={"fields": {"why": why}})
        self._last_refusal = why


def _list_unstored(seen: ComparedLog) -> Iterator[StoredCheckpoint]:
    """List what the database does not have: this checkpoint, and before it one that was signed and did not get there.

    Receipts may name that one, and the first checkpoint that holds a leaf stays the first.
    """
    number, stored = seen.signer.number, 0 if seen.stored is None else seen.stored.size
    if seen.remembered is not None:
        before = seen.remembered.checkpoint
        lost = before.origin == seen.by.name and stored < before.size < seen.checkpoint.size
        if lost and before.sign(seen.by) == seen.remembered.note:
            yield StoredCheckpoint(before.size, number, seen.remembered.note)
    if seen.stored is None or (seen.stored.size, seen.stored.signer) != (seen.checkpoint.size, number):
        yield StoredCheckpoint(seen.checkpoint.size, number, seen.note)


def _find_surviving(before: Checkpoint, resumed: Handover) -> Checkpoint:
    """Return the part of a lost log that a resumption left standing: all of it, or what the new log began with."""
    if before.size <= resumed.size:
        return before
    return Checkpoint(resumed.after.name, resumed.size, resumed.root)
