"""`forelock noise`: a long table becomes the request that a service would get, and the answer says what to do next."""

from __future__ import annotations

import json

import pytest

from forelock.cli import main
from forelock.local import Local
from forelock.problem import ForelockError
from forelock.questions.noise import left_out, read_runs
from forelock.questions.noise import request_of as request_from
from forelock.questions.tables.choices import Choices

HEAD = "item,arm,run,judge,value\n"
ROWS = [
    (item, arm, run, judge, value)
    for place, item in enumerate("abcdef")
    for arm in ("old", "new")
    for run in "12"
    for judge, value in (("x", (place + (arm == "new")) % 3 / 2), ("y", (place + int(run)) % 2))
]


@pytest.fixture
def table(tmp_path):
    def write(content):
        path = tmp_path / "runs.csv"
        path.write_text(content, "utf-8")
        return str(path)

    return write


def request_of(path, arms=None):
    """The request of a table, and the remarks."""
    reading = read_runs(Local(), [path], Choices(arms=arms))
    return request_from(reading), [*reading.remarks, *left_out(reading)]


def lines(rows):
    return HEAD + "".join(",".join(map(str, row)) + "\n" for row in rows)


def test_rows_become_items_by_runs_by_judgements(table):
    found = request_of(table(lines(ROWS)), None)[0]
    assert found == {
        "baseline": [[[p % 3 / 2, (p + run) % 2] for run in (1, 2)] for p in range(6)],
        "candidate": [[[(p + 1) % 3 / 2, (p + run) % 2] for run in (1, 2)] for p in range(6)],
    }
    assert request_of(table(lines(ROWS)), "new,old")[0]["baseline"] == found["candidate"]
    # the order of rows changes the order of items alone
    again = request_of(table(lines(sorted(ROWS))), "old,new")[0]
    assert again == found


def test_words_first_then_numbers_then_what_to_do(table, capsys, monkeypatch):
    for name in ("FORELOCK_URL", "FORELOCK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    path = table(lines(ROWS))
    assert main(["noise", path, "--cost-item", "20", "--budget", "500"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("new is not shown to differ from old: ")
    assert told.index("variance of one judgement") < told.index("next: spend on")
    assert told.rstrip().endswith("exploratory: no plan was locked before these data")
    assert main(["noise", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["test"] == "repeated"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (lines([*ROWS, ROWS[0]]), "again by judge 'x'"),
        (lines([*ROWS, ("a", "third", 1, "x", 1)] * 2), "takes two arms and there are: old, new, third"),
        (
            lines([*ROWS, ("a", "old", 3, "x", "much")]),
            "have a text whose value is not said; the first is line 50",
        ),
        (lines(ROWS) + "a,old\n", "line 50: has 2 cells where the header has 5"),
    ],
)
def test_a_table_that_is_none_is_refused(table, content, says):
    with pytest.raises(ForelockError, match=says):
        request_of(table(content), None)


def test_items_of_one_arm_alone_and_runs_without_a_value_are_left_out_and_said(table):
    whole = request_of(table(lines(ROWS)))[0]
    more = [*ROWS, ("g", "old", 1, "x", 1), ("a", "old", 3, "x", "nan")]
    request, remarks = request_of(table(lines(more)))
    assert request == whole
    assert remarks[-2:] == [
        "1 runs without a value are left out",
        "1 items without a run in both arms are left out: g, …",
    ]


def test_where_no_run_was_repeated_its_noise_is_not_called_the_choice_of_items(table, capsys, monkeypatch):
    for name in ("FORELOCK_URL", "FORELOCK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    rows = "".join(f"q{at},old,{at % 2}\nq{at},new,{at % 3 % 2}\n" for at in range(24))
    path = table("item,arm,value\n" + rows)
    assert main(["noise", path]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "100% is the choice of items and the noise of runs, which single runs cannot tell apart" in told
    assert main(["noise", path, "--lang", "zh"]) == 0
    assert "题目的选取与运行的噪声，单次运行无法区分二者" in capsys.readouterr().out.replace("\n", "")


def test_a_table_without_runs_has_one_of_each_item(table, capsys, monkeypatch):
    for name in ("FORELOCK_URL", "FORELOCK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    path = table("item,value\n" + "".join(f"q{at},{at % 2}\n" for at in range(8)))
    assert main(["noise", path]) == 0
    assert "run every item several times" in " ".join(capsys.readouterr().out.split())


def test_columns_of_other_names_and_the_order_of_arms_are_said(table):
    found, remarks = request_of(
        table(lines(ROWS).replace("item,arm,run,judge", "qid,model,epoch,rater")), None
    )
    assert found == request_of(table(lines(ROWS)), None)[0]
    told = "; ".join(remarks)
    assert "the baseline is 'old', which the file has first; --arms new,old turns them round" in told
    assert "items by qid, arms by model" in told
    assert "runs by epoch, judgements by rater" in told


def test_one_system_is_told_by_its_reliability(table, capsys, monkeypatch):
    for name in ("FORELOCK_URL", "FORELOCK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    rows = [
        f"t{task},{trial},{int((task + trial) % 4 > task % 3)}" for trial in range(4) for task in range(12)
    ]
    path = table("\n".join(["task,trial,reward", *rows]))
    assert main(["noise", path]) == 0
    told = capsys.readouterr().out
    assert " ".join(told.split()).partition("gets")[0].endswith("runs.csv ")
    assert "  pass@2 " in told
    assert "  flaky       12: " in told
    assert "(2 of 4)" in " ".join(told.split())
    assert "next: look at the flaky items" in told
    assert main(["noise", path, "--json", "--at-least", "60%"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["test"], answer["analysis"]["least_share"]) == ("reliability", 0.6)
    assert answer["item_ids"][answer["analysis"]["flaky"][0]["item"]].startswith("t")


def test_one_of_several_arms_is_named_and_judgements_of_a_run_are_averaged(table):
    request, _ = request_of(table(lines(ROWS)), "new")
    assert request["item_ids"] == list("abcdef")
    assert request["values"][0] == [(1 / 2 + 1) / 2, (1 / 2 + 0) / 2]
    alone, _ = request_of(table(lines([row for row in ROWS if row[1] == "new"])), None)
    assert alone == request
    assert "baseline" in request_of(table(lines(ROWS)), "old,new")[0]


def test_a_budget_is_for_two_arms(table, capsys):
    path = table("item,run,value\na,1,1\na,2,0\n")
    assert main(["noise", path, "--budget", "5"]) == 2
    assert "--budget and --most-items are for two arms" in capsys.readouterr().err


def test_scores_of_one_system_have_a_worst_of_k(table, capsys, monkeypatch):
    for name in ("FORELOCK_URL", "FORELOCK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    path = table(
        "item,run,value\n" + "".join(f"q{at},{run},{at + run}\n" for at in range(4) for run in (1, 2))
    )
    assert main(["noise", path, "--ascii"]) == 0
    told = capsys.readouterr().out
    assert "runs.csv has a mean of 2.5 (95% CI " in " ".join(told.split())
    assert "best of 2" in told
    assert "q0 (mean 1.5 of 2)" in " ".join(told.split())


@pytest.fixture
def topics(table, monkeypatch):
    """Two systems, three runs; every other item is of another topic."""
    for name in ("FORELOCK_URL", "FORELOCK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    rows = [
        (
            f"i{item}",
            arm,
            run,
            int((item * 7 + run * (3 if arm == "old" else 5)) % 4 > item % 2),
            "ab"[item % 2],
        )
        for item in range(16)
        for arm in ("old", "new")
        for run in (1, 2, 3)
    ]
    return table("item,arm,run,value,topic\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)), rows


@pytest.mark.parametrize("arms", ["old,new", "new"])
def test_every_slice_is_answered_as_if_it_were_alone_at_its_share_of_alpha(topics, table, capsys, arms):
    path, rows = topics
    assert main(["noise", path, "--arms", arms, "--slice", "topic", "--json"]) == 0
    slices = json.loads(capsys.readouterr().out)["slices"]
    assert list(slices) == ["a", "b"]
    for topic, answer in slices.items():
        alone = "".join(",".join(map(str, row[:4])) + "\n" for row in rows if row[4] == topic)
        path = table(f"item,arm,run,value\n{alone}")
        assert main(["noise", path, "--arms", arms, "--alpha", "0.025", "--json"]) == 0
        assert answer["analysis"] == json.loads(capsys.readouterr().out)["analysis"]


def test_slices_are_said_below_the_whole_and_refused_where_an_item_has_two(topics, table, capsys):
    path, rows = topics
    assert main(["noise", path, "--slice", "topic"]) == 0
    said = capsys.readouterr().out
    assert "slice a: new is not shown to differ from old: " in " ".join(said.split())
    assert "slice b:" in said
    torn = [(*row[:4], "ab"[at % 2]) for at, row in enumerate(rows)]
    path = table("item,arm,run,value,topic\n" + "".join(",".join(map(str, row)) + "\n" for row in torn))
    assert main(["noise", path, "--slice", "topic"]) == 2
    assert "into two slices; mend one" in capsys.readouterr().err
