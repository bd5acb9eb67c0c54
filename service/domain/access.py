"""Who may do what: projects, API keys, and what a key's text looks like."""

from __future__ import annotations

import hashlib
import zlib
from datetime import datetime
from typing import Annotated, Literal, get_args

from pydantic import Field

from service.records import StrictRecord

Scope = Literal[
    "tests:run",
    "plans:write",
    "plans:lock",
    "results:write",
    "read",
    "deviations:review",
    "unblind",
    "admin",
    "operator",
]

SCOPES: tuple[Scope, ...] = get_args(Scope)
"""Every scope. `admin` rules one project, `operator` the deployment."""

SECRET_BYTES = 32
PREFIX_LENGTH = 12

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_MARK = "flk_"
_BODY = 43  # 62**43 > 2**256
_CHECK = 6  # 62**6 > 2**32


class Project(StrictRecord):
    """A tenant: owns preregistrations, keys and jobs."""

    id: str
    name: str
    created_at: datetime


class Key(StrictRecord):
    """An API key as it is remembered: everything but its secret."""

    id: str
    project_id: str
    name: str
    kind: Literal["person", "job"] = Field(description="Whom the key names: a person, or an eval job.")
    scopes: Annotated[tuple[Scope, ...], Field(min_length=1)]
    prefix: str = Field(description="First characters of the secret, to recognise it by.")
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    created_by: str | None = Field(
        None, description="Id of the key that made it, which knew its secret; null for the first one."
    )

    def valid(self, now: datetime) -> bool:
        """Neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def allows(self, scope: Scope) -> bool:
        """True when the key carries the scope itself: scopes do not imply one another."""
        return scope in self.scopes


def new_secret(randomness: bytes) -> str:
    """The text of a key made from 32 random bytes: `flk_`, 43 base-62 digits, 6 of checksum."""
    if len(randomness) != SECRET_BYTES:
        raise ValueError(f"a key is made from {SECRET_BYTES} random bytes, not {len(randomness)}")
    body = _base62(int.from_bytes(randomness, "big"), _BODY)
    return f"{_MARK}{body}{_checksum(body)}"


def parse_secret(text: str) -> bool:
    """True when the text has the form of a key; a typing error or a cut key is seen without a look-up."""
    body, check = text[len(_MARK) : -_CHECK], text[-_CHECK:]
    return (
        text.startswith(_MARK)
        and len(body) == _BODY
        and all(character in _ALPHABET for character in body)
        and check == _checksum(body)
    )


def secret_prefix(secret: str) -> str:
    """The part of a key that lists may show."""
    return secret[:PREFIX_LENGTH]


def secret_sha256(secret: str) -> str:
    """What is kept of a key. Keys are random, so a plain hash is enough."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(f"{_MARK}{body}".encode()), _CHECK)


def _base62(number: int, width: int) -> str:
    digits = []
    for _ in range(width):
        number, digit = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))
