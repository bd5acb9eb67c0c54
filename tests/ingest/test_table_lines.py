"""Lines of a section that are of tables alone: the column of statuses, and rows that go by their number."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.errors import InvalidData
from service.ingest.documents.files import Files
from service.ingest.sections import table

SECTION = {"format": "csv", "item_id": "(row)", "metric": "value", "status": "state"}


def read(folder: Path, text: str):
    path = folder / "rows.csv"
    path.write_text(text)
    with path.open("rb") as file:
        (rows,) = table(Files.of(file, "rows.csv"), SECTION, "A")
    return rows["item_ids"], rows["values"], rows["status"]


def test_rows_go_by_their_number_and_a_column_says_their_status(tmp_path: Path):
    found = read(tmp_path, "value,state\n1,ok\n,error\n0,\n,missing\n")
    assert found == (["1", "2", "3", "4"], [1.0, None, 0.0, None], ["ok", "error", "ok", "missing"])


def test_a_status_that_is_none_is_refused(tmp_path: Path):
    with pytest.raises(InvalidData, match="status"):
        read(tmp_path, "value,state\n1,fine\n")
