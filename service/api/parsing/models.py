"""From bytes to models: strict JSON, bounds that come before the parser, one gzip member."""

from __future__ import annotations

import zlib
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from service.api.parsing import strict_json
from service.errors import ForelockError, TooLarge

T = TypeVar("T")

JSON = "application/json"
MAX_CONTAINERS = 1_000_100
"""Arrays and objects in one JSON body: rows of a full column, and little else. Counted before parsing."""
MAX_VALUES = 8_000_000
"""Values in one JSON body: a handful of full columns. Counted before parsing, by its commas."""
MAX_FAULTS = 10_000
"""Beyond this many, faults are counted and no longer named."""


def validate(adapter: TypeAdapter[T], body: bytes, closed: bool = False) -> T:
    """Validate the bytes of a JSON text as a model, strictly also where pydantic's parser is lenient.

    Most bodies are parsed once: those whose every quotation mark belongs to a field's name or text
    hold no key twice. A `closed` type lets nothing through that strict JSON would still refuse.
    """
    require_few_values(body)
    try:
        value = adapter.validate_json(body, strict=True)
    except ValidationError as error:
        from service.api.parsing import faults  # a command loads the words of faults where there is one
        from service.api.parsing.field_fixes import find_model

        document = strict_json.parse(body)  # a fault of the text itself is named first
        if error.error_count() > MAX_FAULTS:  # each would become a dict
            raise faults.too_many(error.error_count()) from None
        raise faults.invalid(
            error.errors(include_url=False, include_input=False), document, find_model(adapter.core_schema)
        ) from None
    except ForelockError:
        strict_json.parse(body)
        raise
    if not (isinstance(value, BaseModel) and _explains_text(value, body, closed)):
        strict_json.parse(body)
    return value


def require_few_values(body: bytes) -> None:
    """Refuse a JSON text that would take far more memory than its bytes."""
    if len(body) > MAX_CONTAINERS and body.count(b"[") + body.count(b"{") > MAX_CONTAINERS:
        raise TooLarge(
            f"the body holds more than {MAX_CONTAINERS} arrays and objects; send columns, or parts of it"
        )
    if len(body) > MAX_VALUES and body.count(b",") > MAX_VALUES:
        raise TooLarge(f"the body holds more than {MAX_VALUES} values; send it in parts")


def expand(body: bytes, limit: int) -> bytes:
    """Gunzip one member; never inflates more than a byte beyond `limit`.

    Raises:
        TooLarge: it has more than `limit` bytes.
        MalformedBody: it is not gzip, is cut short, or goes on after its first member.
    """
    inflater = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        expanded = inflater.decompress(body, limit + 1)
    except zlib.error:
        raise strict_json.make_malformed("malformed_gzip", "is not gzip", "compress it again") from None
    if len(expanded) > limit:
        raise too_large(limit, " after gzip")
    if not inflater.eof:
        raise strict_json.make_malformed("malformed_gzip", "ends within its gzip stream", "send all of it")
    if inflater.unused_data:
        raise strict_json.make_malformed(
            "malformed_gzip", "goes on after its gzip stream", "send one gzip member"
        )
    return expanded


def _explains_text(value: BaseModel, body: bytes, closed: bool) -> bool:
    """Whether the fields that were sent explain every quotation mark in the text, and nothing else is odd in it."""
    # An escape may hide a quotation mark, or write one key in two ways.
    if b"\\" in body:
        return False
    sent, fields = value.__pydantic_fields_set__, value.__dict__
    texts = [name for name in sent if isinstance(fields[name], str)]
    if body.count(b'"') != 2 * (len(sent) + len(texts)):
        return False
    return closed or not (b"NaN" in body or b"Infinity" in body or strict_json.needs_inspection(body))


def too_large(limit: int, when: str = "") -> TooLarge:
    """Return the refusal of a body of more than `limit` bytes; `when` says at which stage."""
    return TooLarge(
        f"the body is larger than {limit} bytes{when}; /v1/limits lists the limits; send it in parts"
    )
