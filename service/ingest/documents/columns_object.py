"""A JSON object of columns, such as `{"item_id": ["a", "b"], "value": [1, 0]}` or `{"gpt": {"a": 1, "b": 0}}`."""

from __future__ import annotations

import re
from typing import Any

from service.ingest.documents import json_slices
from service.ingest.documents.json_values import Buffer, loads
from service.ingest.documents.limits import MIB, printable, too_large, unreadable
from service.ingest.repeated import find_repeated

MOST_BYTES = 64 * MIB
"""Columns are read at once: a row has a cell of each."""
_BEGINS = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"[^"]*"\s*:\s*([\[{])')
_SCHEMA = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"schema"\s*:\s*\{\s*"fields"\s*:')
"""How a data frame begins that is written with its schema."""
MOST_GAPS = 4
"""Cells that rows and columns may have for each that is there: names that no two share make a table of their square."""
INDEX = "Unnamed: 0"
"""The column of rows' names, called as that of a data frame's index in CSV is."""
_SINGULAR = {
    "item_ids": "item_id",
    "values": "value",
    "clusters": "cluster",
    "slices": "slice",
    "replicates": "replicate",
}
"""Columns as requests call them, which are read under the names that tables have."""


def columns_in(document: Buffer) -> dict[str, list[Any]] | None:
    """Return the columns of a document by name, all of one length; None where it is no object of arrays alone.

    A data frame is also read as pandas writes it with `orient="split"` and `orient="table"`.

    Raises:
        MalformedBody: columns differ in length, or two have one name.
        TooLarge: the document is longer than `MOST_BYTES`.

    Example:
        `columns_in(b'{"arm A": [1, 0], "arm B": [1, 1]}')` is `{"arm A": [1, 0], "arm B": [1, 1]}`.
    """
    begins = _BEGINS.match(document)
    if begins is None or not json_slices.is_one(document, "the file"):
        return None
    if len(document) > MOST_BYTES:
        raise too_large("the file is one object of columns and larger", f"{MOST_BYTES // MIB} MiB of them")
    if begins[1] == b"{":
        return _of_schema(document) if _SCHEMA.match(document) else _by_row(document)
    columns: dict[str, list[Any]] = {}
    for name, start, end in json_slices.top(document, "the file"):
        if document[start : start + 1] != b"[":
            return None
        if name in columns:
            raise unreadable("", f"column '{printable(name)}' stands there twice")
        columns[name] = loads(bytes(document[start:end]), printable(name))
    parted = _split(columns)
    if parted is not None:
        return parted
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


def _split(parts: dict[str, list[Any]]) -> dict[str, list[Any]] | None:
    """Return names of columns beside rows of cells; None where it is something else."""
    if set(parts) not in ({"columns", "data"}, {"columns", "index", "data"}):
        return None
    names, rows = parts["columns"], parts["data"]
    index = parts.get("index", list(range(len(rows))))
    whole = all(isinstance(row, list) and len(row) == len(names) for row in rows) and len(index) == len(rows)
    if not whole or not all(isinstance(name, str) for name in names):
        return None
    twice = find_repeated(names)
    if twice is not None:
        raise unreadable("", f"column '{printable(twice)}' stands there twice")
    return _with_index(index, {name: [row[at] for row in rows] for at, name in enumerate(names)})


def _of_schema(document: Buffer) -> dict[str, list[Any]] | None:
    """Return rows under `data`, beside a schema of the columns; None where it is something else."""
    parts: dict[str, tuple[int, int]] = {}
    for name, start, end in json_slices.top(document, "the file"):
        if name in parts:
            raise unreadable("", f"'{printable(name)}' stands there twice")
        parts[name] = start, end
    if set(parts) != {"schema", "data"}:
        return None
    schema, rows = (loads(bytes(document[slice(*parts[name])]), name) for name in ("schema", "data"))
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        return None
    names = list(dict.fromkeys(name for row in rows for name in row))
    if len(rows) * len(names) > MOST_GAPS * sum(map(len, rows)):
        return None
    columns = {name: [row.get(name) for row in rows] for name in names}
    index = columns.pop("index", None) if schema.get("primaryKey") == ["index"] else None
    return columns if index is None else _with_index(index, columns)


def _with_index(index: list[Any], columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Columns with that of the rows' names before them; numbers from 0 name nothing."""
    if index == list(range(len(index))) or INDEX in columns:
        return columns
    return {INDEX: index, **columns}


def _by_row(document: Buffer) -> dict[str, list[Any]] | None:
    """Columns whose cells go by their rows' names, as a data frame is written, or rows whose cells go by columns.

    Of rows there are more. None where a member is no object of plain cells, or hardly any cell is there.
    """
    columns: dict[str, dict[str, Any]] = {}
    for name, start, end in json_slices.top(document, "the file"):
        cells = loads(bytes(document[start:end]), printable(name))
        if not isinstance(cells, dict) or any(isinstance(cell, dict | list) for cell in cells.values()):
            return None
        if name in columns:
            raise unreadable("", f"'{printable(name)}' stands there twice")
        columns[name] = cells
    rows = list(dict.fromkeys(row for cells in columns.values() for row in cells))
    # Gaps become cells: a small document with a name of its own in every cell would become a square of them.
    if len(rows) * len(columns) > MOST_GAPS * sum(map(len, columns.values())):
        return None
    # A table has more rows than columns: where it is the other way, members are rows, and are turned.
    if len(columns) > len(rows):
        rows, columns = (
            list(columns),
            {name: {row: cells[name] for row, cells in columns.items() if name in cells} for name in rows},
        )
    if INDEX in columns:
        return None
    return {INDEX: rows, **{name: [cells.get(row) for row in rows] for name, cells in columns.items()}}


def _is_plural(name: str, columns: dict[str, list[Any]]) -> bool:
    return name in _SINGULAR and _SINGULAR[name] not in columns
