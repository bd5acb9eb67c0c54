"""Every statistical test and every warning has its page, and the pages say what the code says."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import get_args

import pytest

from service.domain.comparison import warning_kinds
from service.domain.plans.plan import TestUse
from service.domain.rules.feeding import read_parameters
from service.domain.rules.grammar import parse
from service.stats.shared.declaring import registry, warnings
from service.words import say
from tools.pages import tests as test_pages
from tools.pages.given_warnings import given_warnings
from tools.pages.tests import DOCS, HEADINGS

TESTS = registry.latest()
MODULES = sorted((DOCS.parent / "service").rglob("*.py"))
each = pytest.mark.parametrize("test", TESTS.values(), ids=list(TESTS))


def text_of(path):
    return (DOCS / path).read_text("utf-8")


@each
def test_every_test_has_words_and_a_page(test):
    assert (DOCS / "tests" / "words" / f"{test.name}.md").is_file(), "write docs/tests/words/<name>.md"
    assert f"`{test.name}`, version {test.version}." in text_of(f"tests/{test.name}.md")


def test_no_page_is_stale():
    assert test_pages.stale() == [], "run python -m tools.pages.tests"


def test_words_belong_to_a_registered_test():
    assert {path.stem for path in (DOCS / "tests" / "words").glob("*.md")} == set(TESTS)


@pytest.mark.parametrize("missing", HEADINGS)
def test_words_without_a_heading_or_without_text_are_refused(tmp_path, missing):
    words = dict(test_pages.read_words(DOCS / "tests" / "words" / "mcnemar.md"))
    path = tmp_path / "words.md"

    def write(found):
        path.write_text("\n".join(f"## {heading}\n\n{text}\n" for heading, text in found.items()))

    write(words)
    assert dict(test_pages.read_words(path)) == words
    write({heading: text for heading, text in words.items() if heading != missing})
    with pytest.raises(ValueError, match="needs the headings"):
        test_pages.read_words(path)
    write({**words, missing: ""})
    with pytest.raises(ValueError, match=f"says nothing under {missing}"):
        test_pages.read_words(path)


def test_the_index_has_every_test_under_what_it_is_asked():
    index = text_of("tests/README.md")
    assert all(f"[`{name}`]({name}.md)" in index for name in TESTS)
    headings = [say(f"pages.tests_{question}", "en") for question in get_args(registry.Question)]
    assert re.findall(r"^## (.+)$", index, re.MULTILINE) == headings


@each
def test_the_page_shows_every_field(test):
    page = text_of(f"tests/{test.name}.md")
    asked, answered = page.split("\n## Request\n")[1].split("\n## Answer\n")
    for name in test.request.model_fields:
        assert f"| `{name}` |" in asked
    for name, field in test.analysis.model_fields.items():
        assert (f"| `{name}` |" in answered) == (not field.exclude)


@each
def test_the_example_on_the_page_is_the_registered_one_with_its_answer(test):
    page = text_of(f"tests/{test.name}.md")
    request, answer = (json.loads(block) for block in re.findall(r"```json\n(.*?)\n```", page, re.DOTALL)[:2])
    assert request == json.loads(json.dumps(test.example))
    whole = test_pages.answer_to_example(test)
    assert answer["analysis"]["sentence"] == whole["analysis"]["sentence"]
    assert [each["code"] for each in answer["warnings"]] == [each["code"] for each in whole["warnings"]]


@each
def test_the_plan_entry_on_the_page_can_be_used(test):
    page = text_of(f"tests/{test.name}.md")
    entry = json.dumps(test_pages.plan_use(test))
    assert (entry in page) == (test.plan is not None)
    if test.plan is not None:
        read_parameters(TestUse.model_validate_json(entry))
        assert test_pages.plan_rule(test) in page
        assert parse(test_pages.plan_rule(test))


@each
def test_warnings_of_the_example_are_among_those_the_page_lists(test):
    listed = {kind.code for kind in given_warnings(test)}
    whole = test_pages.answer_to_example(test)
    assert {each["code"] for each in whole["warnings"]} <= listed
    page = text_of(f"tests/{test.name}.md")
    assert set(re.findall(r"^- \[`([A-Z_0-9]+)`\]", page, re.MULTILINE)) == listed


def test_every_warning_is_described_and_some_test_can_give_it():
    page = text_of("warnings.md")
    beside = {kind.code for kind in warning_kinds.KINDS}
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == sorted({*warnings.kinds(), *beside})
    given = {kind.code for test in TESTS.values() for kind in given_warnings(test)}
    assert set(warnings.kinds()) == given
    assert "{" not in page.replace("{name}", "")


def test_no_warning_is_given_under_a_code_that_no_page_describes():
    """A gate and a score take their codes from kinds, and a kind that no statistical test gives is listed."""
    spelled = []
    trees = {
        path: ast.parse(text)
        for path in MODULES
        if re.search("StatWarning|WarningKind", text := path.read_text("utf-8"))
    }
    for path, tree in trees.items():
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "StatWarning":
                spelled += [f"{path}:{call.lineno}" for each in call.keywords
                            if each.arg == "code" and isinstance(each.value, ast.Constant)]  # fmt: skip
    assert spelled == []
    made = {
        target.id
        for tree in trees.values()
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and getattr(node.value.func, "id", "") == "WarningKind"
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    assert made == {kind.code for kind in warning_kinds.KINDS}


def test_given_warnings_follow_functions_methods_tables_and_modules():
    def codes(name):
        return {kind.code for kind in given_warnings(TESTS[name])}

    assert codes("effect-size") == set(), "it imports from modules that define warnings, and gives none"
    assert {"FEW_CLUSTERS", "CAUTION"} <= codes("cluster-bootstrap"), (
        "through a method of a part of the request"
    )
    assert "BIC_APPROXIMATION" in codes("bayes-factor"), "through a function that the test calls"
    assert "MANY_TIED_SETS" in codes("leaderboard"), "through a function named by its module"


def test_links_lead_somewhere():
    for path in [*(DOCS / "tests").glob("*.md"), DOCS / "warnings.md"]:
        text = path.read_text("utf-8")
        for target, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]+))?\)", text):
            if "://" in target:
                continue
            there = (path.parent / target) if target else path
            assert there.exists(), (path.name, target)
            if anchor:
                headings = re.findall(r"^#+ (.+)$", there.read_text("utf-8"), re.MULTILINE)
                assert anchor in {heading.lower().replace(" ", "-") for heading in headings}, (
                    path.name,
                    anchor,
                )


def test_check_names_stale_pages_and_writing_mends_them(tmp_path, capsys):
    docs = tmp_path / "docs"
    (docs / "tests" / "words").mkdir(parents=True)
    for path in (DOCS / "tests" / "words").glob("*.md"):
        (docs / "tests" / "words" / path.name).write_text(path.read_text("utf-8"), "utf-8")
    assert test_pages.main(["--check"], docs) == 1
    assert "docs/tests/mcnemar.md is stale" in capsys.readouterr().out
    assert test_pages.main([], docs) == 0
    (docs / "tests" / "no-such-test.md").write_text("left behind")
    assert test_pages.main(["--check"], docs) == 1
    assert capsys.readouterr().out == "docs/tests/no-such-test.md is stale\n"


def test_numbers_are_short_and_long_lists_are_cut():
    shown = test_pages.shortened({"a": 1 / 3, "b": None, "c": [], "d": list(range(20)), "e": {"f": 0}})
    assert shown == {"a": 0.333333, "d": [*range(8), "and 12 more"], "e": {"f": 0}}


def test_docs_are_those_of_this_checkout():
    assert Path(__file__).resolve().parents[3] / "docs" == DOCS
