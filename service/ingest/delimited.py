"""Strict CSV: UTF-8 (a byte order mark is tolerated), commas, a header, one row per item."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from service.errors import InvalidData, MalformedBody
from service.ingest.tables import Layout, Rows, Table, missing

if TYPE_CHECKING:
    from _csv import Reader


def read_delimited(body: bytes, layout: Layout, max_rows: int) -> Table:
    """Read `text/csv`: every cell is text, an empty cell is None; blank lines are skipped."""
    lines = io.TextIOWrapper(io.BytesIO(body), encoding="utf-8-sig", newline="")
    reader = csv.reader(lines, strict=True)
    fault = ""
    try:
        return _read_rows(reader, layout, max_rows).table(text=True)
    except csv.Error:
        fault = "check its quotes and the length of its cells"
    except UnicodeDecodeError:
        fault = "it is not UTF-8"
    raise MalformedBody(f"the body is not CSV after line {reader.line_num}: {fault}", code="malformed_csv")


def _read_rows(reader: Reader, layout: Layout, max_rows: int) -> Rows:
    """Read the lines below the header into columns. Empty lines are passed over; an empty cell is a missing value."""
    lines = (cells for cells in reader if cells)
    header = next(lines, None)
    if header is None:
        raise InvalidData.field("", "the body is empty", f"send a header: {','.join(layout.fields)}")
    _check_header(header, layout)
    rows = Rows(layout, max_rows, header)
    for cells in lines:
        if len(cells) != len(header):
            raise InvalidData.field(
                "",
                f"line {reader.line_num} has {len(cells)} cells where the header has {len(header)}",
                "quote cells that hold a comma",
            )
        rows.add(dict(zip(header, [cell or None for cell in cells], strict=True)))
    return rows


def _check_header(cells: list[str], layout: Layout) -> None:
    """Refuse unknown, repeated or absent names; by position, since a file without header has values there."""
    for number, name in enumerate(cells, start=1):
        if name not in layout.fields:
            raise InvalidData.field(
                "",
                f"column {number} of the header is not known",
                f"the columns are {', '.join(layout.fields)}",
            )
        if cells.index(name) != number - 1:
            raise InvalidData.field(name, "is twice in the header", "name every column once")
    for name in layout.fields:
        if name in layout.required and name not in cells:
            raise missing(name)
