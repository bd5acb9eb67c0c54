"""Every question of every kind of file: an answer in the one form, or a refusal in words. Never a traceback."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest

from tests.client.layouts import COLUMNS, FILES, SINGLES, harness_inputs, pairs
from tests.drawing import one_in

QUESTIONS = ("score", "gate", "rank", "noise", "items", "resolve")
OF_ONE = ("score", "noise")
ANSWERS = (0, 10, 12)
MEMBERS = {"question", "headline", "answer", "cautions", "next", "provenance"}


def rows(values):
    return "\n".join(["item_id,repo,value", *(f"q{at},r{at % 9},{value}" for at, value in enumerate(values))])


SPECIAL = {
    "gaps": (rows([1, 0, "", 1, 1, "NA"] * 6), rows([1, "", 0, 1] * 9)),
    "all right": (rows([1] * 40), rows([1] * 40)),
    "all wrong": (rows([0] * 40), rows([0] * 40)),
    "all against all": (rows([1] * 40), rows([0] * 40)),
    "two items": (rows([1, 0]), rows([0, 1])),
    "no item in common": (rows([1, 0, 1]), rows([0, 1]).replace("q", "p")),
    "nothing but gaps": (rows(["", "", ""]), rows([1, 0, 1])),
    "large numbers": (rows([1e300, -1e300, 1e-300] * 9), rows([2e300, 1e300, 0] * 9)),
    "many rows": (rows([at % 3 % 2 for at in range(4000)]), rows([at % 5 % 2 for at in range(4000)])),
}
TABLES = {
    **pairs(),
    **{
        f"alone: {name}": {"all.json" if name in COLUMNS else "all.csv": text}
        for name, text in SINGLES.items()
    },
}
PAIRS = [inputs for inputs in harness_inputs() if len(inputs) == 2]


def assert_answered_or_refused(shell, question, *paths):
    status, output, errors = shell(question, *paths, "--json")
    told = output + errors
    assert "Traceback" not in told
    if status not in ANSWERS:
        assert status in (1, 2)
        assert errors.strip(), "a refusal says why"
        assert len(errors) < 5000
        return
    answer = json.loads(output, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
    assert answer.keys() >= MEMBERS
    assert answer["question"] == question
    assert answer["headline"].strip()
    assert answer["answer"]["outcome"]
    assert all(math.isfinite(x) for x in answer["answer"].values() if isinstance(x, float))
    assert all(len(file["sha256"]) == 64 for file in answer["provenance"]["files"])


def written(files):
    for name, content in files.items():
        Path(name).write_bytes(content)
    return list(files)


@pytest.mark.parametrize("question", one_in(3, QUESTIONS))
@pytest.mark.parametrize("table", SPECIAL)
def test_a_table_at_the_edge_is_answered_or_refused(shell, question, table):
    names = written({f"{at}.csv": text.encode() for at, text in enumerate(SPECIAL[table])})
    assert_answered_or_refused(shell, question, *(names[:1] if question in OF_ONE else names))


@pytest.mark.parametrize("label", ["cluster", "slice", "suite"])
def test_a_column_that_is_not_there_is_named_with_those_that_may_be_meant(shell, label):
    written({"a.csv": rows([1, 0, 1, 1] * 9).encode(), "b.csv": rows([1, 1, 0] * 12).encode()})
    status, _, errors = shell("gate", "a.csv", "b.csv", f"--{label}", "topic")
    told = " ".join(errors.split())
    assert status == 2
    assert "has no column 'topic'; it has item_id, repo, value" in told
    assert told.endswith(f"add --{label} repo")  # neither the ids nor the outcomes
    assert shell("gate", "a.csv", "b.csv", f"--{label}", "repo")[0] in ANSWERS


def test_noise_of_two_says_its_number_for_programs_as_the_others_do(shell):
    written({"a.csv": rows([1, 0, 1, 1] * 9).encode(), "b.csv": rows([1, 1, 0] * 12).encode()})
    told = json.loads(shell("noise", "a.csv", "b.csv", "--json")[1])["answer"]
    gated = json.loads(shell("gate", "a.csv", "b.csv", "--json")[1])["answer"]
    assert told.keys() == {*gated, "se"}
    assert all(told[part] == gated[part] for part in ("estimate", "level", "unit", "n"))


def test_what_is_computed_here_takes_one_thread_per_product(shell, monkeypatch):
    written({"a.csv": rows([1, 0, 1, 1] * 9).encode()})
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert shell("score", "a.csv")[0] == 0
    assert os.environ.pop("OPENBLAS_NUM_THREADS") == "1"
    assert os.environ["OMP_NUM_THREADS"] == "3"  # as somebody said it


def test_a_system_goes_by_the_name_of_its_file_in_every_question_of_one(shell):
    Path("runs").mkdir()
    written({"runs/a.csv": rows([1, 0, 1, 1] * 9).encode()})
    for question in OF_ONE:
        assert "runs/" not in json.loads(shell(question, "runs/a.csv", "--json")[1])["headline"]


@pytest.mark.slow  # what is quick of it is in test_first_hour
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("table", sorted(TABLES))
def test_a_table_of_any_kind_is_answered_or_refused(shell, question, table):
    names = written(TABLES[table])
    assert_answered_or_refused(shell, question, *(names[:1] if question in OF_ONE else names))


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("inputs", PAIRS, ids=" ".join)
def test_files_of_every_reader_are_answered_or_refused(shell, question, inputs):
    paths = [str(FILES / name) for name in inputs]
    assert_answered_or_refused(shell, question, *(paths[:1] if question in OF_ONE else paths))
