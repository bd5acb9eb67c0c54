"""Strict JSON: one object of columns, an array of row objects, or a row object on every line.

Refused: duplicate keys, unknown fields, NaN and Infinity. Messages say where, never what, and an
exception keeps no reference to the text it is about.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import NoReturn

from service.domain.faults import Faults
from service.errors import Fault, ForelockError, InvalidData, MalformedBody
from service.ingest.repeated import find_repeated
from service.ingest.tables import Layout, Rows, Table, missing, printable, too_many_rows

Pairs = list[tuple[str, object]]


def read_document(body: bytes, layout: Layout, max_rows: int) -> Table:
    """`application/json`: an object of columns of equal length, or an array of row objects.

    Every fault of columns is reported at once.
    """
    text = decode(body)
    if text.lstrip(" \t\r\n")[:1] == "[":
        return _read_array(text, layout, max_rows)
    document = _loads(text, _make_row)
    if not isinstance(document, dict):
        raise InvalidData.field(
            "",
            "the body is neither an object of columns nor an array of objects",
            'send {"item_ids": [...]} or [{"item_id": ...}]',
        )

    faults = Faults()
    known = (*layout.scalars, *layout.columns.values())
    for name in document:
        if name not in known:
            faults.add(printable(name), "is not a field of this body", f"the fields are {', '.join(known)}")
    columns: dict[str, list[object]] = {}
    for name, plural in layout.columns.items():
        column = document.pop(plural, None)
        if isinstance(column, list):
            columns[name] = column
        elif column is not None:
            faults.add(plural, "is not an array", "send one value per item")
        elif name in layout.required:
            raise missing(plural)
    faults.raise_if_any()
    n = len(columns["item_id"])
    for name, column in columns.items():
        if len(column) != n:
            faults.add(
                layout.columns[name],
                f"has {len(column)} values where {layout.columns['item_id']} has {n}",
                "send one value per item in every column, in the same order",
            )
    faults.raise_if_any()
    if n > max_rows:
        raise too_many_rows(max_rows)
    scalars = {name: document.get(name) for name in layout.scalars}
    return Table(n, scalars, columns, {**{name: name for name in layout.scalars}, **layout.columns})


def read_lines(body: bytes, layout: Layout, max_rows: int) -> Table:
    """Read `application/x-ndjson`: one row object per line; blank lines are skipped."""
    rows = Rows(layout, max_rows)
    for number, line in enumerate(io.BytesIO(body), start=1):
        text = decode(line, number).strip(" \t\r\n")
        if not text:
            continue
        row = _loads(text, _make_row, number)
        if not isinstance(row, dict):
            raise MalformedBody(f"line {number} is not a JSON object", code="malformed_json")
        _refuse_unknown(row, rows)
        rows.add(row)
    return rows.table()


def decode(body: bytes, line: int = 0) -> str:
    """Return the body as UTF-8 text."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        position = error.start
    where = f"at byte {position + 1}" + (f" of line {line}" if line else "")
    raise MalformedBody(f"the body is not UTF-8 {where}", code="invalid_encoding")


def _read_array(text: str, layout: Layout, max_rows: int) -> Table:
    """Read an array of flat objects as a table."""
    rows = Rows(layout, max_rows)
    taken = object()

    def take(pairs: Pairs) -> object:
        # Rows become columns while the parser runs, so no list of objects is ever held.
        row = _make_row(pairs)
        _refuse_unknown(row, rows)
        rows.add(row)
        return taken

    parsed = _loads(text, take)
    if not isinstance(parsed, list) or len(parsed) != rows.n or any(item is not taken for item in parsed):
        raise InvalidData.field(
            "", "an element of the array is not a flat object", "send one object per item"
        )
    return rows.table()


def _refuse_unknown(row: dict[str, object], rows: Rows) -> None:
    for name in () if rows.known.issuperset(row) else row.keys() - rows.known:
        fix = f"the fields are {', '.join(rows.layout.fields)}"
        rows.faults.row(printable(name), rows.n, "has a field that is not known", fix)


def _loads(text: str, hook: Callable[[Pairs], object], line: int = 0) -> object:
    """Parse, or say where the text stops being strict JSON."""
    try:
        return json.loads(text, object_pairs_hook=hook, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        fault = f"the body is not JSON: {error.msg} at line {line or error.lineno}, column {error.colno}"
    except ForelockError:
        raise
    except RecursionError:
        fault = "the body is nested too deeply"
    except ValueError:
        fault = "the body holds a number of too many digits"
    raise MalformedBody(fault, code="malformed_json")


def _make_row(pairs: Pairs) -> dict[str, object]:
    """Make a row of an object's members, and refuse an object with a key twice."""
    row = dict(pairs)
    if len(row) != len(pairs):
        twice = find_repeated(name for name, _ in pairs) or ""
        raise MalformedBody(
            "an object holds a key twice: send every key once",
            [Fault(printable(twice), "is in one object twice", "send it once")],
            code="duplicate_key",
        )
    return row


def _no_constant(_name: str) -> NoReturn:
    raise MalformedBody("NaN and Infinity are not JSON: send null with a status", code="not_finite")
