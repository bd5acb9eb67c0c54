r"""JSON documents of any size: what is wanted of them is found by its brackets, and parsed slice by slice.

Streaming parsers that are well kept (ijson) refuse NaN, which every harness in Python writes. A document is a
buffer here, a mapped file as a rule, so that memory holds the slice that is parsed and no more.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.errors import MalformedBody
from service.ingest.documents import limits
from service.ingest.documents.json_values import Buffer, Members, loads
from service.ingest.documents.limits import too_large, unreadable

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_TOKEN = re.compile(_STRING + rb'|["{}\[\]]', re.DOTALL)
_KEY = re.compile(rb"\s*+(" + _STRING + rb")\s*+:\s*+", re.DOTALL)
_SCALAR = re.compile(_STRING + rb"|[^\s,:{}\[\]\"]++", re.DOTALL)
_NEXT = re.compile(rb"\s*+([,}\]])")
_SPACE = re.compile(rb"\s*+")
_BETWEEN = re.compile(r"\s*+([,\]])\s*+")
_DECODER = json.JSONDecoder()
_UTF8 = codecs.getincrementaldecoder("utf-8")
_WINDOW = 1024 * 1024
_RUN = 64 * 1024
"""Elements that are read together have so many bytes or a little more, and fewer than a window."""
_MOST_MISSES = 8
"""After so many cuts that were none, elements of the document are not read together any more."""
_FEW = 2000
"""Brackets and texts of one value that are looked at one by one."""
_DEEPEST = 1000
"""As deep as the parsers go, or nearly."""
_OPENING, _CLOSING = b"{[", b"}]"


def pick(document: Buffer, wanted: Members, where: str) -> dict[str, Any]:
    """Return those members of an object, or all of them where it is small."""
    if len(document) <= limits.IN_MEMORY:
        value = wanted.of(document)
        if value is None:
            value = loads(document, where)
        if not isinstance(value, dict):
            raise unreadable(where, "is not an object")
        return value
    return _pick(document, 0, len(document), wanted, where)


def pick_slice(document: Buffer, start: int, end: int, wanted: Members, where: str) -> dict[str, Any]:
    """Pick from an object that stands somewhere in a document."""
    if end - start <= limits.IN_MEMORY:
        return pick(document[start:end], wanted, where)
    return _pick(document, start, end, wanted, where)


def _pick(document: Buffer, start: int, end: int, wanted: Members, where: str) -> dict[str, Any]:
    slices = wanted.slices_of(memoryview(document)[start:end])
    if slices is not None:
        return {key: loads(_slice(part, 0, len(part), where), where) for key, part in slices.items()}
    return {
        key: loads(_slice(document, begun, ended, where), where)
        for key, begun, ended in members(document, start, where)
        if key in wanted.names
    }


def members(
    document: Buffer, position: int, where: str, *, stop: str | None = None
) -> Iterator[tuple[str, int, int]]:
    """Yield each member of the object at a position: its key, and from where to where its value stands.

    The one named `stop` is the last that is given, and its value is not looked at: it ends where it begins.
    """
    position = begin(document, position, b"{", where)
    if not _is_closed(document, position, b"}"):
        yield from _list_members(document, position, where, stop)


def _list_members(
    document: Buffer, position: int, where: str, stop: str | None = None
) -> Iterator[tuple[str, int, int]]:
    """List the members of an object from a key on: name, start and end of the value; at `stop` it ends."""
    for number in count(1):
        if number > limits.MOST_MEMBERS:
            raise too_large(f"{where} has an object of more members", f"{limits.MOST_MEMBERS:,} in one")
        key = _KEY.match(document, position)
        if key is None:
            raise _cut_off(where)
        name, start = loads(key[1], where), key.end()
        if name == stop:
            yield name, start, start
            return
        end = _end(document, start, where)
        yield name, start, end
        position = _after(document, end, where)
        if document[position - 1] == ord("}"):
            return


def top(document: Buffer, where: str, *, stop: str | None = None) -> Iterator[tuple[str, int, int]]:
    """Yield each member of the object that a document is; refuses one that is cut off, or has more after it.

    With `stop` as `members`: `rest` goes on after it.
    """
    start, end = _space(document, 3 if document[:3] == b"\xef\xbb\xbf" else 0), 0
    name, begun = None, -1
    for name, begun, end in members(document, start, where, stop=stop):
        yield name, begun, end
    if not end:  # it has none
        whole(document, where)
    elif name != stop or begun != end:
        _require_end(document, _after(document, end, where), where)


def rest(document: Buffer, position: int, where: str) -> Iterator[tuple[str, int, int]]:
    """Yield the members of a document after the one whose value ends at a position; refuses what `top` refuses."""
    position = _after(document, position, where)
    if document[position - 1] != ord("}"):
        for member in _list_members(document, position, where):
            yield member
            position = member[2]
        position = _after(document, position, where)
    _require_end(document, position, where)


def _require_end(document: Buffer, position: int, where: str) -> None:
    if _space(document, position) != len(document):
        raise unreadable(where, "has more than one JSON value")


def elements(document: Buffer, position: int, where: str) -> Iterator[tuple[int, int]]:
    """Yield each element of the array at a position: from where to where it stands."""
    position = begin(document, position, b"[", where)
    if _is_closed(document, position, b"]"):
        return
    while True:
        start = _space(document, position)
        end = _end(document, start, where)
        yield start, end
        position = _after(document, end, where)
        if document[position - 1] == ord("]"):
            return


def objects(document: Buffer, position: int, wanted: Members, where: str) -> Iterator[dict[str, Any]]:
    """Return the elements of an array of objects, or those members of them."""
    return iter(Array(document, position, wanted, where))


class Array:
    """An array of objects, of which many are read at a time where they are alike.

    A writer puts the same bytes between all its elements. Where they are found again an element may end; it does
    if what comes before parses as whole elements, since no other cut leaves every bracket and quote closed.
    """

    def __init__(self, document: Buffer, position: int, wanted: Members, where: str) -> None:
        self._document, self._wanted, self._where = document, wanted, where
        self._position, self._number = begin(document, position, b"[", where), 0
        self._text, self._at = "", 0
        self._seam, self._gap, self._misses = b"", 0, 0
        self._singly_until = 0
        self._ended = _is_closed(document, self._position, b"]")
        if self._ended:
            self._position = _space(document, self._position) + 1

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while not self._ended:
            run = self._run()
            if run is None:
                yield self._one()
            else:
                yield from run

    @property
    def position(self) -> int:
        """Where the array ends, once its last element is read."""
        return self._position

    def _run(self) -> list[dict[str, Any]] | None:
        """Return the next elements, if they can be read together."""
        if not self._seam or self._position + self._at < self._singly_until:
            return None
        start = self._position + len(self._text[: self._at].encode())
        cut = self._document.find(self._seam, start + _RUN, start + _WINDOW)
        values = self._wanted.of_run(self._document[start : cut + 1]) if cut >= 0 else None
        if values is None:
            self._misses += cut >= 0
            if self._misses > _MOST_MISSES:
                self._seam = b""
            self._singly_until = cut if cut >= 0 else start + _RUN
            return None
        self._number += len(values)
        self._position, self._text, self._at = cut + self._gap, "", 0
        return values

    def _one(self) -> dict[str, Any]:
        """Return the next element.

        A small one is parsed straight from a window of text; one that does not fit is found by its brackets.
        """
        self._number += 1
        value, end = _parse_value(self._text, self._at)
        if not self._text or (end is None and self._at > 0):
            self._position = _space(self._document, self._position + len(self._text[: self._at].encode()))
            self._text, self._at = _window(self._document, self._position, self._where), 0
            value, end = _parse_value(self._text, 0)
        if end is None:  # longer than a window, or no JSON
            where = f"{self._where}[{self._number}]"
            ended = _end(self._document, self._position, self._where)
            value = pick_slice(self._document, self._position, ended, self._wanted, where)
            self._position, self._text, self._at, end = ended, "", 0, 0
        if not isinstance(value, dict):
            raise unreadable(f"{self._where}[{self._number}]", "is not an object")
        self._pass(end)
        return value

    def _pass(self, end: int) -> None:
        """Go on to what follows the element that ended there in the text."""
        following = _BETWEEN.match(self._text, end)
        if following is None or self._number == 1:
            ended = self._position + len(self._text[:end].encode())
            self._position, self._text, self._at = _after(self._document, ended, self._where), "", 0
            self._ended = self._document[self._position - 1] == ord("]")
            if self._number == 1 and not self._ended:
                self._learn(ended - 1)
        elif following[1] == "]":
            self._position += len(self._text[: following.start(1)].encode()) + 1
            self._ended = True
        else:
            self._at = following.end()

    def _learn(self, closing: int) -> None:
        """What stands from the end of an element to the first key of the next."""
        begun = _space(self._document, self._position)
        key = _KEY.match(self._document, begun + 1)
        if key is not None and self._document[begun : begun + 1] == b"{" and key.end(1) - closing < _RUN:
            self._seam, self._gap = self._document[closing : key.end(1)], begun - closing


def _parse_value(text: str, at: int) -> tuple[Any, int | None]:
    """Return a value of a window and where it ends; None where it cannot be read as far as the window goes."""
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, None


def _window(document: Buffer, position: int, where: str) -> str:
    """Text from a position on; a character that the end cuts is left out."""
    try:
        return _UTF8().decode(document[position : position + _WINDOW])
    except UnicodeDecodeError:
        raise unreadable(where, "is not UTF-8") from None


def whole(document: Buffer, where: str) -> int:
    """Return where a document's only value begins; refuses a document that is cut off, or holds another after it."""
    start = _space(document, 3 if document[:3] == b"\xef\xbb\xbf" else 0)
    if _space(document, _end(document, start, where)) != len(document):
        raise unreadable(where, "has more than one JSON value")
    return start


def begins_object(document: Buffer) -> bool:
    """Tell whether a document begins as an object does."""
    start = _space(document, 3 if document[:3] == b"\xef\xbb\xbf" else 0)
    return document[start : start + 1] == b"{"


def begins_array(document: Buffer) -> bool:
    """Tell whether a document begins as an array does."""
    start = _space(document, 3 if document[:3] == b"\xef\xbb\xbf" else 0)
    return document[start : start + 1] == b"["


def is_one(document: Buffer, where: str) -> bool:
    """Tell whether a document is one value, and not several that follow one another."""
    start = _space(document, 3 if document[:3] == b"\xef\xbb\xbf" else 0)
    return _space(document, _end(document, start, where)) == len(document)


def begin(document: Buffer, position: int, bracket: bytes, where: str) -> int:
    """Return the position after an opening bracket."""
    position = _space(document, position)
    if document[position : position + 1] != bracket:
        raise unreadable(where, "is not an object" if bracket == b"{" else "is not an array")
    return position + 1


def _slice(document: Buffer | memoryview, start: int, end: int, where: str) -> bytes:
    if end - start > 8 * limits.IN_MEMORY:
        raise unreadable(
            where, f"has a part of more than {8 * limits.IN_MEMORY >> 20} MiB that is to be read"
        )
    return bytes(document[start:end])


def _end(document: Buffer, start: int, where: str) -> int:
    """Return where the value that begins at a position ends."""
    if document[start : start + 1] not in (b"{", b"["):
        scalar = _SCALAR.match(document, start)
        if scalar is None:
            raise _cut_off(where)
        return scalar.end()
    depth = 0
    for number, token in enumerate(_TOKEN.finditer(document, start)):
        if number == _FEW:
            return _end_by_windows(document, start, where)
        first = document[token.start()]
        if first in _OPENING:
            depth += 1
            if depth > _DEEPEST:
                raise unreadable(where, "is nested too deeply")
        elif first in _CLOSING:
            depth -= 1
            if depth == 0:
                return token.end()
        elif token.end() - token.start() == 1:  # a quote that nothing closes
            break
    raise _cut_off(where)


def _end_by_windows(document: Buffer, start: int, where: str) -> int:
    """Return where a value of many brackets ends, by arrays: brackets cost no more there than letters."""
    depth, inside, escaping = 0, 0, 0
    for begin in range(start, len(document), _WINDOW):
        piece = np.frombuffer(document[begin : begin + _WINDOW], dtype=np.uint8)
        quotes, escaping = _closing_quotes(piece, escaping)
        is_inside = np.cumsum(quotes, dtype=np.int32) + inside & 1
        opening = (piece == ord("{")) | (piece == ord("["))
        closing = (piece == ord("}")) | (piece == ord("]"))
        step = opening.astype(np.int8) - closing.astype(np.int8)
        step[is_inside == 1] = 0
        levels = depth + np.cumsum(step, dtype=np.int32)
        ends = np.flatnonzero((levels == 0) & (step != 0))
        if levels[: ends[0] + 1 if len(ends) else len(levels)].max() > _DEEPEST:
            raise unreadable(where, "is nested too deeply")
        if len(ends):
            return begin + int(ends[0]) + 1
        depth, inside = int(levels[-1]), int(is_inside[-1])
    raise _cut_off(where)


def _closing_quotes(piece: NDArray[np.uint8], escaping: int) -> tuple[NDArray[np.bool_], int]:
    """Which bytes of a piece are quotes that nothing escapes, shape (n,); and whether its last byte escapes the next.

    `escaping` is 1 where the byte before the piece escapes its first.
    """
    quotes, slashes = piece == ord('"'), piece == ord("\\")
    if not escaping and not slashes.any():
        return quotes, 0
    at = np.arange(len(piece), dtype=np.int32)
    before = np.maximum.accumulate(np.where(slashes, -1 - escaping, at))  # the last byte that is no backslash
    escapes = slashes & ((at - before) % 2 == 1)
    quotes[1:] &= ~escapes[:-1]
    quotes[0] &= not escaping
    return quotes, int(escapes[-1])


def _after(document: Buffer, position: int, where: str) -> int:
    match = _NEXT.match(document, position)
    if match is None:
        raise _cut_off(where)
    return match.end()


def _is_closed(document: Buffer, position: int, bracket: bytes) -> bool:
    position = _space(document, position)
    return document[position : position + 1] == bracket


def _space(document: Buffer, position: int) -> int:
    match = _SPACE.match(document, position)
    return position if match is None else match.end()


def _cut_off(where: str) -> MalformedBody:
    return unreadable(where, "is not JSON, or is cut off")
