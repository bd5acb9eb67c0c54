"""Request headers as the server hands them over: short lists of lower-case names and raw values."""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import Request

from service.errors import InvalidData

_ONCE = frozenset({b"authorization", b"content-encoding", b"content-type", b"idempotency-key", b"if-match"})


def header(request: Request, name: bytes) -> str | None:
    """The first value of a header, None without one. Starlette's own look-up raises inside for every absent one."""
    for known, value in request.scope["headers"]:
        if known == name:
            return str(value, "latin-1")
    return None


def refuse_repeated_headers(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Refuse a header sent twice where one of the two would be ignored in silence."""
    names = [name for name, _ in headers if name in _ONCE]
    if len(names) != len(set(names)):
        twice = next(name for name in names if names.count(name) > 1).decode()
        raise InvalidData.field(f"header.{twice}", "is sent more than once", "send it once")
