"""The formats a table of items may be posted in, chosen by content type."""

from __future__ import annotations

from collections.abc import Callable

from service.errors import UnsupportedMediaType
from service.ingest.delimited import read_delimited
from service.ingest.json_lines import read_document, read_lines
from service.ingest.tables import Layout, Table

READERS: dict[str, Callable[[bytes, Layout, int], Table]] = {
    "application/json": read_document,
    "application/x-ndjson": read_lines,
    "application/ndjson": read_lines,
    "application/jsonlines": read_lines,
    "text/csv": read_delimited,
}


def read(body: bytes, content_type: str, layout: Layout, max_rows: int) -> Table:
    """Read a body of that content type; its bytes are UTF-8 whatever the type's parameters say."""
    media_type, *parameters = (part.strip().lower() for part in content_type.split(";"))
    reader = READERS.get(media_type)
    if reader is None:
        raise UnsupportedMediaType(f"send one of {', '.join(READERS)}")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name == "charset" and value.strip('"') not in ("utf-8", "utf8", "us-ascii"):
            raise UnsupportedMediaType("send the body in UTF-8")
    return reader(body, layout, max_rows)
