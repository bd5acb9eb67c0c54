"""What exists is described, and what is described exists; the README's examples run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from service.api import problems
from service.config import Settings

ROOT = Path(__file__).resolve().parents[1]


def page(name: str) -> str:
    """A page's text."""
    return (ROOT / name).read_text("utf-8")


def described(name: str) -> set[str]:
    """The terms a page's tables describe: what stands in backquotes in the first column."""
    return set(re.findall(r"^\| `([^`]+)`", page(name), re.MULTILINE))


@cache
def source() -> tuple[ast.AST, ...]:
    """Every node of the service's source."""
    files = sorted((ROOT / "service").rglob("*.py"))
    return tuple(node for path in files for node in ast.walk(ast.parse(path.read_text("utf-8"))))


def problem_codes() -> set[str]:
    """Every problem code the service spells out, whether as an argument or as an error's own."""
    position = {
        node.name: [argument.arg for argument in node.args.args].index("code")
        for node in source()
        if isinstance(node, ast.FunctionDef) and "code" in [argument.arg for argument in node.args.args]
    }
    found = {code for code, _ in problems._BARE.values()}
    for node in source():
        for value in _values_of_code(node, position):
            choices = (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)
            found |= {each.value for each in choices if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    return {code for code in found if code == code.lower()}  # lint findings and warnings are UPPER_SNAKE


def _values_of_code(node: ast.AST, position: dict[str, int]) -> Iterator[ast.expr]:
    """What a node gives the name `code`: by keyword, by position, or by assignment."""
    if isinstance(node, ast.keyword) and node.arg == "code":
        yield node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in position:
        yield from node.args[position[node.func.id] :][:1]
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id == "code":
                yield node.value
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                named = zip(target.elts, node.value.elts, strict=True)
                yield from (value for name, value in named if isinstance(name, ast.Name) and name.id == "code")


def test_every_setting_is_described() -> None:
    exist = {f"FORELOCK_{name.upper()}" for name in Settings.model_fields}
    assert described("docs/settings.md") - {"FORELOCK_URL", "FORELOCK_API_KEY"} == exist


def test_every_problem_code_is_described() -> None:
    assert described("docs/errors.md") == problem_codes()
