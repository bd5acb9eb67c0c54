"""Bodies that nobody means well with, made from bodies that are right."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

VALUES: tuple[Any, ...] = (
    None, True, False, "", " ", 0, -1, 1, 2, 0.5, -0.0, 1e308, 1e-308, 10**30, -(10**30), 2**63, "x" * 600, "1", "NaN",
    "\x00", "\ud83d\ude00", "\u202e", "e\u0301", "' OR 1=1 --", "../../etc/passwd", "${jndi:x}", "<script>", "{{7*7}}",
    [], {}, [[]], [{}], [None], {"$ref": "#"}, {"": ""}, [1] * 300, list("ab") * 50,
)  # fmt: skip
RAW = (
    b"", b" ", b"{", b"[", b'"', b"nul", b"NaN", b"-", b"1e999", b"\xff\xfe", b"\xef\xbb\xbf{}", b"[]", b"{}", b"null",
    b"0", b'{"a":1,"a":2}', b'{"title":NaN}', b'{"title":"\xed\xa0\x80"}', b'{"title":"\\ud800"}', b"[" * 5000,
    b'{"a":' * 200 + b"1" + b"}" * 200, b'{"title":' + b"9" * 5000 + b"}", b"\x00" * 100, b"\x1f\x8b\x08\x00broken",
    b'{"baseline":[1,0,1e400],"candidate":[1,0,1]}', b'{"baseline":[Infinity],"candidate":[-Infinity]}',
)  # fmt: skip
HEADERS: tuple[dict[str, str], ...] = (
    {}, {}, {}, {}, {}, {"Content-Type": "text/plain"}, {"Content-Type": "application/json; charset=utf-16"},
    {"Content-Encoding": "gzip"}, {"Content-Encoding": "br"}, {"If-Match": '"0"'}, {"If-Match": "W/*"},
    {"If-Match": "," * 900}, {"Idempotency-Key": "x" * 300}, {"Idempotency-Key": "a b"}, {"Idempotency-Key": "same"},
    {"Prefer": "respond-async"}, {"Prefer": "wait=0"}, {"Prefer": "wait=-1"}, {"Prefer": "wait=" + "9" * 40},
    {"Accept": "image/png"}, {"Accept-Language": "zh"}, {"Range": "bytes=0-1"}, {"If-None-Match": "*"},
    {"X-Request-Id": "a" * 2000}, {"X-Forwarded-For": "::1"}, {"Expect": "nothing"}, {"Origin": "null"},
    {"Authorization": "Bearer flk_"}, {"Authorization": "Basic eDp5"}, {"Cookie": "session=x"},
)  # fmt: skip
"""Most often none."""


def altered(rng: random.Random, body: Any, times: int = 1) -> Any:
    """The body with something in it changed, left out, doubled or added."""
    found = copy.deepcopy(body)
    for _ in range(times):
        found = _altered_once(rng, found)
    return found


def raw(rng: random.Random, body: Any) -> bytes:
    """Bytes: some that are never right, or those of the body cut or with a byte changed."""
    if rng.random() < 0.6:
        return rng.choice(RAW)
    whole = json.dumps(body).encode()
    at = rng.randrange(len(whole))
    return whole[:at] if rng.random() < 0.5 else whole[:at] + bytes([rng.randrange(256)]) + whole[at + 1 :]


def _altered_once(rng: random.Random, body: Any) -> Any:
    places = list(_places(body))
    if not places:
        return _any(rng)
    holder, key = rng.choice(places)
    match rng.randrange(5):
        case 0:
            del holder[key]
        case 1:
            holder[key] = _nudged(rng, holder[key])
        case 2 if isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        case 2 | 3 if isinstance(holder, dict):
            holder[rng.choice(("", "extra", "id", "n", key + "s"))] = _any(rng)
        case _:
            holder[key] = _any(rng)
    return body


def _any(rng: random.Random) -> Any:
    """A value of its own: it may be altered in turn."""
    return copy.deepcopy(rng.choice(VALUES))


def _nudged(rng: random.Random, value: Any) -> Any:
    """Something of the same kind, as far as there is one."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, (int, float)):
        return rng.choice((-value, value + 1, value * 1000, value / 3, 0))
    if isinstance(value, str):
        return rng.choice((value + value, value[: len(value) // 2], value.upper(), value + "\n", value[::-1]))
    if isinstance(value, list):
        return rng.choice((value[::-1], value + value, value[:1]))
    return {}


def _places(body: Any) -> Any:
    """Every holder and key within the body."""
    pairs = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    for key, value in list(pairs):
        yield body, key
        yield from _places(value)
