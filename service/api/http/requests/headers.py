"""Request headers as the server hands them over: short lists of lower-case names and raw values."""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import Request

from service.errors import InvalidData

# Headers of which one would be taken and the other ignored, if two were sent.
_ONCE = frozenset({b"authorization", b"content-encoding", b"content-type", b"idempotency-key", b"if-match"})


def get_header(request: Request, name: bytes) -> str | None:
    """Return the first value of a header, named in lower case; None without one.

    Starlette's own look-up raises and catches an error for every header that is absent.
    """
    for known, value in request.scope["headers"]:
        if known == name:
            return str(value, "latin-1")
    return None


def refuse_repeated_headers(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Refuse a header that is sent twice where one of the two would be ignored in silence.

    Raises:
        InvalidData: with the name of the header.
    """
    names = [name for name, _ in headers if name in _ONCE]
    if len(names) != len(set(names)):
        twice = next(name for name in names if names.count(name) > 1).decode()
        raise InvalidData.field(f"header.{twice}", "is sent more than once", "send it once")
