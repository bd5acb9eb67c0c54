"""Reading request bodies: size, content type and encoding first, then strict JSON, then the model."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from anyio import to_thread
from fastapi import Depends, Request
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.requests import ClientDisconnect

from service.api import faults, strict_json
from service.api.closed_types import is_closed
from service.api.field_fixes import model_of
from service.api.headers import header
from service.api.problems import may_answer
from service.api.services import services
from service.errors import ForelockError, TooLarge, UnsupportedMediaType

T = TypeVar("T")
Reader = Callable[[Request], Coroutine[Any, Any, Any]]

MAX_CONTAINERS = 1_000_100
"""Arrays and objects in one JSON body: rows of a full column, and little else. Counted before parsing."""
SMALL_BODY = 8 * 1024 * 1024
"""Largest body of a route that takes no columns, also after gzip."""
INLINE_BYTES = 64 * 1024
"""Bodies above this size are parsed in a thread, so that they do not hold up the others."""
MAX_FAULTS = 10_000
"""Beyond this many, faults are counted and no longer named."""
JSON = "application/json"


@dataclass(slots=True)
class Content:
    """A body as sent, after its content encoding: `media_type` is one of those the route reads."""

    body: bytes
    media_type: str

    def take(self) -> bytes:
        """The body, which is kept here no longer: a large one is let go as soon as it is read."""
        body, self.body = self.body, b""
        return body


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
    Routes that take columns use `json_reader` or `RawBody`, whose limit is the deployment's.
    """
    return Depends(json_reader(model, example=example, max_bytes=max_bytes, optional=optional, merge=merge))


def json_reader(
    model: Any,
    *,
    example: Any = None,
    max_bytes: int | None = None,
    optional: bool = False,
    merge: bool = False,
) -> Reader:
    """What `StrictBody` depends on: reads the body of a request."""
    adapter: TypeAdapter[Any] = TypeAdapter(model)
    closed = is_closed(adapter)
    accepted = (JSON, "application/merge-patch+json") if merge else (JSON,)

    async def read(request: Request) -> Any:
        if optional and header(request, b"content-length") in (None, "0") and not _chunked(request):
            return adapter.validate_json("{}", strict=True)
        content = await read_content(request, accepted, max_bytes)
        body = content.body
        if len(body) <= INLINE_BYTES:
            return validate(adapter, body, closed)
        return await to_thread.run_sync(validate, adapter, body, closed)

    examples = {} if example is None else dict.fromkeys(accepted, example)
    return _documented(read, BodyDoc(dict.fromkeys(accepted, model), examples, not optional))


def RawBody(
    content: Mapping[str, Any],
    *,
    example: Any = None,
    examples: Mapping[str, Any] | None = None,
    max_bytes: int | None = None,
) -> Any:
    """Dependency: `Content` of one of these media types, its bytes unread.

    `content` maps a media type to the type that documents it; `example` is one of the first media
    type, `examples` of others.
    """
    return Depends(raw_reader(content, example=example, examples=examples, max_bytes=max_bytes))


def raw_reader(
    content: Mapping[str, Any],
    *,
    example: Any = None,
    examples: Mapping[str, Any] | None = None,
    max_bytes: int | None = None,
) -> Callable[[Request], Coroutine[Any, Any, Content]]:
    """What `RawBody` depends on."""
    shown = ({} if example is None else {next(iter(content)): example}) | dict(examples or {})
    accepted = tuple(content)

    async def read(request: Request) -> Content:
        return await read_content(request, accepted, max_bytes)

    return _documented(read, BodyDoc(content, shown, True))


def validate(adapter: TypeAdapter[T], body: bytes, closed: bool = False) -> T:
    """Bytes into a model: strict validation, and strict JSON where pydantic's parser is lenient.

    Most bodies are parsed once: those whose every quotation mark belongs to a field's name or text
    hold no key twice. A `closed` type lets nothing through that strict JSON would still refuse.
    """
    if len(body) > MAX_CONTAINERS and body.count(b"[") + body.count(b"{") > MAX_CONTAINERS:
        raise TooLarge(
            f"the body holds more than {MAX_CONTAINERS} arrays and objects; send columns, or parts of it"
        )
    try:
        value = adapter.validate_json(body, strict=True)
    except ValidationError as error:
        document = strict_json.parse(body)  # a fault of the text itself is named first
        if error.error_count() > MAX_FAULTS:  # each would become a dict
            raise faults.too_many(error.error_count()) from None
        raise faults.invalid(
            error.errors(include_url=False, include_input=False), document, model_of(adapter.core_schema)
        ) from None
    except ForelockError:
        strict_json.parse(body)
        raise
    if not (isinstance(value, BaseModel) and _accounted_for(value, body, closed)):
        strict_json.parse(body)
    return value


async def read_content(request: Request, accepted: Sequence[str], max_bytes: int | None = None) -> Content:
    """The body's bytes within the limits, after gzip, if its content type is accepted."""
    settings = services(request).settings
    media_type = _media_type(header(request, b"content-type"), accepted)
    encoding = header(request, b"content-encoding")
    encoding = "identity" if encoding is None else encoding.strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip"):
        raise UnsupportedMediaType(
            "this content encoding is not read; send the body plain or with Content-Encoding: gzip"
        )
    body = await read_bytes(request, min(max_bytes or settings.max_body_bytes, settings.max_body_bytes))
    if encoding != "identity":
        cap = min(max_bytes or settings.max_expanded_bytes, settings.max_expanded_bytes)
        body = await to_thread.run_sync(expand, body, cap)
    content = request.state.content = Content(body, media_type)
    return content


async def read_bytes(request: Request, limit: int) -> bytes:
    """The body as sent; refused before reading when it says it is too large, while reading otherwise."""
    announced = header(request, b"content-length")
    if announced is not None and announced.isdecimal() and int(announced) > limit:
        raise _too_large(limit)
    chunks, size, more = [], 0, True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunk, more = message.get("body", b""), message.get("more_body", False)
        size += len(chunk)
        if size > limit:
            raise _too_large(limit)
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def expand(body: bytes, limit: int) -> bytes:
    """Gunzip one member; never inflates more than a byte beyond `limit`."""
    inflater = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        expanded = inflater.decompress(body, limit + 1)
    except zlib.error:
        raise strict_json.malformed("malformed_gzip", "is not gzip", "compress it again") from None
    if len(expanded) > limit:
        raise _too_large(limit, " after gzip")
    if not inflater.eof:
        raise strict_json.malformed("malformed_gzip", "ends within its gzip stream", "send all of it")
    if inflater.unused_data:
        raise strict_json.malformed("malformed_gzip", "goes on after its gzip stream", "send one gzip member")
    return expanded


def _accounted_for(value: BaseModel, body: bytes, closed: bool) -> bool:
    """True when the fields that were sent explain every string in the text, and nothing else is odd in it."""
    if b"\\" in body:
        return False
    sent, fields = value.__pydantic_fields_set__, value.__dict__
    texts = [name for name in sent if isinstance(fields[name], str)]
    if body.count(b'"') != 2 * (len(sent) + len(texts)):
        return False
    return closed or not (b"NaN" in body or b"Infinity" in body or strict_json.needs_inspection(body))


def _documented(read: Reader, doc: BodyDoc) -> Reader:
    read.body_doc = doc  # type: ignore[attr-defined]
    return may_answer(400, 413, 415, 422)(read)


def _chunked(request: Request) -> bool:
    return "transfer-encoding" in request.headers


def _too_large(limit: int, when: str = "") -> TooLarge:
    return TooLarge(
        f"the body is larger than {limit} bytes{when}; /v1/limits lists the limits; send it in parts"
    )


def _media_type(header: str | None, accepted: Sequence[str]) -> str:
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
