"""A pytest plugin that records what each test runs: `pytest -p tools.affected.recorder`, or `./do map`.

Every function of the checkout's own code gets one more statement as it is imported, which sets a byte of its own. That
costs next to nothing on every Python, where tracers halve the speed of 3.11. What other processes run is not seen.
"""

from __future__ import annotations

import ast
import builtins
import importlib.machinery
import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Generator, Sequence
from importlib.abc import MetaPathFinder
from types import CodeType, ModuleType
from typing import Any

import numpy as np
import pytest
from typing_extensions import override

from .changes import ROOT, list_functions
from .coverage_map import CoverageMap, add_to_map

RUNS = "_affected_runs"
PACKAGES = ("service", "forelock", "benchmarks", "examples", "tools")
CAPACITY = 1 << 16
OTHER_FILES = 1 << 14
"""How many columns are kept for files that are not Python, before those of functions."""

SAVED_EVERY = 60.0
"""Seconds after which what was recorded is added to the map, so that a run that is ended loses no more."""

_runs = bytearray(CAPACITY)
_columns: dict[str, int] = {}
_functions = iter(range(OTHER_FILES, CAPACITY))
_files = iter(range(OTHER_FILES))
_caches: dict[str, list[Any]] = {}


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles a module with a statement more in every function; never from cached bytecode, nor into it."""

    @override
    def get_code(self, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        source = self.get_data(path).decode("utf-8")
        tree = ast.parse(source, path)
        if path.startswith(f"{ROOT}{os.sep}"):
            _mark(tree, os.path.relpath(path, ROOT))
        code: CodeType = compile(tree, path, "exec", dont_inherit=True)
        return code


class _Finder(MetaPathFinder):
    @override
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] not in PACKAGES or fullname.startswith("tools.affected"):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is importlib.machinery.SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def _mark(tree: ast.Module, path: str) -> None:
    for name, node in list(list_functions(tree)):
        part = f"{path}::{name}"
        if part not in _columns:  # properties and overloads share a name, and a column
            _columns[part] = next(_functions)
        # The empty lines give the statement a line of the function, where tracebacks look for it.
        (statement,) = ast.parse("\n" * (node.body[0].lineno - 1) + f"{RUNS}[{_columns[part]}] = 1").body
        # After the docstring, which is one only as the first statement.
        node.body.insert(ast.get_docstring(node, clean=False) is not None, statement)


def _see_open(event: str, arguments: tuple[Any, ...]) -> None:
    """Audits what is opened: files of the checkout that are not Python."""
    if event != "open" or not isinstance(arguments[0], str) or arguments[0].endswith((".py", ".pyc")):
        return
    _note_file(arguments[0])


def _note_file(name: str) -> None:
    try:
        path = os.path.relpath(os.path.abspath(name), ROOT)
    except OSError:  # the working directory is gone; what audits may not fail the program
        return
    if path.startswith((".", "client/.")) or "__pycache__" in path:
        return
    column = _columns.get(path)
    if column is None:
        if not os.path.isfile(ROOT / path):
            return
        column = _columns[path] = next(_files)
    _runs[column] = 1


def _see_templates() -> None:
    """A template is read from its file once and then kept, so that asking for it counts as reading."""
    import jinja2

    load = jinja2.Environment.get_template

    def get_template(self: jinja2.Environment, name: Any, *rest: Any, **options: Any) -> jinja2.Template:
        template = load(self, name, *rest, **options)
        if template.filename is not None:
            _note_file(template.filename)
        return template

    jinja2.Environment.get_template = get_template  # type: ignore[method-assign]


def _take() -> np.ndarray:
    """What ran since this was last asked."""
    taken = np.frombuffer(bytes(_runs), bool)
    _runs[:] = bytes(CAPACITY)
    return taken


def _clear_caches() -> None:
    """What one test left in the caches of functions, the next would find there and not run."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in PACKAGES and name not in _caches:
            kept = [value for value in vars(module).values() if callable(getattr(value, "cache_clear", None))]
            _caches[name] = kept
    for functions in _caches.values():
        for function in functions:
            function.cache_clear()


def _read_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Recorder:
    """Notes what each test runs, with what its modules and its wider fixtures ran before it."""

    def __init__(self) -> None:
        nothing: np.ndarray = np.zeros(CAPACITY, bool)
        self.of_files: dict[str, np.ndarray] = defaultdict(lambda: np.packbits(nothing))
        self.of_fixtures: dict[tuple[str, str], np.ndarray] = defaultdict(lambda: nothing)
        self.rows: dict[str, tuple[float, np.ndarray]] = {}
        self.saved = time.monotonic()

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        """What importing a test file runs, all of its tests rest on."""
        if not isinstance(collector, pytest.Module):
            return (yield)
        _take()
        try:
            return (yield)
        finally:
            self.of_files[collector.nodeid] = np.packbits(_take())

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """What a fixture of many tests runs, it runs for all of them and not for the first alone."""
        if fixturedef.scope == "function":
            return (yield)
        before = _take()
        try:
            return (yield)
        finally:
            key = fixturedef.baseid, fixturedef.argname
            self.of_fixtures[key] = self.of_fixtures[key] | _take()
            _runs[:] = before.tobytes()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, Any, Any]:
        """One row of the map."""
        _clear_caches()
        _take()
        began = _read_seconds()
        try:
            return (yield)
        finally:
            runs = _take()
            wider = getattr(item, "_fixtureinfo", None)
            for definitions in wider.name2fixturedefs.values() if wider else ():
                for definition in definitions:
                    runs = runs | self.of_fixtures[definition.baseid, definition.argname]
            self.rows[item.nodeid] = _read_seconds() - began, np.packbits(runs)
            # Whole files: the map forgets a file's earlier tests when it gets new ones.
            ends_file = nextitem is None or _name_file(nextitem.nodeid) != _name_file(item.nodeid)
            if ends_file and time.monotonic() - self.saved > SAVED_EVERY:
                self.save()

    def pytest_sessionfinish(self) -> None:
        """Adds the rest to the map."""
        self.save()

    def save(self) -> None:
        """Adds what was recorded since this was last asked to the map."""
        self.saved = time.monotonic()
        if not self.rows:
            return
        parts = sorted(_columns, key=_columns.__getitem__)
        columns = [_columns[part] for part in parts]
        rows = [packed | self.of_files[_name_file(name)] for name, (_, packed) in self.rows.items()]
        bits = np.unpackbits(np.array(rows), axis=1)[:, columns].astype(bool)
        seconds = np.array([seconds for seconds, _ in self.rows.values()])
        add_to_map(CoverageMap(parts, list(self.rows), seconds, bits))
        self.rows.clear()


def _name_file(test: str) -> str:
    return test.partition("::")[0]


def pytest_configure(config: pytest.Config) -> None:
    """Begins to record; in a run of several processes each records its own tests."""
    config.pluginmanager.register(Recorder())


builtins.__dict__[RUNS] = _runs  # where every module looks last, however it was loaded
sys.meta_path.insert(0, _Finder())
sys.addaudithook(_see_open)
_see_templates()
