"""Item manifests from files into the columns that are sent. A fault names its line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from forelock.problem import FileFault
from forelock.rows import Row, read_rows, require_item_id

COLUMNS = {
    "item_id": "item_ids",
    "cluster": "clusters",
    "stratum": "strata",
    "content_sha256": "content_sha256",
}


@dataclass(frozen=True, slots=True)
class Items:
    """The columns of one manifest, in the file's order."""

    columns: dict[str, list[str]] = field(repr=False)
    unused: tuple[str, ...] = ()
    """Columns of the file that stay at home."""

    def body(self) -> bytes:
        """Return the request body, in JSON."""
        text = json.dumps(self.columns, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "surrogatepass")  # what is no text the service refuses, in words


def read_items(path: str) -> Items:
    """Return the items of a CSV, NDJSON or JSON file: `item_id`, and on all rows or none `cluster`, `stratum` and
    `content_sha256`.

    Raises:
        FileFault: naming the line, and what to write there.
    """
    rows = list(read_rows(path, known=tuple(COLUMNS), such_as="item_id,cluster", scalars=(), columns=COLUMNS))
    if not rows:
        raise FileFault(f"{path}: holds no item")
    require_item_id(rows[0], path)
    present = [name for name in COLUMNS if any(row.cells.get(name) is not None for row in rows)]
    columns = {
        name: [_text(row, name, path) for row in rows] for name in {"item_id": None, **dict.fromkeys(present)}
    }
    _require_distinct(rows, columns["item_id"], path)
    names = dict.fromkeys(name for row in rows for name in row.cells)
    return Items(
        {COLUMNS[name]: column for name, column in columns.items()},
        tuple(name for name in names if name not in COLUMNS),
    )


def _text(row: Row, name: str, path: str) -> str:
    cell = row.cells.get(name)
    if isinstance(cell, str) and cell:
        return cell
    if cell is None or cell == "":
        rest = "" if name == "item_id" else "; other rows do: give it to all, or to none"
        raise FileFault(f"{path} {row.place}: has no {name}{rest}")
    raise FileFault(f"{path} {row.place}: {name} is not a string; write it in quotes")


def _require_distinct(rows: Sequence[Row], item_ids: Sequence[str], path: str) -> None:
    first: dict[str, Row] = {}
    for row, item_id in zip(rows, item_ids, strict=True):
        if first.setdefault(item_id, row) is not row:
            raise FileFault(
                f"{path} {row.place}: repeats {first[item_id].place} (item '{item_id}'); name every item once"
            )
