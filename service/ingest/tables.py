"""What every format is read into: scalars that hold for the whole body, and columns of equal length."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from service.domain.faults import Faults
from service.errors import InvalidData, TooLarge

_PLAIN_NAME = re.compile(r"[A-Za-z_]\w{0,40}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Layout:
    """The fields of a body: `columns` maps a row's field to the name of its column in column form.

    Every layout has a required field `item_id`.
    """

    scalars: tuple[str, ...]
    columns: Mapping[str, str]
    required: frozenset[str]

    @property
    def fields(self) -> tuple[str, ...]:
        """Every field of a row."""
        return (*self.scalars, *self.columns)


@dataclass(frozen=True, slots=True)
class Table:
    """A body as read, values unchecked. A column that was not sent is absent.

    `names` gives each field the name the sender used; `text` says that every cell is a string.
    """

    n: int
    scalars: Mapping[str, object]
    columns: dict[str, list[object]]
    names: Mapping[str, str]
    text: bool = False


class Rows:
    """Collects rows into columns, and checks that scalars agree on every row."""

    def __init__(self, layout: Layout, max_rows: int, fields: Collection[str] | None = None) -> None:
        self.layout = layout
        self.max_rows = max_rows
        self.n = 0
        self.faults = Faults()
        self.known = frozenset(layout.fields)
        self._first: list[object] = [None] * len(layout.scalars)
        self._columns: dict[str, list[object]] = {
            name: [] for name in layout.columns if fields is None or name in fields
        }

    def add(self, row: Mapping[str, object]) -> None:
        """Take one row; fields it lacks are None."""
        if self.n == self.max_rows:
            raise too_many_rows(self.max_rows)
        scalars = [row.get(name) for name in self.layout.scalars]
        if self.n == 0:
            self._first = scalars
        elif scalars != self._first:
            self._tell_differences(scalars)
        for name, column in self._columns.items():
            column.append(row.get(name))
        self.n += 1

    def table(self, *, text: bool = False) -> Table:
        """Return everything taken, once no fault was found."""
        self.faults.raise_if_any()
        names = {name: name for name in self.layout.fields}
        scalars = dict(zip(self.layout.scalars, self._first, strict=True))
        return Table(self.n, scalars, self._columns, names, text)

    def _tell_differences(self, scalars: list[object]) -> None:
        for name, value, first in zip(self.layout.scalars, scalars, self._first, strict=True):
            if value != first:
                fix = f"send one batch for each value of {name}"
                self.faults.row(name, self.n, "differs from row 1", fix)


def too_many_rows(max_rows: int) -> TooLarge:
    """Return the refusal of a body with more rows than one body may hold."""
    return TooLarge(f"a body holds at most {max_rows} items; send several batches", code="too_many_items")


def printable(name: str) -> str:
    """Return a field name fit to repeat in a fault: a plain word, otherwise nothing."""
    return name if _PLAIN_NAME.fullmatch(name) else ""


def missing(name: str) -> InvalidData:
    """Return the refusal of a body without a field it needs."""
    return InvalidData.field(name, "is missing", f"send {name}")
