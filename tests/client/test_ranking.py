"""`forelock rank` reads what every question reads: long and wide tables, and a file for each system."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forelock.local import Local
from forelock.problem import FileFault
from forelock.questions.rank import rank
from forelock.questions.tables.choices import Choices

ROWS = [("a", "x", 1, "p"), ("a", "y", 0, "p"), ("b", "y", 0.5, "q"), ("b", "x", 1, "q"),
        ("c", "x", 1, "p"), ("c", "y", 0, "p"), ("d", "y", 1, "q"), ("d", "x", 0, "q")]  # fmt: skip
LONG = "item_id,arm,value,cluster\n" + "".join(",".join(map(str, row)) + "\n" for row in ROWS)
WIDE = "item_id,x,y,cluster\na,1,0,p\nb,1,.5,q\nc,1,0,p\nd,0,1,q\n"
ASKED = {"arms": {"x": [1, 1, 1, 0], "y": [0, 0.5, 0, 1]}, "clusters": ["p", "q", "p", "q"]}


def asked_with(content, said=None, names=("results.csv",)):
    """The request that a leaderboard gets, and the remarks."""
    for name in names:
        Path(name).write_text(content)
    requests = []
    _, reading = rank(Local(), names, said or Choices(), lambda request: requests.append(request) or {})
    return requests[-1], list(reading.remarks)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("content", [LONG, WIDE, LONG.replace(",", ";"), WIDE.replace(",", "\t")])
def test_long_and_wide_tables_of_any_separator_ask_the_same(content):
    assert asked_with(content)[0] == ASKED


def test_what_a_system_lacks_is_a_gap_in_long_and_wide_tables():
    for content in (LONG + "e,x,1,p\nf,y,1,q\n", WIDE + "e,1,,p\nf,,1,q\n"):
        request, _ = asked_with(content)
        assert request["arms"] == {"x": [1, 1, 1, 0, 1, None], "y": [0, 0.5, 0, 1, None, 1]}
        assert request["clusters"] == [*ASKED["clusters"], "p", "q"]


def test_a_file_for_each_system_asks_the_same():
    for name in "xy":
        rows = [row for row in ROWS if row[1] == name]
        Path(name).write_text("item_id,value,cluster\n" + "".join(f"{i},{v},{c}\n" for i, _, v, c in rows))
    requests = []
    rank(Local(), ["x", "y"], Choices(form="csv"), lambda request: requests.append(request) or {})
    assert requests[-1]["arms"] == {"x": [1, 1, 1, 0], "y": [0, 0.5, 0, 1]}
    assert requests[-1]["clusters"] == ASKED["clusters"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (WIDE.splitlines()[0], "holds no results|no column|has no column"),
        (WIDE + "e,1\n", "line 6: has 2 cells where the header has 4"),
        (WIDE.replace("y", "x"), "names a column twice"),
        ("item_id,x\na,1\n", "no column 'value'|takes two systems or more, and holds one: results.csv"),
        (LONG + "a,x,1,p\n", "have the id and replicate of another"),
    ],
)
def test_what_is_no_such_table_is_refused(content, says):
    with pytest.raises(Exception, match=says):
        asked_with(content)


def test_a_column_that_is_named_for_clusters_is_no_system_and_text_is_none():
    """`repo` was no number for one command, and a measure for the other although it was named as the cluster."""
    content = "item_id,x,y,repo,note\n" + "".join(
        f"q{at},{at % 2},{at % 3 % 2},r{at % 3},words {at}\n" for at in range(12)
    )
    request, remarks = asked_with(content, Choices(cluster="repo"))
    assert list(request["arms"]) == ["x", "y"]
    assert request["clusters"][:4] == ["r0", "r1", "r2", "r0"]
    assert any("systems are the columns x, y; --arms names fewer" in remark for remark in remarks)
    _, remarks = asked_with(content)
    assert any("--cluster repo (3) if they do" in remark for remark in remarks)


def test_rows_without_an_id_are_items_of_a_wide_table():
    request, remarks = asked_with("x,y\n1,0\n0,1\n1,1\n")
    assert request["arms"] == {"x": [1, 0, 1], "y": [0, 1, 1]}
    assert any("items by (row)" in remark for remark in remarks)


def test_an_index_that_has_no_name_is_no_system():
    for header in (",x,y", "Unnamed: 0,x,y"):
        request, _ = asked_with(f"{header}\n0,1,0\n1,0,1\n2,1,1\n")
        assert list(request["arms"]) == ["x", "y"]


def test_columns_of_other_names_are_taken_where_they_are_plain_and_that_is_said():
    renamed = LONG.replace("item_id,arm,value,cluster", "Item ID,model,score,conversation")
    request, remarks = asked_with(renamed)
    assert request["arms"] == ASKED["arms"]
    assert "clusters" not in request
    assert any("items by Item ID, arms by model" in remark for remark in remarks)


def test_columns_are_named_where_several_could_be_meant():
    twice = LONG.replace("item_id,arm,value,cluster", "id,arm,value,task_id")
    with pytest.raises(FileFault, match=r"it has id, arm, value, task_id.*--set item_id=id"):
        asked_with(twice)
    request, _ = asked_with(twice, Choices(fields={"item_id": "id"}, cluster="task_id"))
    assert request == ASKED
    with pytest.raises(FileFault, match="has no column 'nowhere'; it has id"):
        asked_with(twice, Choices(fields={"item_id": "nowhere"}))


def test_rank_says_who_is_meant_and_carries_the_envelope(shell):
    Path("wide.csv").write_text(WIDE)
    status, output, errors = shell("rank", "wide.csv", "--json")
    assert (status, errors) == (0, "")
    answer = json.loads(output)
    assert (answer["question"], answer["answer"]["outcome"]) == ("rank", "ranked")
    assert {"cautions", "next", "provenance", "headline", "analysis"} <= set(answer)
    assert answer["provenance"]["files"][0]["path"] == "wide.csv"


def test_what_is_missing_counts_as_wrong_where_that_is_asked(shell):
    """As the same table with its gaps written as 0: in a column of its own, and as rows that are not there."""
    wide = "item_id,x,y,repo\n" + "".join(
        f"q{at},{at % 2},{'' if at % 5 == 0 else at % 3 % 2},r{at % 3}\n" for at in range(30)
    )
    whole = "item_id,x,y,repo\n" + "".join(
        f"q{at},{at % 2},{0 if at % 5 == 0 else at % 3 % 2},r{at % 3}\n" for at in range(30)
    )
    long = "item_id,arm,value,repo\n" + "".join(
        f"q{at},{arm},{value},r{at % 3}\n"
        for at in range(30)
        for arm, value in (("x", at % 2), ("y", at % 3 % 2))
        if arm == "x" or at % 5
    )
    answers = []
    for name, content, options in (
        ("gaps.csv", wide, ("--missing", "fail")),
        ("long.csv", long, ("--missing", "fail")),
        ("whole.csv", whole, ()),
    ):
        Path(name).write_text(content)
        status, output, _ = shell("rank", name, "--cluster", "repo", "--slice", "repo", *options, "--json")
        answers.append(
            {key: value for key, value in json.loads(output).items() if key not in ("provenance", "read")}
        )
        assert status == 0
    assert answers[0] == answers[1] == answers[2]
    assert (
        "note: 6 results that are not there count as wrong"
        in shell("rank", "gaps.csv", "--missing", "fail")[1]
    )
    Path("scores.csv").write_text("item_id,x,y\n" + "".join(f"q{at},{at},{at / 2}\n" for at in range(9)))
    status, _, errors = shell("rank", "scores.csv", "--missing", "fail")
    assert (status, "no worst is known" in errors) == (2, True)
