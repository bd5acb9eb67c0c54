"""From `Authorization: Bearer KEY` to the key's record, remembered for a few seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock

from service.domain.access import Key, parse_secret, secret_sha256
from service.errors import Unauthorized
from service.store.database.engine import Database
from service.store.projects import keys
from service.words import message

MAX_CACHED = 10_000
"""Keys that one process remembers; at one more it forgets all and reads anew."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A key, and the time of the monotonic clock at which it was read."""

    key: Key
    read_at: float


class KeyCache:
    """Keys by the hash of their secret.

    A revoked key works for `seconds` at most; an expired one not at all. Unknown secrets are not
    remembered: their checksum keeps noise away from the database.
    """

    def __init__(
        self,
        database: Database,
        seconds: float,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._database = database
        self._seconds = seconds
        self._monotonic = monotonic
        self._now = now
        self._entries: dict[str, _Entry] = {}
        self._used: dict[str, datetime] = {}
        self._lock = Lock()

    def find_cached(self, header: str | None) -> Key | None:
        """Find the key of the header if it was read a moment ago; None where the database has to be asked.

        Raises:
            Unauthorized: the header holds no secret, or the key has ended.
        """
        secret = _parse_header(header)
        entry = self._entries.get(secret_sha256(secret))
        if entry is None or self._monotonic() - entry.read_at >= self._seconds:
            _require_form(secret)
            return None
        return self._require_valid(entry.key)

    def look_up(self, header: str | None) -> Key:
        """Read the key of the header from the database, and remember it.

        Raises:
            Unauthorized: the header holds no secret, the key is unknown, or it has ended.
        """
        secret = _parse_header(header)
        _require_form(secret)
        digest, read_at = secret_sha256(secret), self._monotonic()
        with self._database.read() as session:
            key = keys.find_by_secret(session, digest)
        if key is None:
            raise Unauthorized(message("refusals.key_unknown"))
        self._require_valid(key)
        with self._lock:
            if len(self._entries) >= MAX_CACHED:
                self._entries.clear()
            self._entries[digest] = _Entry(key, read_at)
        return key

    def forget(self, key_id: str) -> None:
        """Drop a key that was revoked here, so that this process refuses it at once."""
        with self._lock:
            self._entries = {
                digest: entry for digest, entry in self._entries.items() if entry.key.id != key_id
            }

    def write_last_use(self) -> None:
        """Write when keys were last used; called once in a while, beside requests, which do not wait for it."""
        with self._lock:
            used, self._used = self._used, {}
        if used:
            with self._database.write() as session:
                for key_id, moment in used.items():
                    keys.touch(session, key_id, moment)

    def _require_valid(self, key: Key) -> Key:
        """Return the key and note its use; refuse one that was revoked or has expired."""
        now = self._now()
        if not key.valid(now):
            ended = "revoked" if key.revoked_at is not None else "expired"
            raise Unauthorized(message(f"refusals.key_{ended}"))
        self._used[key.id] = now
        return key


def _parse_header(header: str | None) -> str:
    """Parse the secret out of the header `Authorization`.

    Raises:
        Unauthorized: there is no such header, or it is of another form.
    """
    if header is None:
        raise Unauthorized("this needs an API key; send the header Authorization: Bearer KEY")
    scheme, _, secret = header.partition(" ")
    if scheme.lower() != "bearer" or not secret:
        raise Unauthorized("the Authorization header is not of the form: Bearer KEY")
    return secret.strip()


def _require_form(secret: str) -> None:
    """Refuse a mistyped or cut secret before anything is looked up."""
    if not parse_secret(secret):
        raise Unauthorized(message("refusals.key_mistyped"))
