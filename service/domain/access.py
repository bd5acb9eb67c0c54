"""Who may do what: projects, API keys, view-only links, and what the text of a key or a link looks like."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
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

Visibility = Literal["private", "link", "public"]
"""Who may read a record besides the keys of its project: nobody, who has a view-only link, everybody."""

LINK_LASTS = timedelta(days=90)
"""A view-only link that names no end."""
LINK_LASTS_AT_MOST = timedelta(days=366)

SECRET_BYTES = 32
PREFIX_LENGTH = 12

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_MARK = "flk_"
_LINK_MARK = "flv_"
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
        None,
        description="Id of the key that made it, which knew its secret; for somebody who signs in by a "
        "provider their key before it. Null for the first one.",
    )

    def valid(self, now: datetime) -> bool:
        """Tell whether the key is neither revoked nor expired: it ends at `expires_at`, not after it."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def allows(self, scope: Scope) -> bool:
        """Tell whether the key carries the scope itself: scopes do not imply one another."""
        return scope in self.scopes


class Grant(StrictRecord):
    """What the members of one group of a sign-in provider may do in one project."""

    group: Annotated[str, Field(min_length=1, max_length=255)]
    project: Annotated[str, Field(min_length=1, max_length=200, description="The project's name.")]
    scopes: Annotated[tuple[Scope, ...], Field(min_length=1)]


def grant_scopes(grants: Iterable[Grant], groups: Collection[str]) -> dict[str, tuple[Scope, ...]]:
    """Return the scopes by project of somebody who is in these groups, in the order of the grants.

    What several groups give in one project adds up. A project without `read` is none that one can look at.

    Example:
        >>> granted([Grant(group="a", project="p", scopes=("read",))], ["a", "b"])
        {'p': ('read',)}
    """
    scopes: dict[str, set[Scope]] = {}
    for grant in grants:
        if grant.group in groups:
            scopes.setdefault(grant.project, set()).update(grant.scopes)
    return {
        project: tuple(scope for scope in SCOPES if scope in given)
        for project, given in scopes.items()
        if "read" in given
    }


class ViewLink(StrictRecord):
    """A view-only link to one record as it is remembered: everything but its token."""

    id: str
    preregistration_id: str
    name: str = Field(description="Whom it is for. Whoever reads by it does not see this.")
    anonymous: bool = Field(
        description="For peer review: neither the project nor the log's name is told to whoever reads by it."
    )
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None

    def valid(self, now: datetime) -> bool:
        """Tell whether the key was neither revoked nor has expired."""
        return self.revoked_at is None and now < self.expires_at


def new_secret(randomness: bytes) -> str:
    """Return the text of a key made from 32 random bytes: `flk_`, 43 base-62 digits, 6 of checksum."""
    return _new(_MARK, randomness)


def parse_secret(text: str) -> bool:
    """Tell whether the text has the form of a key; a typing error or a cut key is seen without a look-up."""
    return _has_form(_MARK, text)


def new_token(randomness: bytes) -> str:
    """Return the text of a view-only link, in the same form: `flv_` instead of `flk_`."""
    return _new(_LINK_MARK, randomness)


def parse_token(text: str) -> bool:
    """Tell whether the text has the form of a view-only link."""
    return _has_form(_LINK_MARK, text)


def secret_prefix(secret: str) -> str:
    """Return the part of a key that lists may show."""
    return secret[:PREFIX_LENGTH]


def secret_sha256(secret: str) -> str:
    """Return what is kept of a key. Keys are random, so a plain hash is enough."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _new(mark: str, randomness: bytes) -> str:
    if len(randomness) != SECRET_BYTES:
        raise ValueError(f"a key is made from {SECRET_BYTES} random bytes, not {len(randomness)}")
    body = _base62(int.from_bytes(randomness, "big"), _BODY)
    return f"{mark}{body}{_checksum(mark, body)}"


def _has_form(mark: str, text: str) -> bool:
    body, check = text[len(mark) : -_CHECK], text[-_CHECK:]
    return (
        text.startswith(mark)
        and len(body) == _BODY
        and all(character in _ALPHABET for character in body)
        and check == _checksum(mark, body)
    )


def _checksum(mark: str, body: str) -> str:
    return _base62(zlib.crc32(f"{mark}{body}".encode()), _CHECK)


def _base62(number: int, width: int) -> str:
    digits = []
    for _ in range(width):
        number, digit = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))
