"""The session of a browser: a signed cookie that names an API key, which is looked up at every request.

Any worker reads any session: nothing is kept of it but the hash of its cookie once it was signed out of, which ends it
wherever the cookie was copied to. A revoked or expired key ends it too.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from service.domain.access import Key

COOKIE = "forelock_session"
LIFETIME = timedelta(hours=12)
MAX_LENGTH = 1000
PURPOSE = "browser session"

Sign = Callable[[str, bytes], str]
"""Keyed hash of a message under a purpose: `Keyring.fingerprint`."""


class Session(NamedTuple):
    """A browser's session: the project and key it is of, and when it ends."""

    project_id: str
    key_id: str
    ends_at: datetime
    cookie_sha256: str
    """By which it is known when it was signed out of."""


def issue(sign: Sign, key: Key, now: datetime) -> str:
    """Return the cookie of a key's new session."""
    ends = int((now + LIFETIME).timestamp())
    own = secrets.token_hex(8)  # two sessions of one key do not end together
    return seal(sign, PURPOSE, [key.project_id, key.id, ends, own])


def read(sign: Sign, cookie: str | None, now: datetime) -> Session | None:
    """Return the session of a cookie that we signed and that has not ended."""
    unsealed = unseal(sign, PURPOSE, cookie)
    if unsealed is None:
        return None
    project_id, key_id, ends, *_own = unsealed.values
    if now.timestamp() >= ends:
        return None
    return Session(project_id, key_id, datetime.fromtimestamp(ends, UTC), unsealed.sha256)


class Unsealed(NamedTuple):
    """What a text of ours says."""

    values: list[Any]
    sha256: str
    """By which this very text is known when it was used up."""


def seal(sign: Sign, purpose: str, values: Sequence[object]) -> str:
    """Values as a text that a browser keeps and cannot change, nor use for another purpose."""
    content = json.dumps(values, separators=(",", ":")).encode()
    return f"{base64.urlsafe_b64encode(content).decode()}.{sign(purpose, content)}"


def unseal(sign: Sign, purpose: str, text: str | None) -> Unsealed | None:
    """Return the values of a text that we signed for this purpose."""
    if text is None or len(text) > MAX_LENGTH or not text.isascii():
        return None
    encoded, _, signature = text.partition(".")
    try:
        content = base64.urlsafe_b64decode(encoded)
    except ValueError:
        return None
    if not hmac.compare_digest(signature, sign(purpose, content)):
        return None
    return Unsealed(json.loads(content), hashlib.sha256(content).hexdigest())
