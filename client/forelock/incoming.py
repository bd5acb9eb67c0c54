"""Bodies of answers, of which nothing is believed: bounded in bytes and time, decoded, and counted before parsed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import httpx

from forelock.answers import Answer
from forelock.counting import count_values
from forelock.problem import ForelockProblem, Unreachable

MAX_BYTES = 128 << 20
"""Of one answer, decoded; a service answers less than 64 MiB."""
MAX_VALUES = 4_000_000
"""Of one JSON document: each takes up to 200 bytes of memory, however few it has on the wire."""
LONGEST = 600.0
"""Seconds that one answer may take to come, however steadily it does."""
TOO_LONG = "the answer did not end within {:.0f} s"
ENCODINGS = "gzip, identity"
PIECE = 1 << 20
_DROPPED = (b"content-encoding", b"content-length", b"transfer-encoding")


def pieces(response: httpx.Response, most: int, clock: Callable[[], float]) -> Iterator[bytes]:
    """Yield the decoded body, piece by piece.

    Raises:
        Unreachable: it is longer than `most`, does not end in time, or is encoded as nobody asked.
    """
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", ""):
        raise Unreachable(f"the answer is encoded as nobody asked for: only {ENCODINGS} are read")
    decoder = zlib.decompressobj(zlib.MAX_WBITS | 16) if encoding == "gzip" else None
    deadline, left = clock() + LONGEST, most
    if response.is_stream_consumed:  # a transport of the caller's own gave it whole
        yield response.content
        return
    sent = 0
    for raw in response.iter_raw():
        sent += len(raw)  # gzip may go on without an end and stand for nothing
        for piece in _decode(raw, decoder):
            left -= len(piece)
            if left < 0:
                raise _too_long(most)
            yield piece
        if sent > most:
            raise _too_long(most)
        if clock() > deadline:
            raise Unreachable(TOO_LONG.format(LONGEST))
    if decoder is not None and not decoder.eof:
        raise Unreachable("the answer ends in the middle of its gzip stream")


def read(response: httpx.Response, clock: Callable[[], float]) -> httpx.Response:
    """Return the same answer with its body in memory.

    Raises:
        Unreachable: see `pieces`.
    """
    content = bytearray()  # not a list of pieces: each of two bytes would take fifty
    for piece in pieces(response, MAX_BYTES, clock):
        content += piece
    # as bytes: a name or a value may hold any of them, and would have to be encoded again
    headers = [(name, value) for name, value in response.headers.raw if name.lower() not in _DROPPED]
    return httpx.Response(
        response.status_code, headers=headers, content=bytes(content), request=response.request
    )


def read_text(response: httpx.Response) -> str:
    """Return a body as text, whatever encoding it claims to be in."""
    return response.content.decode(errors="replace")


def read_document(content: bytes) -> Any:
    """A body as JSON, None where it is none: not JSON, too deep, of too many values, or with NaN and infinities."""
    if count_values(content, MAX_VALUES) > MAX_VALUES:
        return None
    try:
        return json.loads(content.decode(), parse_constant=_refuse, parse_float=_finite, object_hook=Answer)
    except (ValueError, RecursionError):
        return None


def read_problem(response: httpx.Response) -> ForelockProblem:
    """Return a problem from any refusal, a proxy's HTML page included."""
    document = read_document(response.content)
    if not isinstance(document, dict):
        document = {"detail": f"{response.reason_phrase or 'refused'}, and not by a Forelock service"}
    return ForelockProblem.from_document(document, response.status_code, response.headers.get("X-Request-ID"))


def _decode(raw: bytes, decoder: Any) -> Iterator[bytes]:
    """Yield what some bytes decode to, at most so much at once: a kilobyte may stand for a megabyte."""
    if decoder is None:
        yield raw
        return
    try:
        while raw and not decoder.eof:
            yield decoder.decompress(raw, PIECE)
            raw = decoder.unconsumed_tail
    except zlib.error:
        raise Unreachable("the answer is no gzip stream, and says that it is one") from None


def _too_long(most: int) -> Unreachable:
    return Unreachable(f"the answer is longer than {most} bytes, and nothing that a service answers is")


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(digits)
    return number
