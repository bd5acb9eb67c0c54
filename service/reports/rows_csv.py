"""Rows as CSV that a spreadsheet opens without computing anything (RFC 4180, UTF-8)."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, BinaryIO

COLUMNS = (
    "population", "arm", "endpoint", "run", "item_id", "replicate", "value", "status", "observed_at", "batch",
)  # fmt: skip
_COMPUTED = re.compile(r"[\s\x00-\x1f\ufeff]*[=+\-@|%'\uff1d\uff0b\uff0d\uff20]")
"""What a spreadsheet takes for a formula, with its full-width forms; and the apostrophe itself, so that it can be
taken off again."""


def write_rows(rows: Iterable[Mapping[str, Any]], file: BinaryIO) -> int:
    """The rows with a header line; bytes written. Text that would be computed has an apostrophe before it."""
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
    """A cell: numbers as they are, text that a spreadsheet leaves alone.

    Example:
        >>> cell("=1+1"), cell("item 1"), cell(-0.5), cell(None)
        ("'=1+1", 'item 1', -0.5, '')
    """
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str):
        return f"'{value}" if _COMPUTED.match(value) else value
    return value
