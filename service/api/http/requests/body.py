"""Reading request bodies: size, content type and encoding first, then strict JSON, then the model."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from anyio import to_thread
from fastapi import Depends, Request
from pydantic import TypeAdapter
from starlette.requests import ClientDisconnect

from service.api.calculators import handlers
from service.api.calculators.pool import CalculatorLost, get_project_id, unreadable
from service.api.http.problems import may_answer
from service.api.http.requests.headers import get_header
from service.api.http.shared import get_services
from service.api.parsing.closed_types import is_closed
from service.api.parsing.models import JSON, expand, too_large, validate
from service.errors import RequestTimeout, TooLarge, UnsupportedMediaType

T = TypeVar("T")
Reader = Callable[[Request], Coroutine[Any, Any, Any]]

SMALL_BODY = 8 * 1024 * 1024
"""Largest body of a route that takes no columns, also after gzip."""
INLINE_BYTES = 16 * 1024
"""Bodies above this size are read in a calculator: Python's parsers let nobody else go on meanwhile."""
READ_SECONDS = 30.0
"""Seconds of computing that reading one body in a calculator may take."""
GRACE_SECONDS, LEAST_RATE = 30.0, 64 * 1024
"""A body that comes slower than this many bytes a second, beyond the grace, is not waited for."""


@dataclass(slots=True, weakref_slot=True)
class Content:
    """A body as sent: `media_type` is one of those the route reads."""

    pieces: list[bytes]
    media_type: str
    limit: int | None = None
    """Bytes that it may have after gzip; None: it is not compressed."""

    @property
    def body(self) -> bytes:
        """The bytes as they came, in one piece."""
        if len(self.pieces) != 1:
            self.pieces = [b"".join(self.pieces)]
        return self.pieces[0]

    @property
    def size(self) -> int:
        """The number of bytes of the body as they came."""
        return sum(map(len, self.pieces))

    @property
    def small(self) -> bool:
        """True for a body that is read on the event loop: plain and short, so that nobody waits for it."""
        return self.limit is None and self.size <= INLINE_BYTES

    async def read(
        self, request: Request, reader: Callable[..., T], *arguments: object, keep: bool = True
    ) -> T:
        """Return `reader(body, limit, *arguments)`, computed in a calculator, where a compressed body is expanded too.

        Without `keep` the body is let go once it is sent: what is read of it may take several times its size.

        Raises:
            TooLarge: reading it took more time or memory than one request may have.
        """
        run = get_services(request).calculators.run
        pieces = self.pieces
        if not keep:
            self.pieces = []
        call = run(request, reader, self.limit, *arguments, body=pieces, seconds=READ_SECONDS)
        del pieces  # this frame lives on until the answer, and would hold the body as long
        try:
            return await call
        except CalculatorLost:
            raise unreadable() from None


@dataclass(frozen=True, slots=True)
class BodyDoc:
    """What OpenAPI says of a route's body: a type, and perhaps an example, per media type."""

    content: Mapping[str, Any]
    examples: Mapping[str, Any]
    required: bool


def StrictBody(
    model: Any,
    *,
    example: Any = None,
    max_bytes: int = SMALL_BODY,
    optional: bool = False,
    merge: bool = False,
) -> Any:
    """Dependency: the JSON body as `model` (any type pydantic knows), or a problem.

    `optional` takes an empty body for `{}`; `merge` also takes `application/merge-patch+json`.
    Routes that take columns use `make_json_reader` or `RawBody`, whose limit is the deployment's.
    """
    return Depends(
        make_json_reader(model, example=example, max_bytes=max_bytes, optional=optional, merge=merge)
    )


def make_json_reader(
    model: Any,
    *,
    example: Any,
    max_bytes: int | None = None,
    optional: bool = False,
    merge: bool = False,
) -> Reader:
    """Make the dependency behind `StrictBody`: it reads the JSON body of a request as `model`."""
    adapter: TypeAdapter[Any] = TypeAdapter(model)
    closed = is_closed(adapter)
    accepted = (JSON, "application/merge-patch+json") if merge else (JSON,)

    async def read(request: Request) -> Any:
        if optional and get_header(request, b"content-length") in (None, "0") and not _is_chunked(request):
            return adapter.validate_json("{}", strict=True)
        content = await read_content(request, accepted, max_bytes)
        if content.small:
            return validate(adapter, content.body, closed)
        return await content.read(request, handlers.read_model, model)

    examples = {} if example is None else dict.fromkeys(accepted, example)
    return _document_body(read, BodyDoc(dict.fromkeys(accepted, model), examples, not optional))


def RawBody(
    content: Mapping[str, Any],
    *,
    example: Any,
    examples: Mapping[str, Any] | None = None,
    max_bytes: int | None,
) -> Any:
    """Dependency: `Content` of one of these media types, its bytes unread.

    `content` maps a media type to the type that documents it; `example` is one of the first media
    type, `examples` of others.
    """
    return Depends(make_raw_reader(content, example=example, examples=examples, max_bytes=max_bytes))


def make_raw_reader(
    content: Mapping[str, Any],
    *,
    example: Any,
    examples: Mapping[str, Any] | None = None,
    max_bytes: int | None = None,
) -> Callable[[Request], Coroutine[Any, Any, Content]]:
    """Make the dependency behind `RawBody`: it receives a body and leaves its bytes unread."""
    all_examples = ({} if example is None else {next(iter(content)): example}) | dict(examples or {})
    accepted = tuple(content)

    async def read(request: Request) -> Content:
        return await read_content(request, accepted, max_bytes)

    return _document_body(read, BodyDoc(content, all_examples, True))


async def read_content(request: Request, accepted: Sequence[str], max_bytes: int | None) -> Content:
    """Receive the body of a request within the limits, if its content type is accepted.

    A compressed body is expanded here where it is short, or where the route takes only short ones; otherwise the
    calculator that reads it does.

    Raises:
        UnsupportedMediaType: content type or encoding are not read here.
        TooLarge: the body is larger than it may be, as sent or after gzip.
        RequestTimeout: it came too slowly.
    """
    shared = get_services(request)
    settings = shared.settings
    media_type = _parse_media_type(get_header(request, b"content-type"), accepted)
    encoding = get_header(request, b"content-encoding")
    encoding = "identity" if encoding is None else encoding.strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip"):
        raise UnsupportedMediaType(
            "this content encoding is not read; send the body plain or with Content-Encoding: gzip"
        )
    most = min(max_bytes or settings.max_body_bytes, settings.max_body_bytes)
    content = request.state.content = Content([], media_type)
    await _receive(request, content, most)
    if encoding != "identity":
        cap = min(max_bytes or settings.max_expanded_bytes, settings.max_expanded_bytes)
        await _expand(content, cap, here=max_bytes is not None)
    return content


async def _receive(request: Request, content: Content, limit: int) -> None:
    """Read the body into `content`; refused before reading when it says it is too large, while reading otherwise."""
    announced = get_header(request, b"content-length")
    size = int(announced) if announced is not None and announced.isdecimal() else limit
    if announced is not None and size > limit:
        raise too_large(limit)
    if size > INLINE_BYTES:
        budget, project = get_services(request).body_budget, get_project_id(request)
        await budget.take(project, size)
        # The bytes are given back when the content is collected, whoever holds it last, also after an error.
        weakref.finalize(content, budget.give_back, project, size)
    try:
        async with asyncio.timeout(GRACE_SECONDS + size / LEAST_RATE):
            await _collect(request, content.pieces, limit)
    except TimeoutError:
        raise RequestTimeout("the body came too slowly; send it again, compressed or in parts") from None


async def _collect(request: Request, pieces: list[bytes], limit: int) -> None:
    """Collect the pieces of a body as they arrive, and refuse it as soon as they are more than `limit` bytes."""
    size, more = 0, True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        piece, more = message.get("body", b""), message.get("more_body", False)
        size += len(piece)
        if size > limit:
            raise too_large(limit)
        pieces.append(piece)


async def _expand(content: Content, cap: int, *, here: bool) -> None:
    """Expand a compressed body if it is short or `here` is set, else note how large it may be for whoever reads it."""
    body = content.body
    if not here and len(body) <= INLINE_BYTES:
        try:
            content.pieces = [expand(body, min(INLINE_BYTES, cap))]
        except TooLarge:
            content.limit = cap
    elif here:
        content.pieces = [await to_thread.run_sync(expand, body, cap)]
    else:
        content.limit = cap


def _document_body(read: Reader, doc: BodyDoc) -> Reader:
    """Mark a dependency with what OpenAPI says of the body that it reads, and the problems that it raises."""
    read.body_doc = doc  # type: ignore[attr-defined]
    return may_answer(400, 413, 415, 422)(read)


def _is_chunked(request: Request) -> bool:
    return "transfer-encoding" in request.headers


def _parse_media_type(header: str | None, accepted: Sequence[str]) -> str:
    """Parse a Content-Type into the accepted media type it names; UnsupportedMediaType for any other."""
    expected = " or ".join(accepted)
    if header is not None and header in accepted:
        return header
    if header is None:
        raise UnsupportedMediaType(f"the request has no Content-Type; send {expected}")
    media_type, *parameters = (part.strip() for part in header.lower().split(";"))
    for name, _, value in (parameter.partition("=") for parameter in parameters):
        if name.strip() == "charset" and value.strip().strip('"') not in ("utf-8", "utf8"):
            raise UnsupportedMediaType("only charset utf-8 is read; leave the charset out or send utf-8")
    if media_type in accepted:
        return media_type
    if JSON in accepted and media_type.startswith("application/") and media_type.endswith("+json"):
        return JSON
    raise UnsupportedMediaType(f"this content type is not read here; send {expected}")
