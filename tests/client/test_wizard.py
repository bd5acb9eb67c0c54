from __future__ import annotations

import io
import itertools
import json
import re
from collections.abc import Iterator

import pytest

from forelock import wizard
from forelock.words import Say
from service.domain.lint.lint import lint
from service.domain.plans.manifest import planned_facts
from service.domain.plans.plan import Plan
from tests.drawing import mostly_slow


def errors(plan: dict) -> list[str]:
    """What blocks a lock, with the items that the plan asks for."""
    parsed = Plan.from_dict(plan)
    (population,) = parsed.populations or ()
    facts = planned_facts(population.n, None if population.clusters is None else population.clusters.n)
    return [each.code for each in lint(parsed, {population.id: facts}) if each.severity == "error"]


def test_the_template_can_be_locked():
    assert errors(wizard.TEMPLATE) == []


@pytest.mark.parametrize(
    ("kind", "better", "claim", "clusters", "alpha"),
    mostly_slow(
        [
            ("1", "2", "1", "conversation", "1"),
            *itertools.product("12", "2", "123", [""], "2"),
            *itertools.product("12", "1", "123", ["", "conversation"], "1"),
        ],
        quick=7,
    ),
)
def test_what_the_questions_make_can_be_locked(kind, better, claim, clusters, alpha):
    after = ["20" if clusters else "one each", alpha, "A title"]
    answers: Iterator[str] = iter(
        ["a", "b", kind, "hit", better, claim, "5", "data v1", "400", clusters, *after]
    )
    plan = wizard.ask(lambda _question: next(answers))
    assert next(answers, None) is None
    assert errors(plan) == []


def test_an_answer_that_cannot_be_is_asked_for_again():
    answers = iter(
        [
            "a",
            "b",
            "3",
            "1",
            "hit",
            "1",
            "same",
            "better",
            "many",
            "-1",
            "5",
            "",
            "d",
            "x",
            "10",
            "",
            "w",
            "",
            "",
        ]
    )
    plan = wizard.ask(lambda _question: next(answers))
    assert plan["populations"][0]["n"] == 10
    assert plan["title"] == "b against a on d"


def test_a_question_that_is_asked_again_says_what_it_wants():
    asked: list[str] = []
    answers = iter(["a", "b", "3", "1", "hit", "", "1", "many", "5", "", "d", "x", "10", "", "w", "", ""])

    def read(question: str) -> str:
        asked.append(question)
        return next(answers)

    wizard.ask(read)
    assert "Write a number from 1 to 2:" in asked[3]
    assert "(a number above 0, such as 2)" in asked[8]
    assert "(cannot be empty)" in asked[10]
    assert "(a whole number above 0, such as 500)" in asked[12]


class Terminal(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_questions_that_end_early_leave_no_file(command, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", Terminal("old\nnew\n"))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    status, _, said = command("plan", "new", str(tmp_path / "plan.json"))
    assert status == 2
    assert "the questions ended without an answer; nothing is written" in said
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_is_refused_before_anything_is_asked(command, tmp_path, monkeypatch):
    (tmp_path / "plan.json").write_text("{}")
    monkeypatch.setattr("sys.stdin", Terminal(""))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    status, _, said = command("plan", "new", str(tmp_path / "plan.json"))
    assert status == 2
    assert said == f"forelock: {tmp_path / 'plan.json'}: is there already; choose another name\n"
    assert (tmp_path / "plan.json").read_text() == "{}"


def test_plan_new_writes_a_template_and_never_over_a_file(command, tmp_path):
    path = tmp_path / "plan.json"
    assert command("plan", "new", str(path))[0] == 0
    assert json.loads(path.read_text()) == wizard.TEMPLATE
    status, _, said = command("plan", "new", str(path))
    assert status == 2
    assert "is there already" in said


def test_plan_new_writes_json_and_under_no_name_that_says_markdown(command, tmp_path):
    status, _, errors = command("plan", "new", str(tmp_path / "plan.md"), "--template")
    assert (status, list(tmp_path.iterdir())) == (2, [])
    assert "the plan is written as JSON; name it" in errors
    assert "plan.json" in errors


def test_the_questions_are_chinese_in_a_chinese_terminal():
    asked: list[str] = []
    answers = iter(
        ["", "", "9", "对错", "", "2", "不比基线组差", "0", "5", "", "题库 v1", "400", "", "", "1", ""]
    )

    def read(question: str) -> str:
        asked.append(question)
        return next(answers)

    plan = wizard.ask(read, Say("zh"))
    assert next(answers, None) is None
    assert [
        question for question in asked if re.search("[A-Za-z]{3}", re.sub(r"accuracy|new|\[.*", "", question))
    ] == []
    (hypothesis,) = plan["hypotheses"]
    assert (hypothesis["claim"], plan["endpoints"][0]["better"]) == ("non_inferiority", "lower")
    assert plan["title"] == "题库 v1 上 new 与 old 的比较"
    assert errors(plan) == []
