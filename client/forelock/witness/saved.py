"""Stamps as `forelock stamps save` leaves them: each beside its checkpoint, and the proof of a leaf in that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography.x509 import Certificate

from forelock.transparency.faults import TransparencyFault
from forelock.transparency.notes import VerifierKey
from forelock.transparency.tlog_proofs import TlogProof
from forelock.witness.checking import verify
from forelock.witness.found import KINDS, MAX_STAMP_BYTES, Found, Kind, Stamp, WitnessFault

CHECKPOINT, PROOF = ".checkpoint", ".tlog-proof"
MAX_FILE_BYTES = 2_000_000
MOST_STAMPS = 1_000


@dataclass(frozen=True, slots=True)
class Checked:
    """What one saved stamp comes to."""

    name: str
    sequence: int | None
    """Of the leaf that its checkpoint holds; null where that does not hold."""
    found: Found | None
    fault: str | None


def check_saved(
    directory: Path,
    leaves: Mapping[int, bytes],
    keys: Sequence[VerifierKey],
    roots: Sequence[Certificate] = (),
    headers: Sequence[bytes] = (),
) -> list[Checked]:
    """Every stamp in a directory, by name.

    Args:
        directory: where `forelock stamps save` put them.
        leaves: RFC 6962 leaf hashes of the record's entries by their sequence: those that a stamp may be of.
        keys: verifier keys that may sign for the log.
        roots: of time stamp authorities, as for `forelock.witness.verify`.
        headers: of Bitcoin blocks, likewise.

    Raises:
        WitnessFault: the directory cannot be read, or holds more than stamps of a record.
    """
    try:
        paths = sorted(path for path in directory.iterdir() if path.suffix in {".tsr", ".ots"})
    except OSError as error:
        raise WitnessFault(f"the stamps in {directory} cannot be read: {error.strerror}") from error
    if len(paths) > MOST_STAMPS:
        raise WitnessFault(f"there are more than {MOST_STAMPS} stamps in {directory}")
    return [_checked(path, leaves, keys, roots, headers) for path in paths]


def _checked(
    path: Path,
    leaves: Mapping[int, bytes],
    keys: Iterable[VerifierKey],
    roots: Sequence[Certificate],
    headers: Sequence[bytes],
) -> Checked:
    sequence = None
    try:
        proof = TlogProof.parse(_bytes(path.with_suffix(PROOF), MAX_FILE_BYTES))
        proof.verify(_leaf(leaves, proof.index), keys)
        sequence = proof.index
        found = verify(
            Stamp(_kind(path), _bytes(path, MAX_STAMP_BYTES)), proof.checkpoint.encode(), roots, headers
        )
    except (WitnessFault, TransparencyFault) as fault:
        return Checked(path.name, sequence, None, str(fault))
    return Checked(path.name, sequence, found, None)


def _leaf(leaves: Mapping[int, bytes], sequence: int) -> bytes:
    if sequence not in leaves:
        raise WitnessFault("its proof is of an entry that is not this record's")
    return leaves[sequence]


def _kind(path: Path) -> Kind:
    return next(kind for kind in KINDS if Stamp(kind, b"").suffix == path.suffix)


def _bytes(path: Path, limit: int) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise WitnessFault(f"{path.name} cannot be read: {error.strerror}") from error
    if len(data) > limit:
        raise WitnessFault(f"{path.name} has more than {limit} bytes")
    return data
