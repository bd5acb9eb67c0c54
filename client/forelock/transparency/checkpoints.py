"""Checkpoints (C2SP tlog-checkpoint): a log's name, size and root, as the text of a signed note."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from forelock.transparency.encoding import MAX_SIZE, base64_bytes, base64_text, decimal
from forelock.transparency.faults import Malformed, Unproven
from forelock.transparency.merkle import EMPTY_ROOT, HASH_BYTES
from forelock.transparency.notes import Note, Signer, VerifierKey, open_note, sign


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a log says of itself at one size: its origin, size and root hash."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.origin or any(not line or "\n" in line for line in (self.origin, *self.extensions)):
            raise Malformed("a checkpoint has an empty line")
        if not 0 <= self.size <= MAX_SIZE:
            raise Malformed(f"a tree has no size of {self.size}")
        if len(self.root) != HASH_BYTES:
            raise Malformed(f"a root has {HASH_BYTES} bytes, not {len(self.root)}")
        if self.size == 0 and self.root != EMPTY_ROOT:
            raise Malformed("a tree without leaves has another root")

    @property
    def text(self) -> str:
        """What is signed: a line each for origin, size and root, and the extensions."""
        lines = (self.origin, str(self.size), base64_text(self.root), *self.extensions)
        return "".join(f"{line}\n" for line in lines)

    @classmethod
    def parse(cls, text: str) -> Checkpoint:
        """Return the checkpoint of a note's text.

        Raises:
            Malformed: missing or empty lines, a size with leading zeros, a root that is not base64 of 32 bytes.
        """
        if not text.endswith("\n"):
            raise Malformed("a checkpoint does not end with a newline")
        origin, *rest = text[:-1].split("\n")
        if len(rest) < 2:
            raise Malformed("a checkpoint has three lines at least")
        size, root, *extensions = rest
        hashed = base64_bytes(root, "the root", length=HASH_BYTES)
        return cls(origin, decimal(size, "the tree size"), hashed, tuple(extensions))

    def sign(self, *signers: Signer) -> str:
        """Return the signed note of this checkpoint."""
        return sign(self.text, *signers)


def read_checkpoint(note: bytes | str) -> Checkpoint:
    """Return what a note claims; whether anybody signed it is not asked.

    Raises:
        Malformed: it is not a checkpoint.
    """
    return Checkpoint.parse(Note.parse(note).text)


def open_checkpoint(
    note: bytes | str, keys: Iterable[VerifierKey], *, origin: str | None = None
) -> Checkpoint:
    """Return the checkpoint of a note that a known key signed.

    Args:
        note: the signed note.
        keys: those that are trusted to sign for the log.
        origin: the log it has to be of; None takes any that the keys sign for.

    Raises:
        Malformed: it is not a checkpoint.
        Unproven: no known key signed it, or it is of another log.
    """
    checkpoint = Checkpoint.parse(open_note(note, keys).text)
    if origin is not None and checkpoint.origin != origin:
        raise Unproven("the checkpoint is of another log")
    return checkpoint
