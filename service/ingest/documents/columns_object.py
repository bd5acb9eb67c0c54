"""A JSON object of columns, such as `{"item_id": ["a", "b"], "value": [1, 0]}`."""

from __future__ import annotations

import re
from typing import Any

from service.ingest.documents import json_slices
from service.ingest.documents.json_values import Buffer, loads
from service.ingest.documents.limits import MIB, printable, too_large, unreadable

MOST_BYTES = 64 * MIB
"""Columns are read at once: a row has a cell of each."""
_BEGINS = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"[^"]*"\s*:\s*\[')
_SINGULAR = {
    "item_ids": "item_id",
    "values": "value",
    "clusters": "cluster",
    "slices": "slice",
    "replicates": "replicate",
}
"""Columns as requests call them, which are read under the names that tables have."""


def columns_in(document: Buffer) -> dict[str, list[Any]] | None:
    """The columns of a document by name, all of one length; None where it is no object of arrays alone.

    Raises:
        MalformedBody: columns differ in length, or two have one name.
        TooLarge: the document is longer than `MOST_BYTES`.

    Example:
        `columns_in(b'{"arm A": [1, 0], "arm B": [1, 1]}')` is `{"arm A": [1, 0], "arm B": [1, 1]}`.
    """
    if _BEGINS.match(document) is None or not json_slices.is_one(document, "the file"):
        return None
    if len(document) > MOST_BYTES:
        raise too_large("the file is one object of columns and larger", f"{MOST_BYTES // MIB} MiB of them")
    columns: dict[str, list[Any]] = {}
    for name, start, end in json_slices.top(document, "the file"):
        if document[start : start + 1] != b"[":
            return None
        if name in columns:
            raise unreadable("", f"column '{printable(name)}' stands there twice")
        columns[name] = loads(bytes(document[start:end]), printable(name))
    first, length = next((name, len(cells)) for name, cells in columns.items())
    for name, cells in columns.items():
        if len(cells) != length:
            fault = (
                f"column '{printable(name)}' has {len(cells)} values where '{printable(first)}' has {length}"
            )
            raise unreadable("", f"{fault}: give one for every item, in the same order")
    return {
        _SINGULAR[name] if _is_plural(name, columns) else name: column for name, column in columns.items()
    }


def _is_plural(name: str, columns: dict[str, list[Any]]) -> bool:
    return name in _SINGULAR and _SINGULAR[name] not in columns
