"""Which columns of a table `forelock gate` takes by itself, and which it asks about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def renamed(header, rows=((1, 0), (2, 1), (3, 1), (4, 0))):
    """Both files with these columns; every row is an id, cells of its digits, and what it measures."""
    for name, turn in (("base.csv", 0), ("cand.csv", 1)):
        lines = [
            ",".join([str(at), *["7"] * (header.count(",") - 1), str((value + turn) % 2)])
            for at, value in rows
        ]
        Path(name).write_text("\n".join([header, *lines]) + "\n")


@pytest.mark.parametrize("name", ["id", "question_id", "Sample", "example id", "name", "prompt"])
def test_gate_takes_the_one_column_that_is_plainly_the_id_and_says_so(shell, name):
    renamed(f"{name},value")
    status, output, errors = shell("gate", "base.csv", "cand.csv")
    assert (status, errors) == (12, "")
    assert f"note: items by {name}; --set item_id=… names another" in output
    assert json.loads(shell("gate", "base.csv", "cand.csv", "--json")[1])["read"]["item_id"] == name


@pytest.mark.parametrize("header", ["id,question_id,value", "number,value"])
def test_gate_asks_which_column_the_id_is_where_none_is_plain(shell, header):
    renamed(header)
    status, output, errors = shell("gate", "base.csv", "cand.csv")
    assert (status, output) == (2, "")
    column = header.partition(",")[0]
    assert f"it has {header.replace(',', ', ')}: add --set item_id={column}" in errors
    assert shell("gate", "base.csv", "cand.csv", "--set", f"item_id={column}")[0] == 12
    status, _, errors = shell("gate", "base.csv", "cand.csv", "--set", "item_id=nowhere")
    assert status == 2
    assert f"has no column 'nowhere'; it has {header.replace(',', ', ')}" in errors


def test_gate_never_takes_an_id_or_a_guess_for_the_measure(shell):
    renamed("id,latency,score")
    found = json.loads(shell("gate", "base.csv", "cand.csv", "--json")[1])
    assert found["read"] == {"format": "csv", "item_id": "id", "metric": "score"}
    renamed("id,latency,cost")
    status, output, errors = shell("gate", "base.csv", "cand.csv")
    assert (status, output) == (2, "")
    assert "it has id, latency, cost: add --metric latency or --metric cost\n" in errors
    assert shell("gate", "base.csv", "cand.csv", "--metric", "cost")[0] == 12


def test_gate_takes_the_arms_and_runs_that_a_table_names_and_says_so(shell):
    lines = [
        f"{at},{model},{epoch},{(at * epoch) % 2}" for model in "ba" for at in range(9) for epoch in (1, 2)
    ]
    Path("both.csv").write_text("\n".join(["id,model,epoch,value", *lines]))
    status, output, errors = shell("gate", "both.csv")
    assert (status, errors) == (12, "")
    assert output.startswith("Cannot tell whether a is better or worse than b: 0")
    assert "items by id, arms by model, runs of an item by epoch" in output
    assert "the baseline is 'b', which the file has first; --arms a,b turns them round" in output
    assert shell("gate", "both.csv", "--arms", "a,b")[1].startswith(
        "Cannot tell whether b is better or worse than a: 0"
    )
