"""One table in every layout that people keep it in: each question gives the same answer of all of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.drawing import draws, mostly_slow

ARMS = ("baseline", "candidate")
APART = ("provenance", "read")
"""What names the files and says how they were read."""


def lines(header, rows, separator=","):
    """A table as text; where there is no value a cell is empty."""
    cells = [header, *(["" if cell is None else str(cell) for cell in row] for row in rows)]
    return "\n".join(separator.join(row) for row in cells) + "\n"


def layouts(table):
    """By name the files of a table: by item, what the baseline and the candidate got, or None."""
    wide = [(f"q{at}", *values) for at, values in enumerate(table)]
    long = [(f"q{at}", arm, values[side]) for side, arm in enumerate(ARMS) for at, values in enumerate(table)]
    header, own = ["item_id", *ARMS], ["item_id", "arm", "value"]
    rows = [dict(zip(own, row, strict=True)) for row in long]
    of_system = {arm: [(item_id, value) for item_id, named, value in long if named == arm] for arm in ARMS}
    percent = [(*row[:2], None if row[2] is None else f"{100 * row[2]:g}%") for row in long]
    marked = [(*row[:2], "NA" if row[2] is None else row[2]) for row in long]
    columns = {name: list(column) for name, column in zip(header, zip(*wide, strict=True), strict=True)}
    return {
        "a column for each": {"all.csv": lines(header, wide)},
        "semicolons": {"all.csv": lines(header, wide, ";")},
        "tabs": {"all.tsv": lines(header, wide, "\t")},
        "UTF-16": {"all.csv": lines(header, wide).encode("utf-16")},
        "a row for each": {"all.csv": lines(own, long)},
        "no row where there is no value": {"all.csv": lines(own, [row for row in long if row[2] is not None])},
        "NA where there is no value": {"all.csv": lines(own, marked)},
        "other names": {"all.csv": lines(["question_id", "model", "score"], long)},
        "percent": {"all.csv": lines(own, percent)},
        "a JSON array": {"all.json": json.dumps(rows)},
        "JSON lines": {"all.jsonl": "".join(json.dumps(row) + "\n" for row in rows)},
        "JSON columns": {"all.json": json.dumps(columns)},
        "JSON by system": {"all.json": json.dumps({arm: dict(of_system[arm]) for arm in ARMS})},
        "JSON lines under another name": {"all.json": "".join(json.dumps(row) + "\n" for row in rows)},
        "a line that names the separator": {"all.csv": "sep=;\n" + lines(header, wide, ";")},
        "a file for each": {f"{arm}": lines(["item_id", "value"], of_system[arm]) for arm in ARMS},
    }  # fmt: skip


VALUES = st.sampled_from([0, 1, 1, None]) | st.sampled_from([0, 0.25, 0.5, 1])
TABLES = st.lists(st.tuples(st.sampled_from([0, 1]), VALUES), min_size=4, max_size=30).filter(
    lambda table: any(values[1] is not None for values in table)
)


def answers(shell, question, table):
    """By layout the answer of a question, less what tells the files."""
    told = {}
    for name, files in layouts(table).items():
        if name == "a file for each" and question == "score":
            continue  # files that are named together are of one system there
        for file, content in files.items():
            Path(file).write_bytes(content.encode() if isinstance(content, str) else content)
        inputs = [*files, *(["--format", "csv"] if name == "a file for each" else [])]
        status, output, errors = shell(question, *inputs, "--json")
        answer = json.loads(output) if output else {"refused": errors.replace(next(iter(files)), "FILE")}
        told[name] = {"status": status, **{part: answer[part] for part in answer if part not in APART}}
    return told


@pytest.mark.parametrize("question", mostly_slow(["gate", "rank", "score", "noise"], 2))
@given(table=TABLES)
@settings(max_examples=draws(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_table_has_one_answer_in_every_layout(shell, question, table):
    told = answers(shell, question, table)
    whole, absent = told["a column for each"], told.pop("no row where there is no value")
    assert {name: answer for name, answer in told.items() if answer != whole} == {}
    # of an item without a row only the figures are the same: that it lacks is told in other words
    parts = () if question == "score" else ("status", "headline", "answer")
    assert {part: absent.get(part) for part in parts} == {part: whole.get(part) for part in parts}
