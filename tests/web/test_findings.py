"""What lint says of a plan, on the pages of either language."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

from service.domain.lint.lint import lint
from service.reports.chinese_findings import CODES, MESSAGES, pattern_of, told
from tests.domain.sample import findings, manifest, plan

DOMAIN = Path(__file__).resolve().parents[2] / "service" / "domain"


def spoken() -> Iterator[tuple[set[str], str | None]]:
    """Every place where lint says something: the codes it may have, and the message where it is spelled out there."""
    for path in sorted(DOMAIN.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        named = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name) and isinstance(node.value.value, str)
        }
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ("error", "warning")
                and len(node.args) == 3
            ):
                code, _path, message = node.args
                match code:
                    case ast.Constant(value=str(value)):
                        codes = {value}
                    case ast.Name(id=name) if name in named:
                        codes = {named[name]}
                    case _:  # chosen between, in the lines before
                        codes = {each.value for each in ast.walk(tree) if isinstance(each, ast.Constant)
                                 and isinstance(each.value, str) and each.value in CODES}  # fmt: skip
                        assert codes, f"{path.name}:{node.lineno}: which code is it?"
                yield codes, sample(message)


def sample(message: ast.expr) -> str | None:
    """The message with something for each of its parts; None where it is made elsewhere."""
    if isinstance(message, ast.Constant):
        return str(message.value)
    if isinstance(message, ast.JoinedStr):
        return "".join(str(each.value) if isinstance(each, ast.Constant) else "X" for each in message.values)
    return None


def test_every_code_has_chinese_words_and_nothing_else_has() -> None:
    assert {code for codes, _message in spoken() for code in codes} == set(CODES)
    assert all(any(letter >= "\u4e00" for letter in words) for words in CODES.values())


def test_every_translated_message_is_one_that_lint_says() -> None:
    said = {message for _codes, message in spoken() if message is not None}
    free = {"hypotheses.0.rule": "delta > 0 and m.p_value < 0.05", "hypotheses.0.statement": "C2 beats C1"}
    stated = {"assumptions": {"discordance": 0.2}}
    for changes in ({}, stated, free, {**free, **stated}):  # those that are put together elsewhere
        said |= {each.message for each in lint(plan(changes), {"one": manifest(500).facts()})}
    sections = {f"the plan has no {name}: X" for name in ("title", "sesoi", "missing", "tests", "stopping")}
    clauses = {
        f"`X` {says}: leave it out or mend its threshold" for says in ("always holds", "can never hold")
    }
    never = (
        "the rule can never be true: of all outcomes that X items can have, none makes it true, though each "
    )
    never += "clause could be met. To mend it, "
    said |= (
        sections
        | clauses
        | {f"{never}{way}" for way in ("plan more items (X would do)", "mend the thresholds")}
    )
    unsaid = [
        english
        for english in MESSAGES
        if not any(pattern_of(english).fullmatch(each) for each in said)
        and not english.startswith("the plan has no ")
    ]
    assert unsaid == []


@pytest.mark.parametrize("english", MESSAGES)
def test_a_message_keeps_its_parts(english: str) -> None:
    parts = [name for _, name, _, _ in Formatter().parse(english) if name]
    words = {name for _, name, _, _ in Formatter().parse(MESSAGES[english]) if name}
    assert words == {part for part in parts if not part.startswith("rest")}
    values = {name: f"part{at}" for at, name in enumerate(parts)}
    found = told("UNIT", english.format(**values), "zh")
    assert found.text == MESSAGES[english].format(**values)
    assert found.english == ""


def test_what_lint_says_of_a_plan_is_said_in_the_language_of_the_page() -> None:
    (missing,) = findings({"title": None})
    assert told(missing.code, missing.message, "en").text == missing.message
    assert told(missing.code, missing.message, "zh").text == "计划没有标题:请给计划起一个标题"
    hostile = told("SAME_ARM", "'{0.__class__}' is compared with itself: name two arms", "zh")
    assert hostile.text == "“{0.__class__}”与自己比较:请写两个臂"


def test_a_message_without_its_own_words_has_those_of_its_code_and_its_english() -> None:
    found = told("LOW_POWER", "with no true difference {x} the rule", "zh")
    assert (found.text, found.english) == (CODES["LOW_POWER"], "with no true difference {x} the rule")
    old = told("OF_ANOTHER_RELEASE", "said then", "zh")
    assert (old.text, old.english) == ("", "said then")
