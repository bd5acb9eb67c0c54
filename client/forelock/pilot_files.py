"""Pilot files: the items of both arms that power is asked about. They are sent, used and not stored."""

from __future__ import annotations

import math
from typing import Any

from forelock import files
from forelock.problem import FileFault
from forelock.rows import read_rows

SCALARS = ("hypothesis", "population", "endpoint")
"""What a part of a pilot is for, where the plan has several."""
COLUMNS = ("baseline", "candidate", "cluster")


def read_pilot(path: str) -> list[dict[str, Any]]:
    """Pilot columns from CSV or NDJSON rows, or from JSON: one object of columns, a list of them, or `pilot` with it.

    Rows have `baseline`, `candidate` (empty or null: missing), perhaps `cluster`, and where the plan has
    several, what they are for: `hypothesis`, `population`, `endpoint`.

    Raises:
        FileFault: naming the line.
    """
    if files.content_type(path) == "application/json":
        document = files.read_json(files.read_text(path), path)
        if isinstance(document, dict):
            document = document.get("pilot", document)
        parts = document if isinstance(document, list) else [document]
        if not parts or not all(isinstance(part, dict) for part in parts):
            raise FileFault(f"{path}: holds no pilot columns")
        return [dict(part) for part in parts]
    groups: dict[tuple[str | None, ...], dict[str, Any]] = {}
    for row in read_rows(path, known=(*SCALARS, *COLUMNS), such_as="baseline,candidate"):
        where = f"{path} {row.place}"
        if not {"baseline", "candidate"} <= set(row.cells):
            raise FileFault(f"{where}: needs baseline and candidate, and may have cluster and what it is for")
        key = tuple(None if row.cells.get(name) is None else str(row.cells[name]) for name in SCALARS)
        part = groups.setdefault(key, {"baseline": [], "candidate": []})
        for name in ("baseline", "candidate"):
            part[name].append(_parse_number(row.cells[name], f"{where}: {name}"))
        if row.cells.get("cluster") is not None:
            part.setdefault("clusters", []).append(str(row.cells["cluster"]))
    if not groups:
        raise FileFault(f"{path}: holds no pilot item")
    return [
        part | {name: value for name, value in zip(SCALARS, key, strict=True) if value is not None}
        for key, part in groups.items()
    ]


def _parse_number(value: object, where: str) -> float | None:
    """Parse a cell as a finite number; None for an empty one."""
    if value is None:
        return None
    try:
        number = float(str(value)) if not isinstance(value, bool) else float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise FileFault(f"{where} is no number; leave it empty where there is none")
    return number
