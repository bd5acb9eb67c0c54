"""Systems without a single result, names that a shell misreads, and systems that are not where they are sought."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

OLD, NEW = [1, 0, 1, 1, 0, 1], [1, 1, 1, 0, 1, 1]
ASKED = ("gate", "rank", "noise", "items", "resolve")
ANSWERS = (0, 10, 12)


def write(name, header, rows):
    Path(name).write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")


def wide(names, *columns, name="all.csv"):
    write(name, f"id,{names}", [(f"q{at}", *row) for at, row in enumerate(zip(*columns, strict=True))])


def long(columns, header="id,model,score", name="all.csv"):
    write(
        name,
        header,
        [(f"q{at}", arm, cell) for arm, column in columns.items() for at, cell in enumerate(column)],
    )


def refusal_of(shell, *command):
    status, output, errors = shell(*command)
    assert (status, output) == (2, "")
    return " ".join(errors.split())


@pytest.mark.parametrize("question", ASKED)
@pytest.mark.parametrize("blank", ["", "NA"])
@pytest.mark.parametrize("layout", ["wide", "long"])
def test_a_system_without_a_result_is_named_and_the_other_is_offered(shell, question, blank, layout):
    none = [blank] * len(OLD)
    if layout == "wide":
        wide("baseline,candidate", OLD, none)
    else:
        long({"baseline": OLD, "candidate": none})
    told = refusal_of(shell, question, "all.csv")
    assert "baseline alone has results; there is none of candidate" in told
    assert "see why its run gave none, or ask 'forelock score' of baseline alone" in told
    status, output, _ = shell("score", "all.csv", "--json")
    assert (status, json.loads(output)["headline"][:30]) == (12, "Of 2 systems one has a score: ")
    assert shell("score", "all.csv", "--arm", "baseline")[0] == 0


@pytest.mark.parametrize("question", ASKED)
def test_a_column_without_a_value_beside_that_of_one_system_is_named(shell, question):
    wide("gpt,claude", OLD, [""] * len(OLD))
    told = shell(question, "all.csv")
    if question != "noise":  # which takes one system
        assert "there is none of claude" in told[2]


@pytest.mark.parametrize("question", ["rank", "items"])
def test_of_more_systems_one_without_a_result_is_left_out_and_told(shell, question):
    long({"a": OLD, "b": [""] * len(OLD), "c": NEW})
    status, output, _ = shell(question, "all.csv")
    assert status == 0
    assert "left out, since no result of it is there: b" in output
    assert "--arms a,c" in shell("gate", "all.csv")[2]  # and the two that can be compared are offered


def test_what_is_missing_may_count_as_failed_even_where_it_is_all(shell):
    long({"a": OLD, "b": [""] * len(OLD)})
    assert json.loads(shell("gate", "all.csv", "--missing", "fail", "--json")[1])["candidate_mean"] == 0
    assert shell("rank", "all.csv", "--missing", "fail")[0] == 0


@pytest.mark.parametrize("question", ASKED)
def test_a_file_of_no_result_at_all_says_so(shell, question):
    write("all.csv", "id,score", [(f"q{at}", "") for at in range(6)])
    assert re.search(
        r"none has a result|no result of|no cell of score holds an outcome",
        refusal_of(shell, question, "all.csv"),
    )


@pytest.mark.parametrize("question", ["gate", "rank", "items", "resolve"])
def test_the_file_of_one_system_is_sent_to_the_question_of_one(shell, question):
    write("all.csv", "id,score", enumerate(OLD))
    told = refusal_of(shell, question, "all.csv")
    assert "holds one: all.csv; name" in told
    assert "or ask 'forelock score' of all.csv alone" in told


@pytest.mark.parametrize("question", ["gate", "noise", "resolve"])
@pytest.mark.parametrize("names", [("old, v1", "new, v2"), ("-old", "--new"), ('the "old"', "a, b")])
def test_systems_of_any_name_can_be_named_as_it_is_printed(shell, question, names):
    quoted = ['"{}"'.format(name.replace('"', '""')) for name in names]
    wide(",".join(quoted), OLD, NEW)
    told = refusal_of(shell, question, "all.csv")
    way = re.search(r": add (--arms.*?)(?= or --metric|$)", told)[1]
    status, _, errors = shell(question, "all.csv", *shlex.split(way))
    assert (status in ANSWERS, errors) == (True, "")
    long(dict(zip(quoted, (OLD, NEW), strict=True)))
    turned = re.search(r"(--arms.*?) turns them round", " ".join(shell(question, "all.csv")[1].split()))[1]
    assert shell(question, "all.csv", *shlex.split(turned))[0] in ANSWERS


def test_a_system_that_is_not_there_is_answered_with_an_option_of_the_question(shell):
    wide("alpha,beta", OLD, NEW)
    told = refusal_of(shell, "score", "all.csv", "--arm", "gamma")
    assert told.endswith("add --arm alpha or --arm beta")
    assert shell("score", "all.csv", "--arm", "beta")[0] == 0


@pytest.mark.parametrize("question", ["gate", "rank", "noise", "score"])
def test_a_column_that_puts_an_item_into_two_slices_is_not_offered(shell, question):
    names = "a" if question == "score" else "ab"
    rows = [
        (item, name, run, (item + run) % 2, "even" if item % 2 else "odd")
        for name in names for item in range(8) for run in (1, 2)
    ]  # fmt: skip
    write("all.csv", "id,arm,run,score,kind", rows)
    told = refusal_of(shell, question, "all.csv", "--set", "replicate=run", "--slice", "nope")
    assert "--slice kind" in told
    assert question == "score" or "--slice arm" not in told
    assert "--slice run" not in told


@pytest.mark.parametrize("question", ["gate", "rank", "score", "items", "resolve"])
def test_a_column_of_systems_by_an_unknown_name_is_offered(shell, question):
    long({"a": OLD, "b": NEW}, header="id,who,score")
    told = refusal_of(shell, question, "all.csv")
    assert "add --set arm=who (if who names the systems)" in told
    assert shell(question, "all.csv", "--set", "arm=who")[0] in ANSWERS


def test_files_of_one_system_with_the_same_items_are_runs_or_systems(shell):
    write("a.csv", "id,score", enumerate(OLD))
    write("b.csv", "id,score", enumerate(NEW))
    told = refusal_of(shell, "score", "a.csv", "b.csv")
    assert "item '0' stands in several of the files a.csv, b.csv" in told
    assert told.endswith("add --set replicate=order (if each file is a run of the system)")
    answer = json.loads(shell("score", "a.csv", "b.csv", "--set", "replicate=order", "--json")[1])
    assert (answer["n"], answer["mean"]) == (6, pytest.approx(9 / 12))


def test_an_option_that_a_remark_names_is_one_of_the_command(shell):
    wide("baseline,candidate", OLD, NEW)
    assert "--arm names one" in shell("score", "all.csv")[1]
    assert shell("score", "all.csv", "--arm", "baseline")[0] == 0
    assert "--arms names fewer" in shell("rank", "all.csv")[1]


@pytest.mark.parametrize(
    ("head", "says"),
    [
        ("Results of May\n", "has 3 cells where the header has 1; leave out what stands above the line"),
        ("", "names a column twice, '1'; give one another name, or put a line that names the columns above"),
    ],
)
def test_a_first_line_that_names_no_columns_is_told(shell, head, says):
    header = "id,baseline,candidate\n" if head else ""
    Path("all.csv").write_text(f"{head}{header}q0,1,1\nq1,0,1\n")
    status, _, errors = shell("gate", "all.csv")
    assert status == 1
    assert says in " ".join(errors.split())


def test_a_table_of_counts_is_no_table_of_items(shell):
    Path("counts.csv").write_text("system,correct,total\ngpt,80,100\nclaude,85,100\n")
    for question in ("gate", "score"):
        assert "--set" not in shell(question, "counts.csv")[2]


def test_notes_that_nobody_wrote_are_no_system(shell):
    write("all.csv", "id,score,notes", [(f"q{at}", value, "") for at, value in enumerate(OLD)])
    assert "notes" not in refusal_of(shell, "gate", "all.csv")


def test_blank_lines_are_no_table(shell):
    Path("all.csv").write_text("\n\n  \n")
    assert "holds no results" in refusal_of(shell, "gate", "all.csv")


@pytest.mark.parametrize("question", ["gate", "rank"])
def test_of_files_that_hold_several_systems_each_none_are_taken_for_runs(shell, question):
    long({"a": OLD, "b": NEW}, name="may.csv")
    long({"a": NEW, "b": OLD}, name="june.csv")
    told = refusal_of(shell, question, "may.csv", "june.csv")
    assert (
        "may.csv: holds several systems by model, and each of several files is read as one system's" in told
    )
    assert told.endswith("name one file that holds all, or a file for each")
    more = ["--arms", "a,b"] if question == "gate" else []
    again = refusal_of(shell, question, "may.csv", "june.csv", "--set", "arm=model", *more)
    assert "stands in several" in again


def test_systems_over_several_files_of_different_items_are_ranked(shell):
    long({"a": OLD, "b": NEW}, name="may.csv")
    Path("june.csv").write_text(Path("may.csv").read_text().replace("q", "p"))
    told = refusal_of(shell, "rank", "may.csv", "june.csv")
    assert told.endswith("add --set arm=model (to read the systems that model names)")
    assert (
        json.loads(shell("rank", "may.csv", "june.csv", "--set", "arm=model", "--json")[1])["analysis"]["n"]
        == 12
    )


def test_ids_that_begin_anew_in_more_tasks_than_a_task_has_items_are_those_of_a_suite(shell):
    rows = [(at % 3, f"t{at // 3}", value) for at, value in enumerate(OLD * 3)]  # six tasks of three items
    write("all.csv", "id,task,score", rows)
    told = refusal_of(shell, "score", "all.csv")
    assert "add --suite task (if ids begin anew in every task)" in told
    assert "arm=task" not in told
    assert shell("score", "all.csv", "--suite", "task")[0] == 0
