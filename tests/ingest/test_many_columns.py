"""Tables of as many columns as a small file holds: read in time that grows as the file does.

A look for each name among those before it took minutes of such files, and longer of larger ones.
"""

from __future__ import annotations

import json

import pytest

from tests.ingest.surveyed import survey_of

MANY = 100_000
NAMES = [f"c{at}" for at in range(MANY)]
pytestmark = pytest.mark.timeout(60)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("named.csv", f"{','.join(NAMES)}\n{','.join('1' for _ in NAMES)}\n"),
        ("unnamed.csv", f"{',' * (MANY - 1)}\n{','.join('1' for _ in NAMES)}\n"),
        ("split.json", json.dumps({"columns": NAMES, "data": [[1] * MANY]})),
    ],
)
def test_a_table_of_many_columns_is_looked_through(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    measures = survey_of(path, "csv" if name.endswith("csv") else "ndjson")["measures"]
    assert next(iter(measures)) == ("Unnamed: 0" if name == "unnamed.csv" else "c0")
