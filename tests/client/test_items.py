"""`forelock items`: several systems' files in, and what they tell of the items."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

RNG = np.random.default_rng(6)
TABLE = (RNG.normal(size=(30, 1)) + RNG.normal(size=12) + RNG.normal(size=(30, 12)) > 0).astype(int)


def write_long(name="all.csv", lacking=()):
    lines = ["item_id,arm,value"]
    lines += [
        f"q{item},s{arm},{value}"
        for item, row in enumerate(TABLE)
        for arm, value in enumerate(row)
        if (item, arm) not in lacking
    ]
    Path(name).write_text("\n".join(lines) + "\n")


def test_items_are_described_from_one_table(shell):
    write_long()
    status, output, errors = shell("items", "all.csv")
    assert (status, errors) == (0, "")
    assert "This describes these systems; it tests nothing." in " ".join(output.split())
    assert "KR-20" in output
    assert "ITEMS_CHOSEN_AFTERWARDS" in output
    assert "Read the items that run against the rest" in output


def test_no_items_against_the_rest_are_not_to_be_read(shell):
    for arm in "ab":
        Path(f"{arm}.csv").write_text("item_id,value\n" + "".join(f"q{at},{at % 2}\n" for at in range(12)))
    status, output, _ = shell("items", "a.csv", "b.csv")
    assert status == 0
    assert "and 0 run against the rest" in " ".join(output.split())
    assert "Read the items that run against the rest" not in " ".join(output.split())
    assert "No item runs against the rest" in " ".join(output.split())


def test_gaps_are_taken_and_items_called_by_their_ids(shell):
    write_long(lacking={(0, 0), (3, 5)})
    status, output, _ = shell("items", "all.csv", "--json")
    answer = json.loads(output)
    assert status == 0
    assert (answer["analysis"]["n"], answer["analysis"]["n_complete"]) == (30, 28)
    assert sorted(answer["item_ids"]) == sorted(f"q{at}" for at in range(30))
    for each in answer["analysis"]["negative"]:
        item = int(answer["item_ids"][each["item"]][1:])
        have = [arm for arm in range(12) if (item, arm) not in {(0, 0), (3, 5)}]
        assert each["mean"] == np.mean(TABLE[item, have])


def test_a_file_for_each_system(shell):
    for arm in range(3):
        lines = [f"q{item},{row[arm]}" for item, row in enumerate(TABLE)]
        Path(f"s{arm}.csv").write_text("item_id,value\n" + "\n".join(lines) + "\n")
    status, output, _ = shell("items", "s0.csv", "s1.csv", "s2.csv", "--markdown", "out.md")
    assert status == 0
    assert "FEW_ARMS_FOR_ITEMS" in output
    assert "s0.csv" in Path("out.md").read_text().replace("\\", "")


def test_systems_without_an_item_in_common_are_not_put_in_an_order(shell):
    Path("a.csv").write_text("item_id,value\n" + "".join(f"a{at},{at % 2}\n" for at in range(12)))
    Path("b.csv").write_text("item_id,value\n" + "".join(f"b{at},{at % 3 % 2}\n" for at in range(12)))
    status, out = shell("items", "a.csv", "b.csv")[:2]
    assert status == 0
    assert "24 that a single system has: nothing to be compared with" in " ".join(out.split())
    assert "above" not in out


def test_one_system_is_refused(shell):
    Path("one.csv").write_text("item_id,value\nq1,1\nq2,0\n")
    status, _, errors = shell("items", "one.csv")
    assert status != 0
    assert "takes two systems or more" in errors


def test_an_item_of_a_single_system_is_neither_dead_nor_apart(shell):
    rows = {
        "q1": {"a": 1, "b": 1},
        "q2": {"a": 1, "b": 0},
        "q3": {"a": 0, "b": 0},
        "q4": {"a": 1},
        "q5": {"b": 0},
    }
    lines = [f"{item},{arm},{value}" for item, row in rows.items() for arm, value in row.items()]
    Path("gaps.csv").write_text("item_id,arm,value\n" + "\n".join(lines) + "\n")
    status, output, _ = shell("items", "gaps.csv")
    assert status == 0
    assert output.startswith("4 of 5 items tell nothing of these 2 systems")
    assert "dead        2 on which all are alike: 1 best, 1 worst" in output
    assert "alone       2 that a single system has" in output
    assert [line.split("(")[0].split()[-1] for line in output.splitlines() if "%) " in line][:4] == [
        "1",
        "1",
        "1",
        "2",
    ]
