"""`forelock gate --items`: which items were gained and which were lost."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

GAINED, LOST, SAME = 14, 12, 30


@pytest.fixture
def pair(shell):
    for name, gained in (("base.csv", 0), ("cand.csv", 1)):
        values = [gained] * GAINED + [1 - gained] * LOST + [1] * SAME
        rows = "".join(f"q{at},{value},What is {at}?\n" for at, value in enumerate(values))
        Path(name).write_text("item_id,value,question\n" + rows)
    return "base.csv", "cand.csv"


def test_the_first_ten_of_each_are_shown_with_their_first_words(shell, pair):
    output = shell("gate", *pair, "--items")[1]
    assert f"  gained      {GAINED} items:" in output
    assert f"  lost        {LOST} items:" in output
    assert "    q0  0 to 1  What is 0?" in output
    assert output.count("0 to 1") == output.count("1 to 0") == 10
    assert "… and 4 more" in output


def test_the_lists_are_in_the_language_of_the_answer(shell, pair):
    output = shell("gate", *pair, "--items", "--lang", "zh", "--markdown", "out.md")[1]
    assert f"  变好        {GAINED} 个题目：" in output
    assert "    q0  0 变为 1  What is 0?" in output
    assert "…… 另有 4 个" in output
    assert f"<summary>变差的有 {LOST} 个题目</summary>" in Path("out.md").read_text()


def test_programs_and_tables_have_all_of_them(shell, pair):
    answer = json.loads(shell("gate", *pair, "--json", "--items", "changes.csv")[1])
    assert (len(answer["items"]["gained"]), len(answer["items"]["lost"])) == (GAINED, LOST)
    assert answer["items"]["n_same"] == SAME
    assert answer["items"]["gained"][0] == {
        "item_id": "q0", "baseline": 0.0, "candidate": 1.0, "input": "What is 0?",
    }  # fmt: skip
    with Path("changes.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["change"] for row in rows] == ["lost"] * LOST + ["gained"] * GAINED
    assert rows[-1]["item_id"] == f"q{GAINED - 1}"
    shell("gate", *pair, "--items", "changes.csv")
    assert len(Path("changes.csv").read_text().splitlines()) == 1 + LOST + GAINED


def test_a_comment_folds_them(shell, pair):
    shell("gate", *pair, "--items", "--markdown", "out.md")
    comment = Path("out.md").read_text()
    assert f"<details><summary>{GAINED} items gained</summary>" in comment
    assert comment.count("0 to 1") == GAINED
    assert "<details><summary>What was done</summary>" in comment


def test_a_file_of_results_is_not_written_over(shell, pair):
    before = Path("base.csv").read_bytes()
    status, output, errors = shell("gate", "--items", *pair, "cand.csv")
    assert (status, output) == (2, "")
    assert "write --items=FILE, or --items behind the files" in errors
    assert Path("base.csv").read_bytes() == before


def test_less_is_gained_where_lower_is_better(shell, pair):
    answer = json.loads(shell("gate", *pair, "--json", "--lower", "--items")[1])
    assert (len(answer["items"]["gained"]), len(answer["items"]["lost"])) == (LOST, GAINED)


def test_runs_are_averaged_and_items_of_one_arm_are_no_change(shell):
    Path("base.csv").write_text("item_id,run,value\na,1,0\na,2,1\nb,1,1\nb,2,1\nc,1,1\n")
    Path("cand.csv").write_text("item_id,run,value\na,1,1\na,2,1\nb,1,1\nb,2,1\nd,1,1\n")
    answer = json.loads(shell("gate", "base.csv", "cand.csv", "--json", "--items")[1])
    assert [item["item_id"] for item in answer["items"]["gained"]] == ["a"]
    assert (answer["items"]["lost"], answer["items"]["n_same"]) == ([], 1)


def test_no_spreadsheet_computes_what_a_data_set_asks(shell):
    """Whoever wrote the prompts is not whoever opens the table."""
    rows = ("=cmd|' /C calc'!A0,{},+1+1", "@SUM(A1),{},'quoted", "plain,{},-2-3")
    for name, value in (("base.csv", 0), ("cand.csv", 1)):
        lines = "\n".join(row.format(value) for row in rows)
        Path(name).write_text(f"item_id,value,question\n{lines}\n")
    shell("gate", "base.csv", "cand.csv", "--items=changes.csv")
    with Path("changes.csv").open(newline="") as file:
        told = [(row["item_id"], row["input"]) for row in csv.DictReader(file)]
    assert told == [
        ("'=cmd|' /C calc'!A0", "'+1+1"), ("'@SUM(A1)", "''quoted"), ("plain", "'-2-3"),
    ]  # fmt: skip
