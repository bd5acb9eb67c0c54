"""What exists is described, and what is described exists; the README's examples run."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from service.api.http import problems
from service.config import Settings
from tests.desk import run
from tests.pages import ROOT, blocks, page


def described(name: str) -> set[str]:
    """The terms a page's tables describe: what stands in backquotes in the first column."""
    return set(re.findall(r"^\| `([^`]+)`", page(name), re.MULTILINE))


@cache
def source() -> tuple[ast.AST, ...]:
    """Every node of those modules of the service that speak of a code at all."""
    texts = (path.read_text("utf-8") for path in sorted((ROOT / "service").rglob("*.py")))
    return tuple(node for text in texts if re.search(r"\bcode\b", text) for node in ast.walk(ast.parse(text)))


def problem_codes() -> set[str]:
    """Every problem code the service spells out, whether as an argument or as an error's own."""
    position = {
        node.name: [argument.arg for argument in node.args.args].index("code")
        for node in source()
        if isinstance(node, ast.FunctionDef) and "code" in [argument.arg for argument in node.args.args]
    }
    found = {
        json.loads(bytes(problems.respond_status(status).body))["code"] for status in (400, 404, 405, 499)
    }
    marks = {  # of a verdict: no problem of a request
        id(keyword)
        for node in source()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Mark"
        for keyword in node.keywords
    }
    for node in source():
        for value in () if id(node) in marks else _values_of_code(node, position):
            choices = (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)
            found |= {
                each.value
                for each in choices
                if isinstance(each, ast.Constant) and isinstance(each.value, str)
            }
    return {code for code in found if code == code.lower()}  # lint findings and warnings are UPPER_SNAKE


def _values_of_code(node: ast.AST, position: dict[str, int]) -> Iterator[ast.expr]:
    """What a node gives the name `code`: by keyword, by position, or by assignment."""
    if isinstance(node, ast.keyword) and node.arg == "code":
        yield node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in position:
        yield from node.args[position[node.func.id] :][:1]
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "code":
        if node.value is not None:
            yield node.value
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id == "code":
                yield node.value
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                named = zip(target.elts, node.value.elts, strict=True)
                yield from (
                    value for name, value in named if isinstance(name, ast.Name) and name.id == "code"
                )


def test_every_setting_is_described() -> None:
    exist = {f"FORELOCK_{name.upper()}" for name in Settings.model_fields}
    client = {f"FORELOCK_{name}" for name in ("URL", "API_KEY", "RECORD", "ARM", "SPOOL")}
    gone = sorted(described("docs/settings.md") - client - exist)
    assert not gone, f"docs/settings.md: there is no {', '.join(gone)}"


def test_the_defaults_of_settings_are_the_ones_described() -> None:
    rows = {
        f"| `FORELOCK_{name.upper()}` | {'unset' if setting.default is None else f'`{setting.default}`'} | ": setting
        for name, setting in Settings.model_fields.items()
    }
    missing = [
        f"{row}{setting.description} |"
        for row, setting in rows.items()
        if f"\n{row}" not in page("docs/settings.md")
    ]
    assert not missing, "\n".join(["docs/settings.md has to say:", *missing])


def test_every_problem_code_is_described() -> None:
    codes, known = problem_codes(), described("docs/errors.md")
    assert codes <= known, f"docs/errors.md: describe {', '.join(sorted(codes - known))}"
    assert known <= codes, f"docs/errors.md: nothing answers {', '.join(sorted(known - codes))}"


# --- the examples run ---


@pytest.mark.xdist_group("desk")  # one service for all
def test_the_first_call_answers_as_the_readme_says(desk: Path) -> None:
    shown = blocks("README.md")
    (call, answer), (command, sentence) = (
        (shell, said)
        for (language, shell), (kind, said) in pairwise(shown)
        if language == "sh" and kind in ("json", "text")
    )
    assert_shows(json.loads(answer), json.loads(run(desk, call)))
    assert run(desk, command) == sentence


def assert_shows(shortened: object, whole: object) -> None:
    """Whatever the shortened answer shows stands in the whole one."""
    if isinstance(shortened, dict):
        assert isinstance(whole, dict)
        for name, value in shortened.items():
            assert_shows(value, whole[name])
    else:
        assert shortened == whole


AFTER_LOCK = re.compile(r"All\s+results\s+had\s+arrived.*?came\s+first\.", re.DOTALL)
"""How soon after the lock everything was in, which differs from run to run, and so where its lines end."""


@pytest.mark.xdist_group("desk")  # one service for all
def test_the_quickstart_ends_with_the_verdict_it_shows(desk: Path) -> None:
    """The shell blocks are one session; a line between marks off what each prints."""
    shown = blocks("docs/quickstart.md")
    scripts = [text for language, text in shown if language == "sh"]
    mark = "printf '\\n=====\\n'\n"
    ran = run(desk, mark.join(scripts))
    # Where the runner has worked before, the verdict may be there as soon as the last result is in.
    named = re.sub(r"\b[0-9a-f]{32}\b", "$ID", ran)
    named = re.sub(r"locked [0-9-]{10} [0-9:]{5} UTC", "locked 2027-01-04 09:00 UTC", named)
    said = named.replace("judged: 80 of 80", "complete: 80 of 80").split("\n=====\n")
    assert len(said) == len(scripts)
    expected = [
        (scripts.index(shell), text) for (language, shell), (kind, text) in pairwise(shown) if kind == "text"
    ]
    assert len(expected) == 3
    assert "begin{tabular}" in (desk / "report.tex").read_text("utf-8")
    assert (desk / "forest.pdf").read_bytes().startswith(b"%PDF")
    for number, text in expected:
        assert AFTER_LOCK.sub("soon", said[number]) == AFTER_LOCK.sub("soon", text)


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "CONTRIBUTING.md",
        *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md") if p.parent.name != "words"),
    ],
)
def test_links_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page(name)):
        if "://" not in target:
            assert (ROOT / name).parent.joinpath(target).exists(), target
