"""What a stamp says, whatever its kind."""

from __future__ import annotations

from collections.abc import Sequence

from cryptography.x509 import Certificate

from forelock.witness import opentimestamps, rfc3161
from forelock.witness.stamp import Stamp, StampResult


def verify(
    stamp: Stamp, checkpoint: bytes, roots: Sequence[Certificate] = (), headers: Sequence[bytes] = ()
) -> StampResult:
    """Return what a stamp of a checkpoint's bytes says, and on whose word. Nothing here uses the network.

    `roots` are certificates of time stamp authorities that the reader trusts (`read_certificates` of a PEM file);
    `headers` are Bitcoin block headers, 80 bytes each, that he got himself.

    Raises:
        WitnessFault: the stamp does not hold; one sentence.
    """
    match stamp.kind:
        case "rfc3161":
            return rfc3161.verify(stamp.data, checkpoint, roots)
        case "opentimestamps":
            return opentimestamps.verify(stamp.data, checkpoint, headers)
