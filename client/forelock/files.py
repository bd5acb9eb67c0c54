"""Files on disk into what the client sends: requests, plans, manifests, results.

No message names a value of a result file: what a job prints often ends in a log that people read.
"""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from forelock.problem import FileFault
from forelock.results import Results, Value

Row = Mapping[str, object]

TYPES = {
    ".csv": "text/csv",
    ".json": "application/json",
    ".jsonl": "application/x-ndjson",
    ".ndjson": "application/x-ndjson",
}
SCALARS = ("population", "arm", "endpoint", "run")
PILOT_SCALARS = ("hypothesis", "population", "endpoint")
COLUMNS = {
    "item_id": "item_ids",
    "value": "values",
    "replicate": "replicates",
    "observed_at": "observed_at",
    "status": "status",
}


def read_bytes(path: str) -> bytes:
    """A file's bytes; `-` is standard input."""
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise FileFault(f"{path}: {error.strerror or 'cannot be read'}") from error


def read_object(path: str) -> dict[str, Any]:
    """A JSON object, such as a plan or a test's request."""
    document = _json(_text(read_bytes(path), path), path)
    if not isinstance(document, dict):
        raise FileFault(f"{path}: does not hold a JSON object")
    return document


def content_type(path: str) -> str:
    """How a file is sent as it is, told by its suffix."""
    try:
        return TYPES[Path(path).suffix.lower()]
    except KeyError:
        raise FileFault(f"{path}: name it {', '.join(TYPES)}, so that its format is known") from None


def read_results(path: str, given: Mapping[str, str | None], *, column: str | None = None) -> list[Results]:
    """Results from CSV, NDJSON, or JSON (columns, or an array of rows), one per arm, endpoint and run.

    `given` (population, arm, endpoint, run) fills what the file does not say. `column` names the field
    that holds the value; the file may then have other fields, which stay at home.
    """
    kind = content_type(path)
    text = _text(read_bytes(path), path)
    groups: dict[tuple[str | None, ...], list[Row]] = {}
    for row in _rows(text, kind, path):
        _refuse_unknown(row, path, column)
        scalars = tuple(_scalar(row, name, given.get(name), path) for name in SCALARS)
        groups.setdefault(scalars, []).append(row)
    if not groups:
        raise FileFault(f"{path}: holds no result")
    return [_results(scalars, rows, path, column or "value") for scalars, rows in groups.items()]


def read_pilot(path: str) -> list[dict[str, Any]]:
    """Pilot columns from CSV or NDJSON rows, or from JSON: one object of columns, a list of them, or `pilot` with it.

    Rows have `baseline`, `candidate` (empty or null: missing), perhaps `cluster`, and where the plan has
    several, what they are for: `hypothesis`, `population`, `endpoint`.
    """
    kind = content_type(path)
    text = _text(read_bytes(path), path)
    if kind == "application/json":
        document = _json(text, path)
        if isinstance(document, dict):
            document = document.get("pilot", document)
        parts = document if isinstance(document, list) else [document]
        if not parts or not all(isinstance(part, dict) for part in parts):
            raise FileFault(f"{path}: holds no pilot columns")
        return [dict(part) for part in parts if isinstance(part, dict)]
    groups: dict[tuple[str | None, ...], dict[str, Any]] = {}
    for number, row in enumerate(_rows(text, kind, path), start=1):
        unknown = set(row) - {*PILOT_SCALARS, "baseline", "candidate", "cluster"}
        if unknown or not {"baseline", "candidate"} <= set(row):
            raise FileFault(
                f"{path}: row {number} needs baseline and candidate, and may have cluster and what it is for"
            )
        key = tuple(None if row.get(name) is None else str(row[name]) for name in PILOT_SCALARS)
        part = groups.setdefault(key, {"baseline": [], "candidate": []})
        for name in ("baseline", "candidate"):
            part[name].append(_number(row[name], f"{path}: row {number}"))
        if row.get("cluster") is not None:
            part.setdefault("clusters", []).append(str(row["cluster"]))
    if not groups:
        raise FileFault(f"{path}: holds no pilot item")
    return [
        part | {name: value for name, value in zip(PILOT_SCALARS, key, strict=True) if value is not None}
        for key, part in groups.items()
    ]


def _number(value: object, where: str) -> float | None:
    if value is None:
        return None
    try:
        found = float(str(value)) if not isinstance(value, bool) else float(value)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise FileFault(f"{where} holds something that is no number")
    return found


def _rows(text: str, kind: str, path: str) -> Iterator[Row]:
    if kind == "text/csv":
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        try:
            for row in reader:
                if None in row or None in row.values():
                    raise FileFault(f"{path}: line {reader.line_num} has another length than the header")
                yield {str(name): cell or None for name, cell in row.items()}
        except csv.Error as error:
            raise FileFault(f"{path}: line {reader.line_num} is not CSV") from error
    elif kind == "application/x-ndjson":
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                yield _row(_json(line, f"{path}: line {number}"), path)
    else:
        document = _json(text, path)
        rows = document if isinstance(document, list) else _transposed(document, path)
        yield from (_row(row, path) for row in rows)


def _transposed(document: object, path: str) -> Iterator[Row]:
    """Rows of an object of columns."""
    body = _row(document, path)
    unknown = set(body) - {*SCALARS, *COLUMNS.values()}
    if unknown:
        raise FileFault(f"{path}: unknown fields {', '.join(sorted(unknown))}")
    scalars = {name: body[name] for name in SCALARS if name in body}
    columns = {row_name: body[name] for row_name, name in COLUMNS.items() if body.get(name) is not None}
    lists = [column for column in columns.values() if isinstance(column, list)]
    if not lists or len(lists) < len(columns) or len({len(column) for column in lists}) > 1:
        raise FileFault(f"{path}: item_ids, values and the other columns are lists of one length")
    for cells in zip(*lists, strict=True):
        yield {**scalars, **dict(zip(columns, cells, strict=True))}


def _results(scalars: Sequence[str | None], rows: Sequence[Row], path: str, column: str) -> Results:
    population, arm, endpoint, run = scalars
    if arm is None or endpoint is None:
        raise FileFault(f"{path}: names no {'arm' if arm is None else 'endpoint'}; say it in the call")
    return Results(
        arm=arm,
        endpoint=endpoint,
        population=population,
        run=run,
        item_ids=[_text_cell(row, "item_id", n, path) for n, row in enumerate(rows, start=1)],
        values=[_value(row.get(column), column, n, path) for n, row in enumerate(rows, start=1)],
        replicates=_optional(rows, "replicate", lambda cell: int(str(cell)), path),
        observed_at=_optional(rows, "observed_at", str, path),
        status=_optional(rows, "status", str, path, default="ok"),
    )


def _scalar(row: Row, name: str, given: str | None, path: str) -> str | None:
    said = row.get(name)
    if said is None:
        return given
    if given is not None and said != given:
        raise FileFault(f"{path}: names another {name} than the call does; leave one of them out")
    return str(said)


def _optional(
    rows: Sequence[Row], name: str, read: Any, path: str, default: object = None
) -> list[Any] | None:
    """A column that the file may lack; an empty cell is the default, where there is one."""
    if all(row.get(name) is None for row in rows):
        return None
    try:
        cells = [default if row.get(name) is None else row[name] for row in rows]
        return [None if cell is None else read(cell) for cell in cells]
    except ValueError:
        raise FileFault(f"{path}: {name} is not a whole number on every row") from None


def _text_cell(row: Row, name: str, number: int, path: str) -> str:
    cell = row.get(name)
    if not isinstance(cell, str) or not cell:
        raise FileFault(f"{path}: result {number} has no {name}, or one that is not a string")
    return cell


def _value(cell: object, column: str, number: int, path: str) -> Value:
    if cell is None:
        return None
    if isinstance(cell, str):
        try:
            cell = float(cell)
        except ValueError:
            cell = math.nan
    if isinstance(cell, bool) or not isinstance(cell, int | float) or not math.isfinite(cell):
        raise FileFault(f"{path}: {column} of result {number} is not a number")
    return cell


def _refuse_unknown(row: Row, path: str, column: str | None) -> None:
    if column is not None:
        if column not in row:
            raise FileFault(f"{path}: has no field '{column}'")
        return
    unknown = [name for name in row if name not in SCALARS and name not in COLUMNS]
    if unknown:
        named = ", ".join(unknown[:5])
        raise FileFault(f"{path}: unknown fields {named}; name the one that holds the value (--column)")


def _row(value: object, path: str) -> Row:
    if not isinstance(value, dict):
        raise FileFault(f"{path}: does not hold JSON objects")
    return value


def _json(text: str, where: str) -> object:
    try:
        return json.loads(text, parse_constant=lambda _: math.nan)
    except (ValueError, RecursionError):
        raise FileFault(f"{where}: is not JSON") from None


def _text(body: bytes, path: str) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileFault(f"{path}: is not UTF-8") from None
