"""The map of the house says what the docstrings say, of every module there is."""

from __future__ import annotations

import ast

from tools.pages.map import PAGE, ROOT, TREES, page


def test_the_page_is_what_the_docstrings_say():
    assert PAGE.read_text("utf-8") == page(), "run python -m tools.pages.map"


def test_every_module_is_on_it_under_its_room_and_says_something():
    found, room = {}, ""
    for line in page().splitlines():
        if line.startswith("## "):
            room = line.removeprefix("## `").removesuffix("`")
        elif line.startswith("| `"):
            name, says = line.strip("| ").split(" | ", 1)
            found[room + name.strip("`")] = says
    there = {
        path.relative_to(ROOT).as_posix()
        for top in TREES
        for path in (ROOT / top).rglob("*.py")
        if path.name != "__init__.py"
    }
    assert found.keys() == there
    assert all(len(says) > 10 for says in found.values())


def test_every_room_says_what_is_in_it():
    silent = [
        path.relative_to(ROOT).as_posix()
        for top in TREES
        for path in (ROOT / top).rglob("__init__.py")
        if not ast.get_docstring(ast.parse(path.read_text("utf-8")))
    ]
    assert not silent, "begin the room's __init__.py with one sentence"
