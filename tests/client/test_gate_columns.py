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


@pytest.mark.parametrize("header", ["题目,模型,得分", "题号,系统,是否正确"])
def test_columns_with_chinese_names_are_taken_as_those_with_english_ones(shell, header):
    rows = [f"q{at},{model},{at % shift > 0:d}" for model, shift in (("a", 2), ("b", 3)) for at in range(12)]
    Path("both.csv").write_text("\n".join([header, *rows]), encoding="utf-8")
    status, output, errors = shell("gate", "both.csv")
    assert (status, errors) == (12, "")
    assert f"items by {header.split(',')[0]}, arms by {header.split(',')[1]}" in output


def test_blanks_after_separators_are_no_part_of_a_number(shell):
    rows = [f"q{at}, {arm}, {at % 3 > 0:d}" for arm in ("a", "b") for at in range(9)]
    Path("both.csv").write_text("\n".join(["item_id, arm, value", *rows]))
    status, output, errors = shell("score", "both.csv", "--arm", " b")
    assert (status, errors) == (0, "")
    assert "66.7%" in output


@pytest.mark.parametrize("question", ["score", "gate", "rank", "noise", "items", "resolve"])
def test_a_table_without_names_of_columns_is_refused_whatever_its_cells_are(shell, question):
    Path("both.csv").write_text(
        "\n".join(f"q{at},{arm},{at % 3 > 0:d}" for arm in ("a", "b") for at in range(9))
    )
    status, _, errors = shell(question, "both.csv")
    assert status == 2
    assert "has no column 'item_id'" in errors
    # a column may be called as a number is written
    assert "'0'" not in shell(question, "both.csv", "--set", "item_id=0")[2]


def test_names_of_systems_and_numbers_of_runs_are_not_offered_as_outcomes(shell):
    rows = [
        f'{{"id": "q{at}", "model": "{arm}", "trial": {at % 2}, "scores": {{"a": 1}}}}'
        for arm in "ab"
        for at in (1, 2)
    ]
    Path("both.jsonl").write_text("\n".join(rows))
    for question in ("score", "gate", "noise"):
        status, _, errors = shell(question, "both.jsonl")
        assert status == 2
        assert "--metric" not in errors
        assert "see why no cell of scores holds an outcome (a list or an object is none)" in errors


def test_rows_within_an_object_are_pointed_out(shell):
    rows = [{"item_id": f"q{at}", "arm": arm, "value": at % 2} for arm in "ab" for at in range(4)]
    Path("both.json").write_text(json.dumps({"run": "one", "results": rows}))
    status, _, errors = shell("gate", "both.json")
    assert status == 2
    assert 'its rows seem to stand under "results": write that list into a file of its own' in errors
    Path("rows.json").write_text(json.dumps(rows))
    assert shell("gate", "rows.json")[0] == 12


@pytest.mark.parametrize("orient", ["split", "table"])
def test_data_frames_in_json_are_tables(shell, orient):
    names, cells = ["item_id", "arm", "value"], [[f"q{at}", arm, at % 2] for arm in "ab" for at in range(9)]
    data = [dict(zip(["index", *names], [at, *row], strict=True)) for at, row in enumerate(cells)]
    frames = {
        "split": {"columns": names, "index": list(range(18)), "data": cells},
        "table": {"schema": {"fields": [{"name": "index"}], "primaryKey": ["index"]}, "data": data},
    }
    Path("both.json").write_text(json.dumps(frames[orient]))
    status, output, errors = shell("gate", "both.json")
    assert (status, errors) == (12, "")
    assert "9 pairs" in output or "n = 9" in output or " 9" in output
