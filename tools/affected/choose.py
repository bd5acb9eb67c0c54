"""Which tests a change asks for, nearest first."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from .changes import Change
from .coverage_map import CoverageMap
from .imports import ImportGraph, is_test

OWN_PROCESSES = {"journeys", "browser", "chaos", "image", "simulation", "examples", "hooks"}
"""Rooms whose tests start servers, browsers or campaigns: run where they were changed, or where the map names them."""
PROSE = (".md", ".png", ".svg", ".ttf", ".txt", "LICENSE", "NOTICE", "ignore", ".editorconfig")
"""How files end that may change without a test that reads them: pages, pictures, lists for other programs."""
SECONDS = 9.0
"""CPU time of the tests that the map chooses, in two processes; starting, collecting and types take the rest of ten
seconds."""
EACH_PART = 0.5
"""How much longer they may take for every further changed function."""
PACKAGE_SECONDS = 0.8
"""What the first file costs that loads the service: numpy, scipy, pydantic and Hypothesis come with it."""
MODULE_SECONDS = 0.009
"""What one more of the checkout's modules costs to load: 0.006 of 785 with the whole API, 0.015 of a test's, whose
declarations become schemas."""
SHARED_BY = 8
"""Among how many tests of a file its loading is divided, as they are put in order."""
ITEM_SECONDS = 0.0005
"""What one more test costs to collect: all of a file are, whichever of them run."""
FILES = 6
"""How many files are chosen by imports, where nothing tells what they run and how long they take."""


@dataclass
class Choice:
    """The tests to run.

    Attributes:
        changed: test files that were changed, to be run whole.
        tests: single tests that run what was changed, in the order of choice.
        importing: test files to be run for their imports, nearest first.
        seconds: CPU time of the chosen tests of each file, its loading included.
        left: how many more tests run what was changed.
        left_files: how many more test files import it.
        untested: what was changed and no test reaches.
    """

    changed: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    importing: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    left: int = 0
    left_files: int = 0
    untested: list[str] = field(default_factory=list)


def choose_tests(
    changes: Iterable[Change], graph: ImportGraph, coverage: CoverageMap, seconds: float = SECONDS
) -> Choice:
    """The tests of what was changed.

    A changed test file runs whole. Of the tests that the map saw running a changed function, or reading a changed
    file, those run that cost no more than `seconds` together: tests of files that import the module come first, then
    tests that run little else; cheap ones before dear ones. Where the map knows nothing, the nearest importing files
    run.
    """
    choice = Choice()
    recorded = {name.partition("::")[0] for name in coverage.tests}
    importing: dict[str, tuple[bool, int]] = {}
    wanted: list[tuple[list[int], set[str]]] = []
    for change in changes:
        if is_test(change.path):
            choice.changed += [change.path] if change.path in graph.texts else []  # else it was deleted
            continue
        distances = {
            path: distance
            for path, distance in graph.measure_distances(change.path).items()
            if is_test(path) and path.split("/")[1] not in OWN_PROCESSES
        }
        near = {
            path for path, distance in distances.items() if distance == 1 or _bears_name(path, change.path)
        }
        columns = _find_columns(change, graph, coverage)
        reached = {part: coverage.bits[:, list(indices)].any(axis=1) for part, indices in columns.items()}
        wanted += [(np.flatnonzero(rows).tolist(), near) for rows in reached.values() if rows.any()]
        unseen = {path: distance for path, distance in distances.items() if path not in recorded}
        unreached = [part for part, rows in reached.items() if not rows.any()]
        if not unreached:  # the map knows; but new files it has not seen
            unseen = {path: distance for path, distance in unseen.items() if distance <= 2 or path in near}
        elif not unseen and not change.path.endswith(PROSE):
            choice.untested += unreached
        for path, distance in unseen.items():
            order = path not in near, distance - _count_shared_rooms(path, change.path)
            importing[path] = min(order, importing.get(path, order))
    nearest = sorted(importing.keys() - set(choice.changed), key=lambda path: (importing[path], path))
    choice.importing, choice.left_files = nearest[:FILES], len(nearest[FILES:])
    _choose_recorded(choice, graph, coverage, wanted, seconds)
    return choice


def _bears_name(test: str, path: str) -> bool:
    return test.endswith(f"/test_{path.rpartition('/')[2].partition('.')[0]}.py")


def _count_shared_rooms(test: str, path: str) -> int:
    """How many rooms the test's place mirrors: 2 of tests/stats/shared and service/stats/shared."""
    pairs = zip(test.split("/")[1:-1], path.removeprefix("client/").split("/")[1:-1], strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _find_columns(change: Change, graph: ImportGraph, coverage: CoverageMap) -> dict[str, list[int]]:
    """The columns of each changed part; of a part that the map does not know, those of its nearest kin.

    A line outside of functions counts as all functions of its module, or where it has none, as those of the modules
    that import it; so does a function that is new.
    """
    of_file: dict[str, list[int]] = {}
    by_name: dict[str, int] = {}
    kin = {change.path, *graph.importers.get(change.path, ())}
    for index, part in enumerate(coverage.parts):
        path = part.partition("::")[0]
        if path in kin:
            of_file.setdefault(path, []).append(index)
            by_name[part] = index
    whole = of_file.get(change.path) or [index for indices in of_file.values() for index in indices]
    if change.functions is None:
        return {change.path: whole}
    names = {f"{change.path}::{name}" for name in change.functions}
    return {name: [by_name[name]] if name in by_name else whole for name in sorted(names)}


def _is_served(path: str) -> bool:
    return path.startswith("service/")


class _Loading:
    """What collecting one more file costs, beside the files that are to be collected anyway."""

    def __init__(self, graph: ImportGraph, files: list[str], whole: Iterable[str]) -> None:
        self.graph = graph
        self.counts = Counter(files)
        self.modules: dict[str, set[str]] = {}
        self.loaded: set[str] = set()
        self.opened: set[str] = set()
        for name in whole:
            self.open(name)

    def measure(self, name: str) -> float:
        """Seconds of CPU time; 0 of a file that is open."""
        if name in self.opened:
            return 0.0
        if name not in self.modules:
            self.modules[name] = self.graph.list_loaded(name)
        modules = self.modules[name]
        packages = (
            0.0 if any(map(_is_served, self.loaded)) or not any(map(_is_served, modules)) else PACKAGE_SECONDS
        )
        return packages + MODULE_SECONDS * len(modules - self.loaded) + ITEM_SECONDS * self.counts[name]

    def open(self, name: str) -> None:
        """Count the file as one that is collected."""
        if name not in self.opened:
            self.opened.add(name)
            self.loaded |= self.modules.get(name) or self.graph.list_loaded(name)


def _choose_recorded(
    choice: Choice,
    graph: ImportGraph,
    coverage: CoverageMap,
    wanted: list[tuple[list[int], set[str]]],
    seconds: float,
) -> None:
    """Takes turns among the changed parts, so that each has a test before one has many."""
    files = [name.partition("::")[0] for name in coverage.tests]
    dropped = set(choice.changed)
    loading = _Loading(graph, files, choice.changed)
    breadth = np.sqrt(coverage.bits.sum(axis=1))
    queues = []
    reach: set[int] = set()
    for rows, near in wanted:
        counts: dict[str, int] = {}
        costs = []
        candidates = [row for row in rows if files[row] not in dropped]
        for row in sorted(candidates, key=lambda row: coverage.seconds[row] * breadth[row]):
            # The tenth test of a file tells less that is new than the first of another.
            repeats = counts[files[row]] = counts.get(files[row], 0) + 1
            weight = (0.2 if files[row] in near else 1.0) * (1 + repeats / 4)
            cost = coverage.seconds[row] + 0.01 + loading.measure(files[row]) / SHARED_BY
            costs.append((weight * cost * breadth[row], row))
        queues.append([row for _, row in sorted(costs)])
        reach.update(candidates)
    chosen: dict[int, None] = {}
    allowed = seconds + EACH_PART * max(len(queues) - 1, 0)
    for turn in range(max(map(len, queues), default=0)):
        for queue in queues:
            if turn >= len(queue) or queue[turn] in chosen:
                continue
            row = queue[turn]
            cost = coverage.seconds[row] + loading.measure(files[row])
            if turn == 0 or cost <= allowed:
                chosen[row] = None
                loading.open(files[row])
                allowed -= cost
                choice.seconds[files[row]] = choice.seconds.get(files[row], 0.0) + cost
    choice.tests = [coverage.tests[row] for row in chosen]
    choice.left = len(reach) - len(chosen)
