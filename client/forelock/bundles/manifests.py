"""Lists of items, which may be longer than anything else in a bundle: read as they come, and never held."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from forelock.bundles.container import Reader
from forelock.bundles.faults import Broken

COLUMNS = (b"clusters", b"content_sha256", b"item_ids", b"strata")
MAX_STRING = 1 << 14
"""Bytes of an id as it is written: 512 characters at most, with escapes."""
PIECE = 1 << 18
_STRING = rb'"(?:[^"\\\x00-\x1f]++|\\["\\bfnrt]|\\u00[01][0-9a-f])*+"'
# Not possessive: CPython before 3.11.5, as in Debian 12, ends such a repeat within its last, broken turn (gh-106052).
_FOLLOWED = re.compile(rb"(?:" + _STRING + rb",)*")
_LAST = re.compile(_STRING + rb"(?=\])")


def count_items(reader: Reader, name: str) -> int:
    """Return how many items a list has: RFC 8785 text of an object with columns of strings, all of one length.

    Raises:
        Broken: it is of another form or spelling.
    """
    text = _Text(reader.pieces(name, PIECE), name)
    counts: dict[bytes, int] = {}
    before = b"{"
    for column in COLUMNS:
        if text.takes(before + b'"' + column + b'":['):
            counts[column] = text.take_strings()
            before = b","
    if not text.takes(b"}") or not text.ended() or set(counts.values()) != {counts.get(b"item_ids", -1)}:
        raise Broken(f"{name} is not a list of items in the canonical form of RFC 8785")
    return counts[b"item_ids"]


class _Text:
    """A text of which a small part is in memory."""

    def __init__(self, pieces: Iterator[bytes], name: str) -> None:
        self._pieces, self._name, self._buffer = pieces, name, b""

    def takes(self, expected: bytes) -> bool:
        """Go past these bytes, if they come next."""
        while len(self._buffer) < len(expected) and self._fill():
            pass
        if not self._buffer.startswith(expected):
            return False
        self._buffer = self._buffer[len(expected) :]
        return True

    def take_strings(self) -> int:
        """Go past the strings of an array and its end; returns how many there were."""
        count = 0
        if self.takes(b"]"):
            return 0
        while True:
            followed = _FOLLOWED.match(self._buffer)
            if followed is not None and followed.end():
                count += self._require_canonical(self._buffer[: followed.end() - 1])
                self._buffer = self._buffer[followed.end() :]
            last = _LAST.match(self._buffer)
            if last is not None:
                count += self._require_canonical(self._buffer[: last.end()])
                self._buffer = self._buffer[last.end() + 1 :]
                return count
            if len(self._buffer) > MAX_STRING or not self._fill():
                raise Broken(f"{self._name} is not a list of items in the canonical form of RFC 8785")

    def ended(self) -> bool:
        """Tell whether the text of the list ends here; reading the end compares the checksum."""
        return not self._buffer and not self._fill()

    def _fill(self) -> bool:
        piece = next(self._pieces, b"")
        self._buffer += piece
        return bool(piece)

    def _require_canonical(self, written: bytes) -> int:
        try:
            text = f"[{written.decode()}]"
            values = json.loads(text)
        except ValueError:
            values, text = [], ""
        if json.dumps(values, ensure_ascii=False, separators=(",", ":")) != text:
            raise Broken(f"{self._name} is not in the canonical form of RFC 8785")
        return len(values)
