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
        r"none has a result|no result of|no value at all in score", refusal_of(shell, question, "all.csv")
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
