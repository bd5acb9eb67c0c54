r"""JSON documents of any size: what is wanted of them is found by its brackets, and parsed slice by slice.

Streaming parsers that are well kept (ijson) refuse NaN, which every harness in Python writes. A document is a
buffer here, a mapped file as a rule, so that memory holds the slice that is parsed and no more.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Collection, Iterator
from mmap import mmap
from typing import Any

from service.errors import MalformedBody
from service.ingest.harnesses import limits
from service.ingest.harnesses.limits import unreadable

Buffer = bytes | mmap
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
_OPENING, _CLOSING = b"{[", b"}]"


def loads(piece: Buffer, where: str) -> Any:
    """One slice as a value; NaN stays NaN, and `where` is all that a fault tells."""
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


def pick(document: Buffer, wanted: Collection[str], where: str) -> dict[str, Any]:
    """Those members of an object; all of them, where it is small."""
    if len(document) <= limits.IN_MEMORY:
        found = loads(document, where)
        if not isinstance(found, dict):
            raise unreadable(where, "is not an object")
        return found
    return {
        key: loads(_slice(document, start, end, where), where)
        for key, start, end in members(document, 0, where)
        if key in wanted
    }


def members(document: Buffer, position: int, where: str) -> Iterator[tuple[str, int, int]]:
    """Each member of the object at a position: its key, and from where to where its value stands."""
    position = begin(document, position, b"{", where)
    if _closed(document, position, b"}"):
        return
    while True:
        key = _KEY.match(document, position)
        if key is None:
            raise _cut_off(where)
        start, end = key.end(), _end(document, key.end(), where)
        name = loads(key[1], where)
        yield name, start, end
        position = _after(document, end, where)
        if document[position - 1] == ord("}"):
            return


def top(document: Buffer, where: str) -> Iterator[tuple[str, int, int]]:
    """Each member of the object that a document is; refuses one that is cut off, or has more after it."""
    start, end = _space(document, 3 if document[:3] == b"\xef\xbb\xbf" else 0), 0
    for member in members(document, start, where):
        end = member[2]
        yield member
    if not end:  # it has none
        whole(document, where)
    elif _space(document, _after(document, end, where)) != len(document):
        raise unreadable(where, "has more than one JSON value")


def elements(document: Buffer, position: int, where: str) -> Iterator[tuple[int, int]]:
    """Each element of the array at a position: from where to where it stands."""
    position = begin(document, position, b"[", where)
    if _closed(document, position, b"]"):
        return
    while True:
        start = _space(document, position)
        end = _end(document, start, where)
        yield start, end
        position = _after(document, end, where)
        if document[position - 1] == ord("]"):
            return


def each(document: Buffer, position: int, wanted: Collection[str], where: str) -> Iterator[dict[str, Any]]:
    """The elements of an array of objects, or those members of them.

    Small ones are parsed straight from a window of text; one that does not fit is found by its brackets.
    """
    position = begin(document, position, b"[", where)
    if _closed(document, position, b"]"):
        return
    number, text, at = 0, "", 0
    while True:
        number += 1
        found, end = _parsed(text, at)
        if not text or (end is None and at > 0):
            position = _space(document, position + len(text[:at].encode()))
            text, at = _window(document, position, where), 0
            found, end = _parsed(text, at)
        if end is None:  # longer than a window, or no JSON
            ended = _end(document, position, where)
            found = pick_slice(document, position, ended, wanted, f"{where}[{number}]")
            position, text, at, end = ended, "", 0, 0
        if not isinstance(found, dict):
            raise unreadable(f"{where}[{number}]", "is not an object")
        yield found
        following = _BETWEEN.match(text, end)
        if following is None:
            position = _after(document, position + len(text[:end].encode()), where)
            if document[position - 1] == ord("]"):
                return
            text, at = "", 0
        elif following[1] == "]":
            return
        else:
            at = following.end()


def _parsed(text: str, at: int) -> tuple[Any, int | None]:
    """A value of a window and where it ends; None where it cannot be read as far as the window goes."""
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


def pick_slice(document: Buffer, start: int, end: int, wanted: Collection[str], where: str) -> dict[str, Any]:
    """`pick` of an object that stands somewhere in a document."""
    if end - start <= limits.IN_MEMORY:
        return pick(document[start:end], wanted, where)
    return {
        key: loads(_slice(document, begun, ended, where), where)
        for key, begun, ended in members(document, start, where)
        if key in wanted
    }


def whole(document: Buffer, where: str) -> int:
    """Where a document's only value begins; refuses a document that is cut off, or holds another after it."""
    start = _space(document, 3 if document[:3] == b"\xef\xbb\xbf" else 0)
    if _space(document, _end(document, start, where)) != len(document):
        raise unreadable(where, "has more than one JSON value")
    return start


def begins_object(document: Buffer) -> bool:
    """Whether a document begins as an object does."""
    start = _space(document, 3 if document[:3] == b"\xef\xbb\xbf" else 0)
    return document[start : start + 1] == b"{"


def is_one(document: Buffer, where: str) -> bool:
    """Whether a document is one value, and not several that follow one another."""
    start = _space(document, 3 if document[:3] == b"\xef\xbb\xbf" else 0)
    return _space(document, _end(document, start, where)) == len(document)


def begin(document: Buffer, position: int, bracket: bytes, where: str) -> int:
    """The position after an opening bracket."""
    position = _space(document, position)
    if document[position : position + 1] != bracket:
        raise unreadable(where, "is not an object" if bracket == b"{" else "is not an array")
    return position + 1


def _slice(document: Buffer, start: int, end: int, where: str) -> bytes:
    if end - start > 8 * limits.IN_MEMORY:
        raise unreadable(
            where, f"has a part of more than {8 * limits.IN_MEMORY >> 20} MiB that is to be read"
        )
    return document[start:end]


def _end(document: Buffer, start: int, where: str) -> int:
    """Where the value that begins at a position ends."""
    if document[start : start + 1] not in (b"{", b"["):
        scalar = _SCALAR.match(document, start)
        if scalar is None:
            raise _cut_off(where)
        return scalar.end()
    depth = 0
    for token in _TOKEN.finditer(document, start):
        first = document[token.start()]
        if first in _OPENING:
            depth += 1
        elif first in _CLOSING:
            depth -= 1
            if depth == 0:
                return token.end()
        elif token.end() - token.start() == 1:  # a quote that nothing closes
            break
    raise _cut_off(where)


def _after(document: Buffer, position: int, where: str) -> int:
    found = _NEXT.match(document, position)
    if found is None:
        raise _cut_off(where)
    return found.end()


def _closed(document: Buffer, position: int, bracket: bytes) -> bool:
    position = _space(document, position)
    return document[position : position + 1] == bracket


def _space(document: Buffer, position: int) -> int:
    found = _SPACE.match(document, position)
    return position if found is None else found.end()


def _cut_off(where: str) -> MalformedBody:
    return unreadable(where, "is not JSON, or is cut off")
