"""The one byte form of a value: RFC 8785 JSON with NFC strings. Hashes are taken of nothing else."""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from collections.abc import Mapping
from typing import Any

import rfc8785

from service.errors import InvalidData

MAX_INTEGER = 2**53 - 1
"""Largest integer every JSON reader keeps exactly (RFC 8785, appendix D)."""
MAX_DEPTH = 64


def canonical(value: object) -> bytes:
    """Return the RFC 8785 bytes of a JSON value, every string normalised to NFC.

    Raises:
        InvalidData: a number JSON cannot carry exactly, keys that coincide after
            normalisation, text that is not Unicode, or something that is not JSON.
    """
    # Of simple values the general encoder writes the same, several times slower.
    return _ENCODE(value).encode() if _is_simple(value, 0) else rfc8785.dumps(_plain(value, "", 0))


_ENCODE = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, sort_keys=True, separators=(",", ":")
).encode


def _is_simple(value: Any, depth: int) -> bool:
    """True where nothing is to be normalised or refused, no number needs JavaScript's text, and keys sort as bytes."""
    if depth > MAX_DEPTH:
        return False
    kind = type(value)
    if kind is str:
        return _is_normal(value)
    if kind is int:
        return bool(-MAX_INTEGER <= value <= MAX_INTEGER)
    if kind is dict:
        if not all(type(key) is str and key.isascii() for key in value):
            return False
        return all(_is_simple(item, depth + 1) for item in value.values())
    if kind is list or kind is tuple:
        return all(_is_simple(item, depth + 1) for item in value)
    return value is None or kind is bool


def _is_normal(value: str) -> bool:
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return unicodedata.is_normalized("NFC", value)


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 as 64 lower-case hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def _plain(value: object, path: str, depth: int) -> Any:
    """Return the value with NFC strings; refuses what has no exact JSON form."""
    if depth > MAX_DEPTH:
        raise InvalidData.field(path, f"is nested deeper than {MAX_DEPTH} levels", "flatten it")
    match value:
        case None | bool():
            return value
        case str():
            return _text(value, path)
        case int():
            if abs(value) > MAX_INTEGER:
                raise InvalidData.field(path, "is an integer beyond 2^53 - 1", "send it as a string")
            return value
        case float():
            if not math.isfinite(value):
                raise InvalidData.field(path, "is not a finite number", "JSON has no NaN and no infinity")
            return value
        case list() | tuple():
            return [_plain(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]
        case Mapping():
            return _plain_object(value, path, depth)
        case _:
            raise InvalidData.field(
                path, f"a {type(value).__name__} has no JSON form", "send text, a number, a list or an object"
            )


def _plain_object(value: Mapping[object, object], path: str, depth: int) -> dict[str, Any]:
    """Return a mapping `depth` levels down as plain JSON; its keys are strings that differ after NFC normalisation."""
    plain: dict[str, Any] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise InvalidData.field(path, "has a key that is not a string", "write it in quotes")
        name = _text(key, path)
        if name in plain:
            raise InvalidData.field(path, "has two keys that are equal after NFC normalisation", "keep one")
        plain[name] = _plain(item, f"{path}.{name}" if path else name, depth + 1)
    return plain


def _text(value: str, path: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidData.field(path, "holds a lone surrogate", "send Unicode text") from None
    return unicodedata.normalize("NFC", value)
