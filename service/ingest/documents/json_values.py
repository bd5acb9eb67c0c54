"""JSON values: read by msgspec, and by the standard library what it refuses (NaN, 1e999, half of a surrogate pair).

What both read they read alike, and one that tells what is wrong is enough. msgspec passes over members that nobody
asked for without making them, which are most of a sample.
"""

from __future__ import annotations

import codecs
import json
import types
import typing
from collections.abc import Collection, Mapping
from mmap import mmap
from typing import Any

import msgspec

from service.ingest.documents.limits import unreadable

Buffer = bytes | mmap
_ANY = msgspec.json.Decoder().decode
_UTF8 = codecs.getincrementaldecoder("utf-8")
_PIECE = 1024 * 1024
_REFUSED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class Members:
    """Which members of an object are read."""

    def __init__(
        self, names: Collection[str], *, only: bool = False, of: Mapping[str, Any] | None = None
    ) -> None:
        """Without `only`, an object that is small enough has its other members as well.

        `of` says what members hold that are objects themselves: a shape, or a mapping to shapes.
        """
        self.names = frozenset(names)
        fields = {**dict.fromkeys(names, Any), **(of or {})}
        self.shape: Any = typing.cast("Any", typing.TypedDict)("Members", fields, total=False)
        raw = typing.cast("Any", typing.TypedDict)("Raw", dict.fromkeys(self.names, msgspec.Raw), total=False)
        self._slices = msgspec.json.Decoder(raw).decode
        read: Any = self.shape if only else dict[str, Any]
        self._one = msgspec.json.Decoder(read).decode
        self._run = msgspec.json.Decoder(types.GenericAlias(list, (read,))).decode

    def of(self, piece: Buffer) -> dict[str, Any] | None:
        """Return an object's members; None where msgspec does not read it, or it is none."""
        try:
            if type(piece) is not bytes or not piece.isascii():
                _require_utf8(piece)
            members: dict[str, Any] = self._one(piece)
        except _REFUSED:
            return None
        return members

    def slices_of(self, piece: memoryview) -> dict[str, memoryview] | None:
        """Return the members of an object that is too large to be read at once, as they are written."""
        try:
            _require_utf8(piece)
            return {name: memoryview(raw) for name, raw in self._slices(piece).items()}
        except _REFUSED:
            return None

    def of_run(self, piece: bytes) -> list[dict[str, Any]] | None:
        """Return the members of objects with commas between them; None also where the piece is not whole objects."""
        try:
            if not piece.isascii():
                _require_utf8(piece)
            members: list[dict[str, Any]] = self._run(b"[%b]" % piece)
        except _REFUSED:
            return None
        return members


def loads(piece: Buffer, where: str) -> Any:
    """Return one slice as a value; NaN stays NaN, and `where` is all that a fault tells."""
    try:
        return _ANY(piece)
    except _REFUSED:
        pass
    try:
        return json.loads(str(piece[:], "utf-8"))
    except UnicodeDecodeError:
        fault = "is not UTF-8"
    except RecursionError:
        fault = "is nested too deeply"
    except json.JSONDecodeError:
        fault = "is not JSON, or is cut off"
    except ValueError:
        fault = "holds a number of too many digits"
    raise unreadable(where, fault)


def refuse_twice(line: bytes, where: str) -> None:
    """Refuse an object that names a key twice, at any depth: readers would take either of its values."""

    def unique(pairs: list[tuple[str, Any]]) -> None:
        if len({name for name, _ in pairs}) != len(pairs):
            raise unreadable(where, "names a key twice")

    try:
        json.loads(line, object_pairs_hook=unique)
    except (ValueError, RecursionError):
        raise unreadable(where, "is not JSON that is read everywhere") from None


def _require_utf8(piece: Buffer | memoryview) -> None:
    """Refuse text that is not UTF-8, also where it is passed over."""
    decoder = _UTF8()
    for start in range(0, len(piece), _PIECE):
        decoder.decode(piece[start : start + _PIECE])
    decoder.decode(b"", final=True)
