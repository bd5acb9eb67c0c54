"""Prints the test files that what was changed may break: `python -m tools.affected`.

What was changed is what differs from the last commit, or the last commit itself. A test file is affected when it was
changed, bears the name of a changed module, or imports one. Tests that start servers, browsers or simulations only run
when they were changed themselves: `./do test` runs those.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SLOW = {"journeys", "browser", "chaos", "image", "simulation", "examples"}


def changed() -> set[Path]:
    """Files that differ from the last commit; where none does, those of the last commit."""
    found = _git("diff", "--name-only", "HEAD") | _git("ls-files", "--others", "--exclude-standard")
    return {ROOT / name for name in found or _git("diff", "--name-only", "HEAD~1", "HEAD")}


def affected(files: set[Path]) -> list[Path]:
    """The test files that these may break."""
    modules = {name for path in files if path.suffix == ".py" for name in [_module(path)]}
    named = {f"test_{path.stem}.py" for path in files if path.suffix == ".py"}
    return [
        test
        for test in sorted((ROOT / "tests").rglob("test_*.py"))
        if test in files or (not _is_slow(test) and (test.name in named or modules & set(imports(test))))
    ]


def imports(path: Path) -> Iterator[str]:
    """Modules that a file imports by name, and what it takes from them, which may be modules."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[1:] if parts[0] == "client" else parts)


def _is_slow(test: Path) -> bool:
    return test.relative_to(ROOT / "tests").parts[0] in SLOW


def _git(*arguments: str) -> set[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603, S607
    return set(done.stdout.splitlines())


if __name__ == "__main__":
    sys.stdout.writelines(f"{test.relative_to(ROOT)}\n" for test in affected(changed()))
