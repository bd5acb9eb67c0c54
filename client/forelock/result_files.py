"""Result files into what is posted. Every fault is found before anything is sent, and names its line.

A fault may name the cell that is no number, so that it can be mended; a value that is one is never told:
what a job prints often ends in a log that people read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from forelock.problem import FileFault
from forelock.results import Results, Value
from forelock.rows import KNOWN, SCALARS, Row, read_rows, require_item_id

STATUSES = ("ok", "error", "missing")
ABSENT = frozenset({"na", "n/a", "nan", "null", "none", "-", "?", "missing", "error", "inf", "infinity"})
YES_NO = frozenset({"true", "false", "yes", "no", "y", "n", "t", "f", "correct", "incorrect", "c", "i"})
SHOWN = 40


@dataclass(frozen=True, slots=True)
class Part:
    """The results of one arm, endpoint and run in one file, and the place of each."""

    path: str
    results: Results
    places: Sequence[str] = field(repr=False)
    unused: tuple[str, ...] = ()
    """Columns that stay at home."""

    def where(self, index: int) -> str:
        """Say where a result stands, in words."""
        return f"{self.path} {self.places[index]} (arm '{self.results.arm}')"


def read_parts(
    path: str, given: Mapping[str, str | None], *, column: str | None = None, blanks: bool = True
) -> list[Part]:
    """Results by arm, endpoint and run.

    `given` (population, arm, endpoint, run) fills what the file does not say. `column` names the field that
    holds the value. Other fields stay at home. Without `blanks` rows with neither value nor status are left out: of a
    list that is filled in bit by bit.

    Raises:
        FileFault: naming the line, and what to write there.
    """
    groups: dict[tuple[str | None, ...], list[Row]] = {}
    seen: dict[str, None] = {}
    for row in read_rows(path):
        if not seen:
            _require_columns(row, path, column)
        seen.update(dict.fromkeys(row.cells))
        if not blanks and row.cells.get(column or "value") is None and row.cells.get("status") is None:
            continue
        scalars = tuple(_read_scalar(row, name, given.get(name), path) for name in SCALARS)
        groups.setdefault(scalars, []).append(row)
    if not groups:
        raise FileFault(f"{path}: holds no result")
    unused = tuple(name for name in seen if name not in KNOWN and name != column)
    return [_make_part(scalars, rows, path, column or "value", unused) for scalars, rows in groups.items()]


def require_distinct(parts: Sequence[Part]) -> None:
    """Refuse files that say two things of one item, arm, endpoint and replicate.

    Raises:
        FileFault: naming both lines.
    """
    first: dict[tuple[object, ...], tuple[Part, int]] = {}
    for part in parts:
        results = part.results
        scope = (results.population, results.arm, results.endpoint)
        replicates = results.replicates or [1] * len(results)
        for index, cell in enumerate(zip(results.item_ids, replicates, strict=True)):
            earlier, at = first.setdefault((*scope, *cell), (part, index))
            if (earlier, at) != (part, index):
                raise FileFault(
                    f"{part.where(index)}: repeats {earlier.path} {earlier.places[at]} (item '{cell[0]}'); "
                    "leave one of them out, or number them in a column replicate"
                )


def _make_part(
    scalars: Sequence[str | None], rows: Sequence[Row], path: str, column: str, unused: tuple[str, ...]
) -> Part:
    """Make the results of one arm and endpoint out of the rows of a file."""
    population, arm, endpoint, run = scalars
    if arm is None or endpoint is None:
        name = "arm" if arm is None else "endpoint"
        raise FileFault(f"{path} {rows[0].place}: names no {name}; add a column {name}, or say --{name}")
    read = _Reader(path, arm, column)
    with_status = any(row.cells.get("status") is not None for row in rows)
    return Part(
        path=path,
        results=Results(
            arm=arm,
            endpoint=endpoint,
            population=population,
            run=run,
            item_ids=[read.item_id(row) for row in rows],
            values=[read.value(row) for row in rows],
            replicates=[read.replicate(row) for row in rows] if _has(rows, "replicate") else None,
            observed_at=[_text(row.cells.get("observed_at")) for row in rows]  # type: ignore[misc]
            if _has(rows, "observed_at")
            else None,
            status=[read.status(row) for row in rows] if with_status else None,
        ),
        places=[row.place for row in rows],
        unused=unused,
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """Cells of one arm's rows."""

    path: str
    arm: str
    column: str

    def fault(self, row: Row, message: str) -> FileFault:
        return FileFault(f"{self.path} {row.place} (arm '{self.arm}'): {message}")

    def item_id(self, row: Row) -> str:
        cell = row.cells.get("item_id")
        if isinstance(cell, str) and cell:
            return cell
        if cell is None or cell == "":
            raise self.fault(row, "has no item_id")
        raise self.fault(row, "item_id is not a string; write it in quotes, as in the manifest")

    def status(self, row: Row) -> str:
        cell = row.cells.get("status")
        status = "ok" if cell is None else str(cell)
        if status not in STATUSES:
            raise self.fault(row, f"status '{_short(cell)}' is none of {', '.join(STATUSES)}")
        return status

    def replicate(self, row: Row) -> int:
        cell = row.cells.get("replicate")
        text = "1" if cell is None else str(cell)
        if isinstance(cell, bool) or not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
            raise self.fault(row, f"replicate '{_short(cell)}' is not a whole number from 1")
        return int(text)

    def value(self, row: Row) -> Value:
        cell, ok = row.cells.get(self.column), self.status(row) == "ok"
        if cell is None:
            if ok:
                raise self.fault(row, f"{self.column} is empty; give it, or a column status with {_NOT_OK}")
            return None
        number = _number(cell)
        if number is None:
            raise self.fault(row, f"{self.column} '{_short(cell)}' is not a number; {_advice(cell)}")
        if not ok:
            raise self.fault(
                row, f"has a {self.column} beside a status that is not ok; leave one of them out"
            )
        return number


_NOT_OK = "'missing' or 'error'"


def _number(cell: object) -> float | int | None:
    if isinstance(cell, str):
        try:
            cell = float(cell) if "_" not in cell else None
        except ValueError:
            return None
    if isinstance(cell, bool) or not isinstance(cell, int | float) or not math.isfinite(cell):
        return None
    return cell


def _advice(cell: object) -> str:
    """Return what to write in place of something that is no number."""
    text = str(cell).strip()
    if isinstance(cell, bool) or text.lower() in YES_NO:
        return "write 1 for right and 0 for wrong"
    if re.fullmatch(r"[-+]?[0-9.]+,[0-9]+", text):
        return "write a decimal point in place of the comma"
    if text.endswith("%"):
        return "write a proportion or a score, without the percent sign"
    if text.lower() in ABSENT or isinstance(cell, float):
        return f"leave it empty and add a column status with {_NOT_OK}"
    return "write digits, such as 1 or 0.25"


def _require_columns(row: Row, path: str, column: str | None) -> None:
    """What every file needs, told by its first row."""
    require_item_id(row, path)
    names = [str(name) for name in row.cells]
    if column is not None and column not in row.cells:
        raise FileFault(f"{path} {row.place}: there is no '{column}'; it has {', '.join(names[:12])}")
    if column is None and "value" not in row.cells and _text(row.cells.get("status")) in (None, "ok"):
        others = [name for name in names if name not in KNOWN]
        fix = f"name the one that holds it, such as --column {others[0]}" if others else "add a column value"
        raise FileFault(f"{path} {row.place}: there is no value; {fix}")


def _read_scalar(row: Row, name: str, given: str | None, path: str) -> str | None:
    """Return what a row says once for all (such as its arm), or what the option says; the two may not differ."""
    cell = row.cells.get(name)
    if cell is None:
        return given
    if given is not None and cell != given:
        raise FileFault(
            f"{path} {row.place}: names another {name} ('{_short(cell)}') than --{name} does ('{given}'); "
            "leave one of them out"
        )
    return str(cell)


def _has(rows: Sequence[Row], name: str) -> bool:
    return any(row.cells.get(name) is not None for row in rows)


def _text(cell: object) -> str | None:
    return None if cell is None else str(cell)


def _short(cell: object) -> str:
    text = str(cell)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
