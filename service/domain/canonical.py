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
    """The RFC 8785 bytes of a JSON value, every string normalised to NFC.

    Raises:
        InvalidData: a number JSON cannot carry exactly, keys that coincide after
            normalisation, text that is not Unicode, or something that is not JSON.
    """
    plain = _plain(value, "", 0)
    # Without fractions and under ASCII keys the general encoder writes the same, several times slower.
    return _ENCODE(plain).encode() if _is_simple(plain) else rfc8785.dumps(plain)


_ENCODE = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, sort_keys=True, separators=(",", ":")
).encode


def _is_simple(plain: Any) -> bool:
    """No floats, whose text is JavaScript's, and no keys whose order in UTF-16 is another."""
    if isinstance(plain, dict):
        return all(map(str.isascii, plain)) and all(map(_is_simple, plain.values()))
    if isinstance(plain, list):
        return all(map(_is_simple, plain))
    return not isinstance(plain, float)


def sha256_hex(data: bytes) -> str:
    """SHA-256 as 64 lower-case hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def _plain(value: object, path: str, depth: int) -> Any:
    """The value with NFC strings; refuses what has no exact JSON form."""
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
            return _object(value, path, depth)
        case _:
            raise InvalidData.field(path, f"a {type(value).__name__} has no JSON form")


def _object(value: Mapping[object, object], path: str, depth: int) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise InvalidData.field(path, "has a key that is not a string")
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
