"""JSON in which every byte means what the sender thinks: no duplicate keys, no NaN, nothing lost."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from service.errors import Fault, MalformedBody

MAX_DEPTH = 64
"""Levels of nesting that a body may have."""

# A number that overflows has an exponent, or hundreds of digits: with all digits made 0 either is found by a search.
_DIGITS_TO_ZERO = bytes.maketrans(b"123456789.E", b"0000000000e")
_LONG_NUMBER = b"0" * 300


def parse(body: bytes) -> Any:
    """Parse a JSON text.

    Raises:
        MalformedBody: with what is wrong, also where a lenient parser would have let it through.
    """
    if body.startswith(b"\xef\xbb\xbf"):
        raise make_malformed("invalid_encoding", "starts with a byte order mark", "send UTF-8 without a BOM")
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise make_malformed(
            "invalid_encoding", f"is not UTF-8 at byte {error.start}", "send UTF-8"
        ) from None
    if not text.strip():
        raise make_malformed("empty_body", "is empty", "send a JSON document")
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise make_malformed(
            "malformed_json", f"is not JSON: {error.msg} at {where}", "send one JSON document"
        ) from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        raise make_malformed(
            "malformed_json", "holds an integer of thousands of digits", "send numbers of fewer digits"
        ) from None
    if needs_inspection(body):
        _inspect(value)
    return value


def make_malformed(code: str, message: str, fix: str) -> MalformedBody:
    """Return the refusal of a body that cannot be read."""
    return MalformedBody(f"the body {message}", [Fault("", message, fix)], code=code)


def _require_unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise make_malformed(
            "duplicate_key", f"has the key '{quote_key(twice)}' twice in one object", "send it once"
        )
    return value


def quote_key(key: str) -> str:
    """Return a key as an answer may repeat it: short and printable."""
    short = "".join(character if character.isprintable() else "?" for character in key[:64])
    return short if len(key) <= 64 else short + "..."


def _refuse_constant(_name: str) -> NoReturn:
    raise _not_finite()


def _not_finite() -> MalformedBody:
    return make_malformed(
        "not_finite", "holds a number that is not finite", "send finite numbers, null for none"
    )


def _too_deep() -> MalformedBody:
    return make_malformed("too_deep", f"is nested deeper than {MAX_DEPTH} levels", "flatten it")


_DECODER = json.JSONDecoder(object_pairs_hook=_require_unique, parse_constant=_refuse_constant)


def needs_inspection(body: bytes) -> bool:
    """Tell whether the text could hold what only a walk finds: a cheap test that is never wrongly false."""
    if b"\\u" in body or body.count(b"[") + body.count(b"{") > MAX_DEPTH:
        return True
    digits = body.translate(_DIGITS_TO_ZERO)
    return b"0e" in digits or _LONG_NUMBER in digits


def _inspect(value: Any) -> None:
    """Refuse depth, infinite numbers (1e999), NUL and lone surrogates; a stack of our own is never too deep."""
    stack = [(value, 0)]
    while stack:
        node, depth = stack.pop()
        if isinstance(node, str):
            _inspect_text(node)
        elif isinstance(node, float):
            if node - node != 0:  # of infinity and NaN the difference is NaN
                raise _not_finite()
        elif isinstance(node, dict | list):
            if depth == MAX_DEPTH:
                raise _too_deep()
            if isinstance(node, dict):
                for key in node:
                    _inspect_text(key)
            children = node.values() if isinstance(node, dict) else node
            stack.extend((child, depth + 1) for child in children if child.__class__ in _INSPECTED)


_INSPECTED = frozenset({str, float, dict, list})


def _inspect_text(text: str) -> None:
    """Refuse a NUL character, which Postgres cannot store, and half of a surrogate pair, which UTF-8 cannot encode."""
    if text.isascii():
        if "\0" in text:
            raise make_malformed("invalid_text", "holds a NUL character in a string", "leave it out")
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        raise make_malformed(
            "invalid_text", "holds half of a surrogate pair", "send whole characters"
        ) from None
    if "\0" in text:
        raise make_malformed("invalid_text", "holds a NUL character in a string", "leave it out")
