"""Sealing: a batch in its third shape, whose rows nobody can read before the verdict, and the keys they are sealed to.

Every seal is HPKE (RFC 9180, base mode): a fresh key per message, so no nonce is ever reused,
and an `info` that binds what the message belongs to. Opening it elsewhere fails.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from service.domain.canonical import canonical
from service.domain.results.batches import BatchHead, PlacedBatch
from service.domain.results.secret_rows import SealBroken, SecretRows
from service.errors import RecordAltered

SALT_BYTES = 16

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedBatch:
    """A batch whose outcomes nobody can read before the verdict, with all that everybody may know of it.

    `positions` is int32 and `replicates` uint16, little endian, one per row. The seal is bound to these, to the head,
    to the record, to the plan and to the number of the batch in its record, from 1; the commitment can be checked
    once the salt is known.
    """

    preregistration_id: str
    sequence: int
    head: BatchHead
    n: int
    positions: bytes = field(repr=False)
    replicates: bytes = field(repr=False)
    ciphertext: bytes = field(repr=False)
    commitment_sha256: str

    def leaf(self) -> dict[str, object]:
        """Return what the ledger has of it."""
        return {
            "preregistration_id": self.preregistration_id,
            "batch": self.sequence,
            **self.head.names(),
            "n": self.n,
            "commitment_sha256": self.commitment_sha256,
        }

    def commitment(self, salt: bytes, rows: SecretRows) -> str:
        """Return what `commitment_sha256` has to be, if these are the rows that were sealed."""
        return _commitment(salt, self.positions, self.replicates, rows.to_bytes())


def new_keypair() -> tuple[bytes, bytes]:
    """Return a fresh X25519 pair: public and private half, 32 bytes each."""
    private = X25519PrivateKey.generate()
    return private.public_key().public_bytes_raw(), private.private_bytes_raw()


def public_half(private: bytes) -> bytes:
    """Return the public key that belongs to a private one."""
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def key_info(preregistration_id: str, plan_sha256: str) -> bytes:
    """Return the associated data of a plan's wrapped private key."""
    return canonical(
        {
            "purpose": "forelock/plan-key/1",
            "preregistration_id": preregistration_id,
            "plan_sha256": plan_sha256,
        }
    )


def seal(plaintext: bytes | bytearray, public: bytes, info: bytes) -> bytes:
    """Return the plaintext sealed to a public key, for the one place that `info` names."""
    return _SUITE.encrypt(plaintext, X25519PublicKey.from_public_bytes(public), info=info)


def unseal(ciphertext: bytes, private: bytes, info: bytes) -> bytes:
    """Return the plaintext that `seal` sealed.

    Raises:
        SealBroken: another key, another place, or changed bytes.
    """
    try:
        return _SUITE.decrypt(ciphertext, X25519PrivateKey.from_private_bytes(private), info=info)
    except InvalidTag:
        raise SealBroken("the sealed bytes do not open with this key in this place") from None


def seal_batch(
    batch: PlacedBatch,
    salt: bytes,
    *,
    plan_public: bytes,
    plan_sha256: str,
    preregistration_id: str,
    sequence: int,
) -> SealedBatch:
    """Seal a batch's outcomes to its plan's public key. The salt goes inside, and nowhere else."""
    if len(salt) != SALT_BYTES:
        raise ValueError(f"a salt has {SALT_BYTES} bytes, not {len(salt)}")
    if not len(batch.positions) == len(batch.replicates) == len(batch.rows.values):
        raise ValueError("positions or replicates do not have one entry per row")
    positions = batch.positions.astype("<i4", copy=False).tobytes()
    replicates = batch.replicates.astype("<u2", copy=False).tobytes()
    info = _batch_info(preregistration_id, plan_sha256, sequence, batch.head, positions, replicates)
    plain = batch.rows.with_salt(salt)
    return SealedBatch(
        preregistration_id=preregistration_id,
        sequence=sequence,
        head=batch.head,
        n=batch.n,
        positions=positions,
        replicates=replicates,
        ciphertext=seal(plain, plan_public, info),
        commitment_sha256=_commitment(salt, positions, replicates, memoryview(plain)[SALT_BYTES:]),
    )


def open_batch(sealed: SealedBatch, plan_sha256: str, plan_private: bytes) -> tuple[PlacedBatch, bytes]:
    """Return a sealed batch with its outcomes in the open, and its salt.

    Raises:
        SealBroken: another key, another place, or changed bytes.
        RecordAltered: the rows are not those that the batch was committed to.
    """
    head, positions, replicates = sealed.head, sealed.positions, sealed.replicates
    info = _batch_info(sealed.preregistration_id, plan_sha256, sealed.sequence, head, positions, replicates)
    plain = unseal(sealed.ciphertext, plan_private, info)
    salt, rows = plain[:SALT_BYTES], SecretRows.from_bytes(plain[SALT_BYTES:])
    # The public key lies in the database: whoever can write there can seal other rows, and the ledger tells them apart.
    if _commitment(salt, positions, replicates, rows.to_bytes()) != sealed.commitment_sha256:
        raise RecordAltered("batch", f"{sealed.preregistration_id}/{sealed.sequence}")
    placed = PlacedBatch(
        head,
        positions=np.frombuffer(positions, dtype="<i4"),
        replicates=np.frombuffer(replicates, dtype="<u2"),
        rows=rows,
    )
    return placed, salt


def _batch_info(
    preregistration_id: str,
    plan_sha256: str,
    sequence: int,
    head: BatchHead,
    positions: bytes,
    replicates: bytes,
) -> bytes:
    """Return the associated data of a batch's seal."""
    return canonical(
        {
            "purpose": "forelock/rows/1",
            "preregistration_id": preregistration_id,
            "plan_sha256": plan_sha256,
            "sequence": sequence,
            **head.names(),
            "positions_sha256": hashlib.sha256(positions).hexdigest(),
            "replicates_sha256": hashlib.sha256(replicates).hexdigest(),
        }
    )


def _commitment(salt: bytes, positions: bytes, replicates: bytes, secret: bytes | memoryview) -> str:
    """SHA-256 over the salt, the public columns and the secret columns, as stored with the batch."""
    digest = hashlib.sha256(salt)
    for column in (positions, replicates, secret):
        digest.update(column)
    return digest.hexdigest()


IMPORT_BYTES = 4096
"""Length of what is sealed of an import, whatever it says."""


def import_info(preregistration_id: str, plan_sha256: str, number: int) -> bytes:
    """Return the associated data of the sealed part of an import."""
    return canonical(
        {
            "purpose": "forelock/import/1",
            "preregistration_id": preregistration_id,
            "plan_sha256": plan_sha256,
            "number": number,
        }
    )


def seal_import(plan_public: bytes, facts: Mapping[str, object], info: bytes) -> bytes:
    """Return what an import's file was and held, sealed at one length: its counts are outcomes."""
    plain = canonical(facts)
    if len(plain) > IMPORT_BYTES:
        raise ValueError("the facts of an import are longer than what is sealed of one")
    return seal(plain.ljust(IMPORT_BYTES), plan_public, info)


def open_import(plan_private: bytes, ciphertext: bytes, info: bytes) -> dict[str, Any]:
    """Return the content that `seal_import` sealed, with the plan's private key and the same `info`."""
    content: dict[str, Any] = json.loads(unseal(ciphertext, plan_private, info))
    return content
