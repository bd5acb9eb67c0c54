"""Markdown as a body and as an answer."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request
from starlette.responses import Response

from service.api.parsing import strict_json
from service.errors import InvalidData, TooLarge
from service.words import LANGUAGES, Language

MARKDOWN = "text/markdown"
MAX_MARKDOWN = 512 * 1024
"""Bytes of a preregistration in Markdown: a hundred times the template."""

_TAGS = " or ".join(f"`{language}`" for language in LANGUAGES)
Lang = Annotated[Language, Query(description=f"{_TAGS}.")]
Spoken = Annotated[
    Language, Query(description=f"{_TAGS}, for an answer that is computed at once; jobs answer in English.")
]


def read_language(request: Request, lang: Spoken = "en") -> Language:
    """Read the language of `?lang`, for routes that read their query themselves.

    Raises:
        InvalidData: there is no such language.
    """
    sent = request.query_params.get("lang", lang) if request.scope["query_string"] else lang
    known = next((language for language in LANGUAGES if language == sent), None)
    if known is None:
        raise InvalidData.field(
            "query.lang", "is no language of the answers", f"send {' or '.join(LANGUAGES)}"
        )
    return known


class MarkdownResponse(Response):
    """An answer that is Markdown in UTF-8."""

    media_type = MARKDOWN


def shows_markdown(example: str) -> dict[int | str, dict[str, Any]]:
    """Return the entry of `responses=` that shows an example of a Markdown answer in OpenAPI."""
    return {200: {"content": {MARKDOWN: {"schema": {"type": "string"}, "example": example}}}}


def decode_markdown(body: bytes) -> str:
    """Decode a Markdown body.

    Raises:
        TooLarge: it is larger than `MAX_MARKDOWN`.
        MalformedBody: it is empty, not UTF-8, or holds a NUL character.
    """
    if len(body) > MAX_MARKDOWN:
        raise TooLarge(f"the file is larger than {MAX_MARKDOWN} bytes; send the preregistration alone")
    if not body.strip():
        raise strict_json.make_malformed("empty_body", "is empty", "send the file")
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise strict_json.make_malformed(
            "invalid_encoding", "is not UTF-8", "save the file as UTF-8"
        ) from None
    if "\0" in text:
        raise strict_json.make_malformed("invalid_text", "holds a NUL character", "leave it out")
    return text
