"""A log with its keys: who may sign for it, and whether a checkpoint that somebody kept leads to a newer one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from forelock.transparency import merkle
from forelock.transparency.checkpoints import Checkpoint, open_checkpoint, read_checkpoint
from forelock.transparency.faults import Malformed, TransparencyFault, Unproven
from forelock.transparency.handovers import Handover, follow
from forelock.transparency.notes import VerifierKey

MAX_KEYS = 1_000
Prove = Callable[[int, int], Sequence[bytes] | None]
"""Asks somebody who need not be trusted how a log of one size leads to one of another."""


@dataclass(frozen=True, slots=True)
class Log:
    """A log with its keys, which follow from one another, and one checkpoint of it that the last key signed."""

    keys: tuple[VerifierKey, ...]
    handovers: tuple[Handover, ...]
    checkpoint: Checkpoint

    def checkpoint_of(self, note: bytes | str) -> Checkpoint:
        """Return a checkpoint of this log, under whichever of its names and keys.

        Raises:
            TransparencyFault: it is none.
        """
        name = read_checkpoint(note).origin
        named = [key for key in self.keys if key.name == name]
        if not named:
            raise Unproven(f"it is of another log, {name}")
        return open_checkpoint(note, named, origin=name)

    def lost(self, old: Checkpoint) -> Handover | None:
        """Return the resumption that gave up what a checkpoint covers, if one did."""
        for handover in self.handovers:
            if handover.is_resumption and handover.before.name == old.origin and old.size > handover.size:
                return handover
        return None

    def require_kept(self, note: bytes | str) -> Checkpoint:
        """Return a checkpoint that somebody kept of this log, signed by one of its keys, of which nothing was given up.

        Raises:
            TransparencyFault: another key or nobody signed it, it is of another log, or entries of it were given up.
        """
        kept = self.checkpoint_of(note)
        lost = self.lost(kept)
        if lost is not None:
            raise Unproven(
                f"the log was begun anew from entry {lost.size}, and entries up to {kept.size} that this checkpoint "
                f"covers were given up: {lost.reason}"
            )
        return kept


def open_chain(
    keys: Sequence[str], notes: Sequence[str]
) -> tuple[tuple[VerifierKey, ...], tuple[Handover, ...]]:
    """Return the keys of a log, oldest first, and the handover between each two.

    Raises:
        TransparencyFault: a key or a handover does not hold, or the handovers lead to other keys.
    """
    if not keys or len(keys) > MAX_KEYS:
        raise Malformed(f"a log has a key, and {MAX_KEYS} at most")
    chain = tuple(VerifierKey.parse(key) for key in keys)
    followed = tuple(follow(chain[0], notes))
    if (chain[0], *(handover.after for handover in followed)) != chain or len(followed) != len(notes):
        raise Unproven("the keys of the log are not those that its handovers lead to")
    return chain, followed


def open_newest(
    note: str, keys: Sequence[str], notes: Sequence[str], trusted: Sequence[VerifierKey] = ()
) -> Log:
    """Return the log of a checkpoint, as far as the last of its keys that signed it.

    Args:
        note: the checkpoint.
        keys: the log's, oldest first, as somebody tells who need not be trusted.
        notes: the handovers between them.
        trusted: keys of which one has to be among those that lead to the signer; none: any are taken.

    Raises:
        TransparencyFault: no key signed it, or none that is trusted leads to the one that did.
    """
    named, followed = open_chain(keys, notes)
    origin = read_checkpoint(note).origin
    # From the newest key: a note may carry signatures of several, and all handovers up to the last of them are needed.
    for place in reversed(range(len(named))):
        if named[place].name != origin:
            continue
        try:
            checkpoint = open_checkpoint(note, [named[place]], origin=origin)
        except TransparencyFault:
            continue
        # A key that is trusted vouches for those after it, by its handovers; never for those before.
        if trusted and not set(trusted) & set(named[: place + 1]):
            raise Unproven(f"none of the keys that you trust leads to the key that signed it, {named[place]}")
        return Log(named[: place + 1], followed[:place], checkpoint)
    raise Unproven("none of the log's keys signed it")


def require_grown(log: Log, kept: bytes | str, prove: Prove) -> Checkpoint:
    """Return the checkpoint that somebody kept, after showing that the log's own one goes on from it.

    Its signature binds the key: one of the log's keys has made it, so that the keys behind that one follow from it.

    Raises:
        TransparencyFault: the kept one is of another log, of another key or unsigned; or nothing shows that the log
            goes on from it.
    """
    old, new = log.require_kept(kept), log.checkpoint
    path = prove(old.size, new.size) if 0 < old.size < new.size else ()
    if path is None:
        raise Unproven(f"nothing shows that the log of {new.size} entries goes on from its {old.size}")
    merkle.verify_consistency(size1=old.size, root1=old.root, size2=new.size, root2=new.root, proof=path)
    return old
