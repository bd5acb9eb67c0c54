"""Sealing: rows that nobody can read before the verdict, and the keys they are sealed to.

Every seal is HPKE (RFC 9180, base mode): a fresh key per message, so no nonce is ever reused,
and an `info` that binds what the message belongs to. Opening it elsewhere fails.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from numpy.typing import NDArray

from service.domain.canonical import canonical
from service.errors import ForelockError

SALT_BYTES = 16
ROW_BYTES = 17  # value 8, status 1, observed_at 8
NOT_OBSERVED = np.iinfo(np.int64).min
"""Stands for "no time given": the column is always there, so its absence shows nowhere."""

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)


class SealBroken(ForelockError):
    """Sealed bytes do not open: another key, another place, or changed bytes."""

    code, title = "seal_broken", "Sealed rows cannot be opened"


@dataclass(frozen=True, slots=True)
class SecretRows:
    """The columns of a batch that hold outcomes, each of shape (n,).

    `values` is NaN where there is none, `statuses` 0 ok, 1 error, 2 missing, `observed_at`
    microseconds since 1970 UTC or `NOT_OBSERVED`; `None` when no row has a time.
    """

    values: NDArray[np.float64]
    statuses: NDArray[np.uint8]
    observed_at: NDArray[np.int64] | None = None

    def to_bytes(self) -> bytes:
        """Fixed width, one column after the other, little endian: the length tells the row count only."""
        return bytes(self.with_salt(b""))

    def with_salt(self, salt: bytes) -> bytearray:
        """The salt and then the columns of `to_bytes`: what is sealed, written once, where it is sealed from."""
        n = len(self.values)
        if len(self.statuses) != n or (self.observed_at is not None and len(self.observed_at) != n):
            raise ValueError("the secret columns of a batch differ in length")
        sealed = bytearray(len(salt) + n * ROW_BYTES)
        sealed[: len(salt)] = salt
        values = np.frombuffer(sealed, "<f8", n, len(salt))
        values[:] = self.values
        values[np.isnan(values)] = np.nan  # one NaN, without a payload
        np.frombuffer(sealed, "u1", n, len(salt) + 8 * n)[:] = self.statuses
        times = np.frombuffer(sealed, "<i8", n, len(salt) + 9 * n)
        times[:] = NOT_OBSERVED if self.observed_at is None else self.observed_at
        return sealed

    @classmethod
    def from_bytes(cls, data: bytes) -> SecretRows:
        """The inverse of `to_bytes`."""
        n, rest = divmod(len(data), ROW_BYTES)
        if rest:
            raise SealBroken("the opened block is not a whole number of rows")
        times = np.frombuffer(data, "<i8", n, 9 * n).astype(np.int64)
        return cls(
            values=np.frombuffer(data, "<f8", n).astype(np.float64),
            statuses=np.frombuffer(data, "u1", n, 8 * n).astype(np.uint8),
            observed_at=None if bool(np.all(times == NOT_OBSERVED)) else times,
        )


@dataclass(frozen=True, slots=True)
class BatchFacts:
    """What everybody may know of a batch; its seal holds in this place only.

    `positions` is int32 and `replicates` uint16, little endian, one per row.
    """

    preregistration_id: str
    plan_sha256: str
    sequence: int
    population: str
    arm: str
    endpoint: str
    run: str | None
    positions: bytes
    replicates: bytes

    def info(self) -> bytes:
        """The associated data of the seal."""
        return canonical(
            {
                "purpose": "forelock/rows/1",
                "preregistration_id": self.preregistration_id,
                "plan_sha256": self.plan_sha256,
                "sequence": self.sequence,
                "population": self.population,
                "arm": self.arm,
                "endpoint": self.endpoint,
                "run": self.run,
                "positions_sha256": hashlib.sha256(self.positions).hexdigest(),
                "replicates_sha256": hashlib.sha256(self.replicates).hexdigest(),
            }
        )


@dataclass(frozen=True, slots=True)
class SealedRows:
    """A sealed batch, and the commitment that anyone can check once its salt is known."""

    ciphertext: bytes
    commitment_sha256: str


def new_keypair() -> tuple[bytes, bytes]:
    """A fresh X25519 pair: public and private half, 32 bytes each."""
    private = X25519PrivateKey.generate()
    return private.public_key().public_bytes_raw(), private.private_bytes_raw()


def public_half(private: bytes) -> bytes:
    """The public key that belongs to a private one."""
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def key_info(preregistration_id: str, plan_sha256: str) -> bytes:
    """Associated data of a plan's wrapped private key."""
    return canonical(
        {
            "purpose": "forelock/plan-key/1",
            "preregistration_id": preregistration_id,
            "plan_sha256": plan_sha256,
        }
    )


def wrap_key(private: bytes, to_public: bytes, info: bytes) -> bytes:
    """A private key sealed to the runner's public key."""
    return _seal(private, to_public, info)


def unwrap_key(wrapped: bytes, with_private: bytes, info: bytes) -> bytes:
    """The private key that `wrap_key` sealed."""
    return _open(wrapped, with_private, info)


def seal_rows(plan_public: bytes, rows: SecretRows, salt: bytes, facts: BatchFacts) -> SealedRows:
    """Seal a batch's outcomes to its plan's public key. The salt goes inside, and nowhere else."""
    if len(salt) != SALT_BYTES:
        raise ValueError(f"a salt has {SALT_BYTES} bytes, not {len(salt)}")
    n = len(rows.values)
    if (len(facts.positions), len(facts.replicates)) != (4 * n, 2 * n):
        raise ValueError("positions or replicates do not have one entry per row")
    plain = rows.with_salt(salt)
    return SealedRows(
        ciphertext=_seal(plain, plan_public, facts.info()),
        commitment_sha256=_commitment(salt, facts, memoryview(plain)[SALT_BYTES:]),
    )


def open_rows(plan_private: bytes, ciphertext: bytes, facts: BatchFacts) -> tuple[SecretRows, bytes]:
    """The outcomes of a sealed batch and its salt."""
    plain = _open(ciphertext, plan_private, facts.info())
    return SecretRows.from_bytes(plain[SALT_BYTES:]), plain[:SALT_BYTES]


IMPORT_BYTES = 4096
"""Length of what is sealed of an import, whatever it says."""


def import_info(preregistration_id: str, plan_sha256: str, number: int) -> bytes:
    """Associated data of the sealed part of an import."""
    return canonical(
        {
            "purpose": "forelock/import/1",
            "preregistration_id": preregistration_id,
            "plan_sha256": plan_sha256,
            "number": number,
        }
    )


def seal_import(plan_public: bytes, facts: Mapping[str, object], info: bytes) -> bytes:
    """What an import's file was and held, sealed at one length: its counts are outcomes."""
    plain = canonical(facts)
    if len(plain) > IMPORT_BYTES:
        raise ValueError("the facts of an import are longer than what is sealed of one")
    return _seal(plain.ljust(IMPORT_BYTES), plan_public, info)


def open_import(plan_private: bytes, ciphertext: bytes, info: bytes) -> dict[str, Any]:
    """The inverse of `seal_import`."""
    found: dict[str, Any] = json.loads(_open(ciphertext, plan_private, info))
    return found


def commitment_sha256(salt: bytes, facts: BatchFacts, rows: SecretRows) -> str:
    """SHA-256 over the salt, the public columns and the secret columns, as stored with the batch."""
    return _commitment(salt, facts, rows.to_bytes())


def _commitment(salt: bytes, facts: BatchFacts, secret: bytes | memoryview) -> str:
    digest = hashlib.sha256(salt)
    for column in (facts.positions, facts.replicates, secret):
        digest.update(column)
    return digest.hexdigest()


def _seal(plaintext: bytes | bytearray, public: bytes, info: bytes) -> bytes:
    return _SUITE.encrypt(plaintext, X25519PublicKey.from_public_bytes(public), info=info)


def _open(ciphertext: bytes, private: bytes, info: bytes) -> bytes:
    try:
        return _SUITE.decrypt(ciphertext, X25519PrivateKey.from_private_bytes(private), info=info)
    except InvalidTag:
        raise SealBroken("the sealed bytes do not open with this key in this place") from None
