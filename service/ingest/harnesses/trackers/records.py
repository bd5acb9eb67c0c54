"""Records of an export: elements of an array, of a list in an object, or lines; several files are pages of one run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from service.errors import InvalidData
from service.ingest.documents import json_slices, limits
from service.ingest.documents.files import Files
from service.ingest.documents.json_values import Buffer, loads, refuse_twice
from service.ingest.documents.limits import too_large, unreadable
from service.ingest.documents.numbers import DECIMAL
from service.ingest.harnesses.samples import Measured
from service.ingest.harnesses.tables import TableFile

BY_ROWS = 'write the frame by `to_csv`, or by `to_json(orient="records")`, a row at a time'
"""The way out where a data frame was written column by column, as pandas does unless it is told otherwise."""
_MOST_BESIDE = 1024 * 1024
"""Bytes of a member that stands beside the records and tells of their run."""


class Records:
    """The records of all files of an import, in the order of the files' names."""

    def __init__(
        self,
        files: Files,
        lists: Collection[str],
        what: str,
        *,
        way_out: str = "send the file as it was written",
    ) -> None:
        """`lists` are the names under which an object has its records.

        An import without any is refused as one without `what`, and `way_out` says what to do.
        """
        self._files, self._lists, self._what, self._way_out = files, frozenset(lists), what, way_out
        names = [name for name in files.names if not name.rpartition("/")[2].startswith(".")]
        self.names = sorted(names)
        self.beside: list[dict[str, Any]] = []
        """By file: what an object says beside its records; nothing for arrays, lines and tables."""
        self._parts: list[tuple[str, str, Buffer, int]] = []
        for name in self.names:
            self._look_at(name)
        if not self._parts:
            raise InvalidData.field("", f"the import holds no {what}", way_out)

    def _look_at(self, name: str) -> None:
        """Sort a document's parts by how they hold records, and keep what stands beside them."""
        # By how it begins, since names tell little: an array, no JSON at all (a table), one object after another, or
        # one object, which is read member by member so that a long list in it is not held twice.
        document = self._files.read(name)
        if json_slices.begins_array(document):
            self._parts.append(("array", name, document, json_slices.whole(document, name)))
            self.beside.append({})
        elif not json_slices.begins_object(document):
            if not len(document) or bytes(document[:1024]).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"", b"{"):
                raise unreadable(name, "is empty, or no JSON")
            self._parts.append(("table", name, document, 0))
            self.beside.append({})
        elif name.endswith((".jsonl", ".ndjson")) or not json_slices.is_one(document, name):
            self._parts.append(("lines", name, document, 0))
            self.beside.append({})
        else:
            beside, seen, is_list = {}, set[str](), False
            for key, begin, end in json_slices.top(document, name):
                if key in seen:
                    raise unreadable(name, "names a member twice")
                seen.add(key)
                if key in self._lists and document[begin : begin + 1] == b"[":
                    self._parts.append(("array", name, document, begin))
                    is_list = True
                elif end - begin <= _MOST_BESIDE and len(seen) <= limits.MOST_MEMBERS:
                    beside[key] = loads(bytes(document[begin:end]), name)
            self.beside.append(beside)
            if not is_list and not self.is_beside(beside):
                raise unreadable(name, f"holds no {self._what}: {self._way_out}")

    def is_beside(self, _document: Mapping[str, Any]) -> bool:
        """Tell whether an object without records tells of the run."""
        return False

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every record with its place."""
        several = len(self._parts) > 1
        for kind, name, document, position in self._parts:
            before = f"{limits.printable(name)} " if several else ""
            if kind == "table":
                for row in TableFile(self._files, "csv", name=name).samples():
                    yield before + row.where, dict(row.fields)
            elif kind == "lines":
                for number, line in self._files.lines(name):
                    where = f"{before}line {number}"
                    yield where, record(line, where)
            else:
                for number, (begin, end) in enumerate(
                    json_slices.elements(document, position, name), start=1
                ):
                    if end - begin > limits.MOST_ENTRY:
                        raise too_large("a record is larger", f"{limits.MOST_ENTRY >> 20} MiB in one")
                    where = f"{before}entry {number}"
                    yield where, record(bytes(document[begin:end]), where)


def record(piece: bytes, where: str) -> dict[str, Any]:
    """Return one object, that names no key twice."""
    value = loads(piece, where)
    if not isinstance(value, dict):
        raise unreadable(where, "is not an object")
    refuse_twice(piece, where)
    return value


def mapping(value: Any) -> dict[str, Any]:
    """Return an object, or an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list."""
    return [member for member in value if isinstance(member, dict)] if isinstance(value, list) else []


def add(measures: dict[str, Measured], name: Any, measured: Measured) -> None:
    """Add one more value of a name; a second one makes them `several`, in the order in which they stand."""
    if not isinstance(name, str) or not name:
        return
    before = measures.get(name)
    if before is None:
        measures[name] = measured
    elif before.event == "several":
        before.value.append(measured.value)
    else:
        measures[name] = Measured([before.value, measured.value], "several")


def measure_score(value: Any) -> Measured:
    """Return a value; none is unscored."""
    return Measured(value, "unscored" if value is None else None)


def measure_cell(value: Any) -> Measured:
    """Return a cell of a frame; no value is NaN there, which a metric that raised leaves as well."""
    if value is None or value == "" or value != value:
        return Measured(None, "grader_failed")
    if isinstance(value, str) and DECIMAL.fullmatch(value):
        return Measured(float(value))
    return Measured(value)


def only_source(entries: list[dict[str, Any]], member: str, source: str | None) -> list[dict[str, Any]]:
    """Return the records of one source, where the plan names one."""
    if source is None:
        return entries
    return [entry for entry in entries if entry.get(member) == source]
