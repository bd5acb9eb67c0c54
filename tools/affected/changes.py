"""What was changed: files, and of Python files the functions."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).resolve().parents[2]
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


@dataclass(frozen=True)
class Change:
    """A changed file.

    Attributes:
        path: relative to the checkout, with slashes.
        functions: qualified names of the changed functions; None where more than functions was changed, so that every
            line of the file may act otherwise.
    """

    path: str
    functions: frozenset[str] | None


def read_changes(root: Path = ROOT) -> list[Change]:
    """What differs from the last commit; where nothing does, what the last commit changed."""
    new = _git(root, "ls-files", "--others", "--exclude-standard").splitlines()
    names = _git(root, "diff", "--name-only", "HEAD").splitlines()
    if new or names:
        base = ["HEAD"]
    else:
        base = ["HEAD~1", "HEAD"]
        names = _git(root, "diff", "--name-only", *base).splitlines()
    changes = [Change(name, None) for name in new]
    return sorted(
        changes + [_read_change(root, name, base) for name in names], key=lambda change: change.path
    )


def list_functions(parent: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Every function of a module with its qualified name, outer ones first."""
    for node in ast.iter_child_nodes(parent):
        name = prefix
        if isinstance(node, Function | ast.ClassDef):
            name = f"{prefix}.{node.name}" if prefix else node.name
        if isinstance(node, Function):
            yield name, node
        yield from list_functions(node, name)


def name_changed_functions(source: str, lines: set[int]) -> frozenset[str] | None:
    """The innermost functions that hold these lines; None where one stands outside of all functions."""
    holders: dict[int, str] = {}
    try:
        functions = list(list_functions(ast.parse(source)))
    except SyntaxError:
        return None
    for name, node in functions:  # inner ones come later and win
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        holders.update(dict.fromkeys(range(first, (node.end_lineno or first) + 1), name))
    text = source.splitlines()
    # An empty line between functions is nobody's and breaks nothing.
    written = {line for line in lines if line > len(text) or text[line - 1].strip()}
    if not written <= holders.keys():
        return None
    return frozenset(holders[line] for line in written)


def _read_change(root: Path, name: str, base: list[str]) -> Change:
    path = root / name
    if path.suffix != ".py" or not path.exists():
        return Change(name, None)
    lines: set[int] = set()
    for start, count in HUNK.findall(_git(root, "diff", "-U0", *base, "--", name)):
        # Where lines were only taken out, the count is 0 and the start is the line before them.
        lines.update(
            range(int(start), int(start) + int(count or 1)) if count != "0" else [max(int(start), 1)]
        )
    return Change(name, name_changed_functions(path.read_text("utf-8"), lines))


def _git(root: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout  # noqa: S603
