"""The map of the house: one line per module, from its docstring.

`python -m tools.pages.map` writes docs/map.md; a test compares it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "map.md"
TREES = ("service", "client/forelock", "tools")
HEAD = """\
<!-- Made by `python -m tools.pages.map`; change the docstrings, not this page. -->

# The map of the house

One line per module, from its docstring. Imports point downward: which room may know which is in `pyproject.toml`, and
`./do check` holds it. `tests/` mirrors this tree.
"""


def page() -> str:
    """The page as the docstrings say it now."""
    return HEAD + "".join(f"\n{line}" for room in _rooms() for line in _room(room))


def _rooms() -> Iterator[Path]:
    for top in TREES:
        root = ROOT / top
        yield from sorted({root, *(path.parent for path in root.rglob("*.py"))})


def _room(room: Path) -> Iterator[str]:
    yield f"## `{room.relative_to(ROOT).as_posix()}/`\n"
    said = _says(room / "__init__.py")
    if said:
        yield f"{said}\n"
    modules = [path for path in sorted(room.glob("*.py")) if path.name != "__init__.py"]
    if modules:
        yield "| Module | What it is |\n|---|---|"
        for path in modules:
            yield f"| `{path.name}` | {_says(path)} |"
        yield ""


def _says(path: Path) -> str:
    """The first paragraph of a module's docstring on one line; nothing where it has none."""
    said = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return " ".join(said.split("\n\n")[0].split()).replace("|", "\\|")


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
