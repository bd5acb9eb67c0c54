"""Rows as CSV that a spreadsheet opens without computing anything (RFC 4180, UTF-8)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, BinaryIO

from forelock.text import escape_cell

COLUMNS = (
    "population", "arm", "endpoint", "run", "item_id", "replicate", "value", "status", "observed_at", "batch",
)  # fmt: skip


def write_rows(rows: Iterable[Mapping[str, Any]], file: BinaryIO) -> int:
    """Write the rows with a header line, and return the bytes; text that would be computed gets an apostrophe."""
    text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([cell(row[name]) for name in COLUMNS])
    text.flush()
    size = file.tell()
    text.detach()
    return size


def cell(value: object) -> object:
    """Return a cell: numbers as they are, text that a spreadsheet leaves alone.

    Example:
        >>> cell("=1+1"), cell("item 1"), cell(-0.5), cell(None)
        ("'=1+1", 'item 1', -0.5, '')
    """
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str):
        return escape_cell(value)
    return value
