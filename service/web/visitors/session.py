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
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from service.domain.access import Key

COOKIE = "forelock_session"
LIFETIME = timedelta(hours=12)
MAX_LENGTH = 1000

Sign = Callable[[str, bytes], str]
"""Keyed hash of a message under a purpose: `Keyring.fingerprint`."""


class Session(NamedTuple):
    """Whose session it is."""

    project_id: str
    key_id: str
    ends_at: datetime
    cookie_sha256: str
    """By which it is known when it was signed out of."""


def issue(sign: Sign, key: Key, now: datetime) -> str:
    """The cookie of a key's new session."""
    ends = int((now + LIFETIME).timestamp())
    own = secrets.token_hex(8)  # two sessions of one key do not end together
    content = json.dumps([key.project_id, key.id, ends, own], separators=(",", ":")).encode()
    return f"{base64.urlsafe_b64encode(content).decode()}.{_signature(sign, content)}"


def read(sign: Sign, cookie: str | None, now: datetime) -> Session | None:
    """The session of a cookie that we signed and that has not ended."""
    if cookie is None or len(cookie) > MAX_LENGTH or not cookie.isascii():
        return None
    encoded, _, signature = cookie.partition(".")
    try:
        content = base64.urlsafe_b64decode(encoded)
    except ValueError:
        return None
    if not hmac.compare_digest(signature, _signature(sign, content)):
        return None
    project_id, key_id, ends, *_own = json.loads(content)
    if now.timestamp() >= ends:
        return None
    ends_at = datetime.fromtimestamp(ends, UTC)
    return Session(project_id, key_id, ends_at, hashlib.sha256(content).hexdigest())


def _signature(sign: Sign, content: bytes) -> str:
    return sign("browser session", content)
