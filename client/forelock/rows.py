"""Rows of a result file with the place each was read from: CSV, NDJSON, or JSON (columns, or an array of rows)."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from forelock import files
from forelock.problem import FileFault

SCALARS = ("population", "arm", "endpoint", "run")
COLUMNS = {
    "item_id": "item_ids",
    "value": "values",
    "replicate": "replicates",
    "observed_at": "observed_at",
    "status": "status",
}
KNOWN = (*SCALARS, *COLUMNS)
IDS = ("item", "id", "itemid", "question_id", "sample_id")
"""What others call `item_id`."""
DELIMITERS = ",;\t"


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its fields, and where it stands."""

    cells: Mapping[str, object]
    place: str
    """Such as `line 7`, or `entry 3` of a JSON array."""


def read_rows(
    path: str,
    *,
    known: Sequence[str] = KNOWN,
    such_as: str = "item_id,value",
    scalars: Sequence[str] = SCALARS,
    columns: Mapping[str, str] = COLUMNS,
) -> Iterator[Row]:
    """Yield the rows of a file whose suffix tells its format; a header names some of the `known` columns.

    A JSON object of columns has the names `scalars` and those that `columns` gives to the fields of a row.

    Raises:
        FileFault: naming the line that cannot be read.
    """
    kind = files.content_type(path)
    text = files.read_text(path)
    if kind == "text/csv":
        yield from _read_delimited(text, path, known, such_as)
    elif kind == "application/x-ndjson":
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                yield _row(files.read_json(line, path, first_line=number), f"line {number}", path)
    else:
        document = files.read_json(text, path)
        entries = document if isinstance(document, list) else _transpose(document, path, scalars, columns)
        for number, entry in enumerate(entries, start=1):
            yield _row(entry, f"entry {number}", path)


def require_item_id(row: Row, path: str) -> None:
    """Refuse a file whose rows, told by the first one, name no item.

    Raises:
        FileFault: with the column that looks like it.
    """
    if "item_id" not in row.cells:
        names = [str(name) for name in row.cells]
        likely = [name for name in names if name.lower() in IDS]
        fix = f"rename '{likely[0]}' to item_id" if likely else f"it has {', '.join(names[:12])}"
        raise FileFault(f"{path} {row.place}: there is no item_id; {fix}")


def _read_delimited(text: str, path: str, known: Sequence[str], such_as: str) -> Iterator[Row]:
    """Read the rows of a CSV or TSV text, with the line of each; FileFault where cells do not fit the header."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text, known), strict=True)
    header: list[str] = []
    try:
        for cells in reader:
            if not header:
                header = _read_header(cells, path, known, such_as)
            elif cells:
                if len(cells) != len(header):
                    raise FileFault(
                        f"{path} line {reader.line_num}: has {len(cells)} cells and the header {len(header)}; "
                        "put cells that hold a separator in double quotes"
                    )
                named = zip(header, cells, strict=True)
                yield Row({name: cell or None for name, cell in named}, f"line {reader.line_num}")
    except csv.Error as error:
        raise FileFault(f"{path} line {reader.line_num}: is not CSV ({error})") from None


def _delimiter(text: str, known: Sequence[str]) -> str:
    """The separator by which the first line names most known columns, or most columns; a comma where none does."""
    head = text.split("\n", 1)[0].strip().replace('"', "")
    if not known:
        return max(DELIMITERS, key=head.count)
    return max(DELIMITERS, key=lambda delimiter: sum(name.strip() in known for name in head.split(delimiter)))


def _read_header(cells: list[str], path: str, known: Sequence[str], such_as: str) -> list[str]:
    """Return the columns' names, which are distinct and among them one that is known."""
    header = [cell.strip() for cell in cells]
    if len(set(header)) < len(header):
        twice = next(name for name, times in Counter(header).items() if times > 1)
        raise FileFault(f"{path} line 1: names the column '{twice}' twice")
    if known and not set(header) & set(known):
        likely = [name for name in header if name.lower() in IDS]
        fix = f"rename '{likely[0]}' to item_id" if likely else f"write one, such as {such_as}"
        raise FileFault(f"{path} line 1: is no header with a column {such_as.split(',')[0]}; {fix}")
    return header


def _transpose(
    document: object, path: str, scalars: Sequence[str], columns: Mapping[str, str]
) -> Iterator[object]:
    """Yield rows of an object of columns."""
    body = _row(document, "", path).cells
    known = (*scalars, *columns.values())
    unknown = sorted(set(body) - set(known))
    if unknown:
        raise FileFault(
            f"{path}: unknown fields {', '.join(unknown)}; an object of columns has {', '.join(known)}"
        )
    scalar_cells = {name: body[name] for name in scalars if name in body}
    present = {name: body[plural] for name, plural in columns.items() if body.get(plural) is not None}
    lists = [column for column in present.values() if isinstance(column, list)]
    if not lists or len(lists) < len(present) or len({len(column) for column in lists}) > 1:
        raise FileFault(f"{path}: item_ids and the other columns are lists of one length")
    for cells in zip(*lists, strict=True):
        yield {**scalar_cells, **dict(zip(present, cells, strict=True))}


def _row(value: object, place: str, path: str) -> Row:
    if not isinstance(value, dict):
        raise FileFault(f"{path}{place and ' ' + place}: is not a JSON object")
    return Row(value, place)
