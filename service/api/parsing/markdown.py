"""Markdown as a body and as an answer."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from starlette.responses import Response

from service.api.parsing import strict_json
from service.errors import TooLarge
from service.words import Language

MARKDOWN = "text/markdown"
MAX_MARKDOWN = 512 * 1024
"""Bytes of a preregistration in Markdown: a hundred times the template."""

Lang = Annotated[Language, Query(description="`en` or `zh`.")]


class MarkdownResponse(Response):
    """Markdown in UTF-8."""

    media_type = MARKDOWN


def shows_markdown(example: str) -> dict[int | str, dict[str, Any]]:
    """`responses=` entry: an example of a Markdown answer, for OpenAPI."""
    return {200: {"content": {MARKDOWN: {"schema": {"type": "string"}, "example": example}}}}


def markdown_text(body: bytes) -> str:
    """The text of a Markdown body; refuses what is no text."""
    if len(body) > MAX_MARKDOWN:
        raise TooLarge(f"the file is larger than {MAX_MARKDOWN} bytes; send the preregistration alone")
    if not body.strip():
        raise strict_json.malformed("empty_body", "is empty", "send the file")
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise strict_json.malformed("invalid_encoding", "is not UTF-8", "save the file as UTF-8") from None
    if "\0" in text:
        raise strict_json.malformed("invalid_text", "holds a NUL character", "leave it out")
    return text
