"""Proof files (C2SP tlog-proof): where a leaf stands, its inclusion proof, and the checkpoint that holds it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from forelock.transparency import merkle
from forelock.transparency.checkpoints import Checkpoint, open_checkpoint
from forelock.transparency.encoding import MAX_SIZE, base64_bytes, base64_text, decimal
from forelock.transparency.faults import Malformed
from forelock.transparency.notes import MAX_BYTES, VerifierKey

HEADER = "c2sp.org/tlog-proof@v1"
MAX_HASHES = 63
"""Height of the highest tree that can be counted."""
MAX_EXTRA = 65_536


@dataclass(frozen=True, slots=True)
class TlogProof:
    """A proof as it was read or made; `verify` checks it."""

    index: int
    hashes: tuple[bytes, ...]
    checkpoint: str
    extra: bytes | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.index <= MAX_SIZE:
            raise Malformed(f"a log has no leaf {self.index}")
        if len(self.hashes) > MAX_HASHES:
            raise Malformed(f"a proof has more than {MAX_HASHES} hashes")
        if any(len(digest) != merkle.HASH_BYTES for digest in self.hashes):
            raise Malformed(f"a hash has {merkle.HASH_BYTES} bytes")
        if self.extra is not None and not 0 < len(self.extra) <= MAX_EXTRA:
            raise Malformed(f"extra data are 1 to {MAX_EXTRA} bytes, or left out")

    def __str__(self) -> str:
        lines = [HEADER]
        if self.extra is not None:
            lines.append(f"extra {base64_text(self.extra)}")
        lines.append(f"index {self.index}")
        lines.extend(base64_text(digest) for digest in self.hashes)
        return "\n".join([*lines, "", self.checkpoint])

    @classmethod
    def parse(cls, proof: bytes | str) -> TlogProof:
        """Return the parts of a proof that an entry is in a log, from its text.

        Raises:
            Malformed: it is not of the format.
        """
        if len(proof) > MAX_BYTES + 2 * MAX_EXTRA:
            raise Malformed("the proof is too long to be one")
        try:
            text = proof.decode() if isinstance(proof, bytes) else proof
        except UnicodeDecodeError:
            raise Malformed("the proof is not UTF-8") from None
        head, empty, checkpoint = text.partition("\n\n")
        if not empty:
            raise Malformed("the proof has no empty line before its checkpoint")
        header, *lines = head.split("\n")
        if header != HEADER:
            raise Malformed(f"the proof does not begin with {HEADER}")
        extra = None
        if lines and lines[0].startswith("extra "):
            extra = base64_bytes(lines.pop(0).removeprefix("extra "), "the extra data")
        if not lines or not lines[0].startswith("index "):
            raise Malformed("the proof says no index")
        index = decimal(lines.pop(0).removeprefix("index "), "the index")
        hashes = tuple(base64_bytes(line, "a hash", length=merkle.HASH_BYTES) for line in lines)
        return cls(index, hashes, checkpoint, extra)

    def verify(self, leaf: bytes, keys: Iterable[VerifierKey], *, origin: str | None = None) -> Checkpoint:
        """Check the signature of the checkpoint, and that it holds the leaf at the index; returns the checkpoint.

        Args:
            leaf: `merkle.leaf_hash` of the leaf's data.
            keys: those that are trusted to sign for the log.
            origin: the log it has to be of; None takes any that the keys sign for.

        Raises:
            Malformed: the checkpoint is none.
            Unproven: a signature or the inclusion does not hold.
        """
        checkpoint = open_checkpoint(self.checkpoint, keys, origin=origin)
        merkle.verify_inclusion(
            index=self.index, size=checkpoint.size, leaf=leaf, proof=self.hashes, root=checkpoint.root
        )
        return checkpoint
