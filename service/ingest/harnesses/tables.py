"""Rows of any origin: CSV, NDJSON, and Parquet where pyarrow is installed. A row's columns are its measures."""

from __future__ import annotations

import csv
import importlib
import io
import math
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from service.domain.plans.importing.mapping import Readable
from service.domain.plans.importing.table_import import TableImport
from service.errors import InvalidData
from service.ingest.documents import limits
from service.ingest.documents.files import Files
from service.ingest.documents.limits import printable, unreadable
from service.ingest.harnesses.harness import Harness, Row
from service.ingest.harnesses.samples import Measured, Reader, Sample
from service.ingest.repeated import find_repeated

if TYPE_CHECKING:
    from service.ingest.documents.json_values import Buffer

ROW = "(row)"
"""The place of a row's number, for tables whose rows have no id."""
_MOST_HEADER = 1 << 20
_NAMED = re.compile(rb"(?:\xef\xbb\xbf)?sep=([,;|\t])\r?\n")
"""The line by which spreadsheets tell one another the separator."""
_ROWS_AT_A_TIME = 500
"""Of Parquet: a dictionary lets every row repeat a long text that the file holds once. More at a time are no faster."""
_QUOTED = re.compile(rb'"[^"]*+"')


class TableFile(Reader):
    """One table: CSV, JSON lines or Parquet."""

    def __init__(
        self,
        files: Files,
        form: str,
        mapping: Readable | None = None,
        *,
        name: str | None = None,
    ) -> None:
        """`name` is that of the table among several files; None: there is one."""
        self._files = files
        self._name = name or files.only(f"*.{form}", what="the table", of="one file of rows")
        self._form = form
        of_table = mapping if isinstance(mapping, TableImport) else None
        self._status = None if of_table is None else of_table.status
        self._by_row = of_table is not None and of_table.item_id == ROW
        """Rows go by their number, which stands at `ROW`."""

    @override
    def samples(self) -> Iterator[Sample]:
        """Yield the rows of the table, one sample of each."""
        rows = {"csv": self._read_csv, "ndjson": self._read_json, "parquet": self._read_parquet}[self._form]()
        for number, (where, cells) in enumerate(rows, start=1):
            row = {**cells, ROW: str(number)} if self._by_row else cells
            status = row.get(self._status) if self._status is not None else "ok"
            if status not in ("ok", "error", "missing", None, ""):
                raise InvalidData.field(
                    "import.status",
                    f"{where} has another status than ok, error and missing",
                    "name the column",
                )
            event = status if status in ("error", "missing") else None
            yield Sample(where, row, _Cells(row), (f"row_{event}",) if event else ())

    def _read_csv(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Read the rows of a CSV file by line; the separator stands in a first line or is told by the header."""
        try:
            document = self._files.read(self._name)
            text = io.TextIOWrapper(io.BufferedReader(_Stream(document)), encoding="utf-8-sig", newline="")
            named = _NAMED.match(document)
            if named is not None:
                text.readline()
            separator = named[1].decode() if named is not None else _separator(document)
            reader = csv.reader(text, strict=True, delimiter=separator)
            header = _name_columns(next((cells for cells in reader if cells), []))
            twice = find_repeated(header)
            if twice is not None:
                raise unreadable(
                    "",
                    f"the header of the table names a column twice, '{printable(twice)}'; give one another name, or "
                    "put a line that names the columns above, if there is none",
                )
            first = True
            for cells in reader:
                if not cells:
                    continue
                where = f"line {reader.line_num}"
                if len(cells) != len(header):
                    above = "leave out what stands above the line that names the columns, or "
                    raise unreadable(
                        where,
                        f"has {len(cells)} cells where the header has {len(header)}; "
                        f"{above if first and len(cells) > len(header) else ''}mend the row, and put a cell that holds "
                        "the separator into quotes",
                    )
                first = False
                yield where, dict(zip(header, cells, strict=True))
        except csv.Error:
            raise unreadable(
                "", "the file is not CSV: check its quotes and the length of its cells"
            ) from None
        except UnicodeDecodeError:
            raise unreadable("", "the file is not UTF-8: save it as UTF-8") from None

    def _read_json(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Read the rows of a JSON file: one object per line, in an array, or an object of columns."""
        # CSV, which most tables are, is read without what reads JSON
        from service.ingest.documents.columns_object import columns_in
        from service.ingest.documents.json_values import loads, refuse_twice

        columns = columns_in(self._files.read(self._name))
        if columns is not None:
            names = list(columns)
            for number, cells in enumerate(zip(*columns.values(), strict=True), start=1):
                yield f"entry {number}", dict(zip(names, cells, strict=True))
            return
        for where, line in self._objects():
            row = loads(line, where)
            if not isinstance(row, dict):
                raise unreadable(where, "is not a JSON object")
            # More colons than keys: in a text, or for a key that is there twice.
            if line.count(b":") > len(row):
                refuse_twice(line, where)
            yield where, row

    def _objects(self) -> Iterator[tuple[str, bytes]]:
        """Yield every row's text: lines, or the elements of one array."""
        from service.ingest.documents import json_slices

        document = self._files.read(self._name)
        if not json_slices.begins_array(document):
            yield from ((f"line {number}", line) for number, line in self._files.lines(self._name))
            return
        start = json_slices.whole(document, "the file")
        for number, (begin, end) in enumerate(json_slices.elements(document, start, "the file"), start=1):
            yield f"entry {number}", bytes(document[begin:end])

    def _read_parquet(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Read the rows of a Parquet file in batches, none of them before its sizes are known to be bounded."""
        try:
            parquet = importlib.import_module("pyarrow.parquet")
        except ImportError:
            raise InvalidData.field(
                "", "this service reads no Parquet", "install forelock-server[parquet], or send CSV"
            ) from None
        arrow = importlib.import_module("pyarrow")
        try:
            source = parquet.ParquetFile(arrow.BufferReader(arrow.py_buffer(self._files.read(self._name))))
            _require_bounded(source.metadata)
            names = source.schema_arrow.names
            if len(set(names)) != len(names):
                raise unreadable("", "the table names a column twice; give one another name")
            number = size = 0
            for batch in source.iter_batches(batch_size=_ROWS_AT_A_TIME):
                # pandas' categories stay codes of a dictionary until here, which count once what every row repeats.
                columns = [
                    column.dictionary_decode() if arrow.types.is_dictionary(column.type) else column
                    for column in batch.columns
                ]
                size += sum(column.nbytes for column in columns)
                _require_inflated(size)
                for row in arrow.RecordBatch.from_arrays(columns, names).to_pylist():
                    number += 1
                    yield f"row {number}", row
        except (arrow.ArrowException, OSError):
            raise unreadable("", "the file is not Parquet, or is cut off") from None
        except (OverflowError, ValueError):  # Arrow keeps both unseen until Python asks for them
            raise unreadable(
                "", "a text of the table is not UTF-8, or a date is none of the calendar"
            ) from None


def _require_bounded(footer: Any) -> None:
    """Refuse by what the footer says, before anything is inflated: millions of equal rows take a few kilobytes."""
    if footer.num_rows > limits.MOST_SAMPLES:
        raise limits.too_large("the table has more rows", f"{limits.MOST_SAMPLES:,} rows")
    groups = [footer.row_group(index) for index in range(footer.num_row_groups)]
    _require_inflated(sum(group.total_byte_size for group in groups))
    # Entries of lists count one by one, and a run of equal ones is a few bytes.
    if (
        sum(group.column(at).num_values for group in groups for at in range(group.num_columns))
        > limits.MOST_CELLS
    ):
        raise limits.too_large("the table has more values", f"{limits.MOST_CELLS:,} values")


def _require_inflated(size: int) -> None:
    if size > limits.MOST_INFLATED:
        raise limits.too_large("the table is larger inflated", f"{limits.MOST_INFLATED // limits.MIB} MiB")


def _name_columns(header: list[str]) -> list[str]:
    """Columns without a name, such as a data frame's index, are called as data frames call them."""
    names = [name or f"Unnamed: {at}" for at, name in enumerate(header)]
    written = set(header)
    return [f"{name}.1" if not header[at] and name in written else name for at, name in enumerate(names)]


def _separator(document: Buffer) -> str:
    """Return a comma, or what stands in the first line where no comma does, outside of quotes."""
    end = document.find(b"\n", 0, _MOST_HEADER)
    head = _QUOTED.sub(b"", bytes(document[: end if end >= 0 else _MOST_HEADER]))
    if b"," in head:
        return ","
    return max(",;\t|", key=lambda separator: head.count(separator.encode()))


class _Cells(Mapping[str, Measured]):
    """A row's columns as measures, made when they are asked for."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        self._row = row

    @override
    def __getitem__(self, name: str) -> Measured:
        value = self._row[name]
        empty = value is None or value == "" or (isinstance(value, float) and math.isnan(value))
        return Measured(value, "unscored" if empty else None)

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._row)

    @override
    def __len__(self) -> int:
        return len(self._row)


class _Stream(io.RawIOBase):
    """A buffer as a stream, of which a piece at a time is copied."""

    def __init__(self, document: Buffer) -> None:
        self._view, self._at = memoryview(document), 0

    @override
    def readable(self) -> bool:
        """Tell whether it can be read, which it always can."""
        return True

    @override
    def readinto(self, into: Any) -> int:
        """Read the next piece into a buffer."""
        piece = self._view[self._at : self._at + len(into)]
        into[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)


HARNESS = Harness(
    formats=("csv", "ndjson", "parquet"),
    open=TableFile,
    content=("input|question|prompt", "target|expected|reference|gold"),
    row=Row(
        title="CSV, NDJSON, Parquet",
        reads="columns",
        by_itself=(
            "`item_id`, `value`; commas, semicolons, tabs or `|`; JSON lines, an array of rows, an object of columns; "
            "UTF-8 or UTF-16; percent signs; an index without a name is `Unnamed: 0`"
        ),
        to_say=(
            '`true`; ids that are numbers (`"integer_ids": "text"`); `status` where a column has it; '
            '`"item_id": "(row)"` where rows have no id. '
            "Parquet: `forelock-server[parquet]`"
        ),
    ),
    suffixes={".parquet": "parquet"},
)
