"""The session of a browser: a signed cookie that names an API key, which is looked up at every request.

Nothing is kept on the server, so any worker reads any session; a revoked or expired key ends it.
"""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Callable
from datetime import datetime, timedelta
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


def issue(sign: Sign, key: Key, now: datetime) -> str:
    """The cookie of a key's new session."""
    ends = int((now + LIFETIME).timestamp())
    content = json.dumps([key.project_id, key.id, ends], separators=(",", ":")).encode()
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
    project_id, key_id, ends = json.loads(content)
    return Session(project_id, key_id) if now.timestamp() < ends else None


def _signature(sign: Sign, content: bytes) -> str:
    return sign("browser session", content)
