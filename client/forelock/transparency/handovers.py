"""How a log's key or name changes: a statement that the signer before and the one after both sign.

It is the text of a signed note, one line of JSON, and stands in a leaf of the log. A rotation keeps the log's name and
changes its key. A resumption opens a new name after an older copy of the log was restored, and tells what was lost.
The name of a verifier key is the name (origin) of the log that it signs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from forelock.transparency.encoding import MAX_SIZE, base64_bytes, base64_text
from forelock.transparency.faults import Malformed, Unproven
from forelock.transparency.merkle import HASH_BYTES
from forelock.transparency.notes import Note, Signer, VerifierKey, open_note, sign

ROTATION, RESUMPTION = "forelock/key_rotation@v1", "forelock/resumption@v1"
MAX_REASON = 1000


@dataclass(frozen=True, slots=True)
class Lost:
    """How far the log is known to have been before it was restored, and who signed that."""

    size: int
    root: bytes
    checkpoint: str
    """The signed note."""

    def __post_init__(self) -> None:
        _require_tree(self.size, self.root)
        if not isinstance(self.checkpoint, str):
            raise Malformed("what was lost is shown by no checkpoint")


@dataclass(frozen=True, slots=True)
class Handover:
    """Who signed a log, who signs it from here on, and, when the log was resumed, what was lost."""

    before: VerifierKey
    after: VerifierKey
    size: int
    """Leaves of the log before this one."""
    root: bytes
    """Of those leaves."""
    lost: Lost | None = None
    reason: str | None = None
    """Of a resumption."""

    def __post_init__(self) -> None:
        _require_tree(self.size, self.root)
        if self.is_resumption:
            if self.after.name == self.before.name or not 0 < len(self.reason or "") <= MAX_REASON:
                raise Malformed("a resumption has another name, and a reason")
        elif self.after.name != self.before.name or self.after == self.before or self.lost is not None:
            raise Malformed("a rotation keeps the log's name and changes its key")

    @property
    def is_resumption(self) -> bool:
        """The log was restored from an older copy; otherwise its key was rotated."""
        return self.reason is not None

    @property
    def text(self) -> str:
        """What is signed: one line of JSON with sorted members, ASCII, without blanks."""
        document: dict[str, Any] = {
            "type": RESUMPTION if self.is_resumption else ROTATION,
            "before": str(self.before),
            "after": str(self.after),
            "size": self.size,
            "root": base64_text(self.root),
        }
        if self.is_resumption:
            document |= {"reason": self.reason, "lost": None}
        if self.lost is not None:
            lost = {"size": self.lost.size, "root": base64_text(self.lost.root)}
            document["lost"] = lost | {"checkpoint": self.lost.checkpoint}
        return json.dumps(document, sort_keys=True, separators=(",", ":")) + "\n"

    def sign(self, before: Signer | None, after: Signer) -> str:
        """Return the signed note. `before` signs a rotation; where the key stayed, `after` is the same key."""
        return sign(self.text, *((after,) if before is None else (before, after)))

    @classmethod
    def parse(cls, text: str) -> Handover:
        """Return the handover of a note's text.

        Raises:
            Malformed: it is none, or is not written in its one spelling.
        """
        try:
            document = json.loads(text)
            lost = document.get("lost")
            read = cls(
                before=VerifierKey.parse(document["before"]),
                after=VerifierKey.parse(document["after"]),
                size=document["size"],
                root=base64_bytes(document["root"], "the root", length=HASH_BYTES),
                reason=document.get("reason"),
                lost=None
                if lost is None
                else Lost(lost["size"], base64_bytes(lost["root"], "the lost root"), lost["checkpoint"]),
            )
            same = read.text == text
        except Malformed:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise Malformed("the text is not a handover of a log") from None
        if not same:
            raise Malformed("the text is not a handover of a log in its one spelling")
        return read


def _require_tree(size: int, root: bytes) -> None:
    if type(size) is not int or not 0 <= size <= MAX_SIZE or len(root) != HASH_BYTES:
        raise Malformed("a handover names no tree")


def read_handover(note: bytes | str) -> Handover:
    """Return what a note claims; whether anybody signed it is not asked.

    Raises:
        Malformed: it is not a handover.
    """
    return Handover.parse(Note.parse(note).text)


def open_handover(note: bytes | str) -> Handover:
    """Return the handover of a note, which both keys that it names have signed.

    Whether the one before is trusted, and whether the leaf is in the log, is for the caller to check.

    Raises:
        Malformed: it is not a handover.
        Unproven: a signature is missing or does not hold.
    """
    handover = read_handover(note)
    signers = open_note(note, (handover.before, handover.after)).signers
    if set(signers) != {handover.before, handover.after}:
        raise Unproven("the handover is not signed by both keys")
    return handover


def follow(trusted: VerifierKey, notes: Iterable[bytes | str]) -> list[Handover]:
    """Return the handovers from a trusted key on, in the log's order; those before it are passed over.

    Example:
        `[trusted, *(each.after for each in follow(trusted, notes))]` are the keys that may have signed a checkpoint.

    Raises:
        Malformed: a note is not a handover.
        Unproven: one does not go on from the key before it, or a signature does not hold.
    """
    followed: list[Handover] = []
    current = trusted
    for note in notes:
        claimed = read_handover(note)
        if claimed.before != current:
            if followed:
                raise Unproven("a handover does not go on from the key before it")
            continue
        followed.append(open_handover(note))
        current = claimed.after
    return followed
