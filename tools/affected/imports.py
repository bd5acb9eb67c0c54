"""Who imports whom, in the checkout's own code: how many imports away from a file each test file is."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from .changes import ROOT

TREES = ("service", "client/forelock", "tools", "benchmarks", "examples", "migrations", "tests")
# Reading text is ten times as fast as parsing it, and an import that only a docstring holds costs one test file more.
STATEMENT = re.compile(
    r"^([ \t]*)(?:from\s+(\.*[\w.]*)\s+import\s+(\([^)]*\)|[^\n]*)|import\s+([^\n]*))", re.MULTILINE
)
WORD = re.compile(r"[\w.]+")
BY_NAME = re.compile(r"""import_module\(f["']([\w.]+)\.\{""")
"""An import of whatever a package holds."""


class ImportGraph:
    """The checkout's Python files, what imports them, and what loading one of them loads."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.texts = {
            path.relative_to(root).as_posix(): path.read_text("utf-8")
            for tree in TREES
            for path in sorted((root / tree).rglob("*.py"))
        }
        modules = {_name_module(path): path for path in self.texts}
        self.importers: dict[str, set[str]] = defaultdict(set)
        self.loads: dict[str, set[str]] = defaultdict(set)
        for path, text in self.texts.items():
            for name, at_once in _list_imports(path, text):
                if name in modules:
                    self.importers[modules[name]].add(path)
                    if at_once:
                        self.loads[path].add(modules[name])
            for package in BY_NAME.findall(text):
                # A register within its package would make all of it one: its tests bear their modules' names.
                if not _name_module(path).startswith(f"{package}."):
                    held = (module for module in modules if module.rpartition(".")[0] == package)
                    for name in held:
                        self.importers[modules[name]].add(path)
        for path, tests in _list_namesakes(self.texts):
            self.importers[path] |= tests

    def list_loaded(self, path: str) -> set[str]:
        """The checkout's own modules that importing this file loads, itself and for a test file its conftests among
        them; not those that its functions import when they are called.
        """
        rooms = path.split("/")[:-1] if is_test(path) else []
        conftests = ("/".join([*rooms[:depth], "conftest.py"]) for depth in range(1, len(rooms) + 1))
        waiting = [path, *(name for name in conftests if name in self.texts)]
        loaded = set(waiting)
        for current in waiting:
            more = self.loads.get(current, set()) - loaded
            loaded |= more
            waiting += more
        return loaded

    def measure_distances(self, path: str) -> dict[str, int]:
        """How many imports each file is away from this one, which need not be Python; 0 for itself.

        What is not Python is read by the files that write its name, or else that of its directory.
        """
        distances, waiting = {path: 0}, [path]
        for current in waiting:
            if current.endswith("conftest.py"):
                below = current.removesuffix("conftest.py")
                nearer = {name for name in self.texts if name.startswith(below)}
            elif current.endswith(".py"):
                nearer = self.importers[current]
            else:
                nearer = self._list_readers(current)
            for importer in nearer - distances.keys():
                # The conftest of all tests is no link: with it every test would be next to the store.
                if importer != "tests/conftest.py":
                    distances[importer] = distances[current] + 1
                    waiting.append(importer)
        return distances

    def _list_readers(self, path: str) -> set[str]:
        place = Path(path)
        templates = {
            other.relative_to(self.root).as_posix(): other.read_text("utf-8")
            for other in (self.root / place.parent).glob(f"*{place.suffix}")
            if place.suffix == ".html" and other.name != place.name
        }
        texts = {**self.texts, **templates}
        if place.name.split(".")[0] not in ("README", "__init__"):
            by_name = {name for name, text in texts.items() if place.name in text}
            if by_name:
                return by_name
        directory = re.compile(rf"""["'/]{re.escape(place.parent.name)}["'/]""")
        return {name for name, text in self.texts.items() if directory.search(text)}


def is_test(path: str) -> bool:
    """Whether pytest collects this file."""
    return path.startswith("tests/") and path.rpartition("/")[2].startswith("test_") and path.endswith(".py")


def _list_namesakes(paths: Iterable[str]) -> Iterator[tuple[str, set[str]]]:
    """Of each module the tests of its room that bear its name, or that of a package it is in.

    A registry imports what lies in its package by name, in which no reader of texts sees an import.
    """
    tests: dict[tuple[str, str], set[str]] = defaultdict(set)
    modules = []
    for path in paths:
        if is_test(path):
            room, name = path.split("/")[1], path.rpartition("/")[2]
            tests[room, name.removeprefix("test_")].add(path)
        else:
            modules.append(path)
    for path in modules:
        _, *rooms, name = path.split("/")
        room = "client" if path.startswith("client/") else next(iter(rooms), "")
        names = [name, *(f"{package}.py" for package in rooms[1:])]
        yield path, {test for name in names for test in tests.get((room, name), ())}


def _name_module(path: str) -> str:
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    return ".".join(parts[1:] if parts[0] == "client" else parts)


def _list_imports(path: str, text: str) -> Iterator[tuple[str, bool]]:
    """Names that may be modules, and whether they load with the file: what is indented waits, or is for types."""
    package = _name_module(path).split(".")
    if not path.endswith("__init__.py"):
        package.pop()
    for indent, source, names, plain in STATEMENT.findall(text):
        if plain:
            yield from ((name, not indent) for name in _words(plain.split(",")))
            continue
        base = source.lstrip(".")
        dots = len(source) - len(base)
        if dots:
            above = package[: len(package) - dots + 1]
            base = ".".join([*above, base] if base else above)
        yield base, not indent
        # Comments in a list of names hold words that are no modules, which does no harm.
        yield from ((f"{base}.{name}", not indent) for name in _words(names.strip("()").split(",")))


def _words(names: Iterable[str]) -> Iterator[str]:
    """The first word of each: `x as y` imports x."""
    for name in names:
        match = WORD.search(name)
        if match:
            yield match.group()
