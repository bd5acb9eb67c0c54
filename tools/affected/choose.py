"""Which tests a change asks for, nearest first."""

from __future__ import annotations

import itertools
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
SECONDS = 6.0
"""CPU time of the tests that the map chooses; starting, collecting and types take the rest of ten seconds."""
EACH_PART = 0.5
"""How much longer they may take for every further changed function."""
FILE_SECONDS = 0.2
"""What one more file costs to collect, beyond the imports that files share."""
FILES = 6
"""How many files are chosen by imports, where nothing tells what they run and how long they take."""


@dataclass
class Choice:
    """The tests to run.

    Attributes:
        changed: test files that were changed, to be run whole.
        tests: single tests that run what was changed, in the order of choice.
        importing: test files to be run for their imports, nearest first.
        left: how many more tests run what was changed.
        left_files: how many more test files import it.
        untested: what was changed and no test reaches.
    """

    changed: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    importing: list[str] = field(default_factory=list)
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
    _choose_recorded(choice, coverage, wanted, seconds)
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


def _choose_recorded(
    choice: Choice, coverage: CoverageMap, wanted: list[tuple[list[int], set[str]]], seconds: float
) -> None:
    """Takes turns among the changed parts, so that each has a test before one has many."""
    files = [name.partition("::")[0] for name in coverage.tests]
    dropped = set(choice.changed)
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
            costs.append((weight * (coverage.seconds[row] + 0.01) * breadth[row], row))
        queues.append([row for _, row in sorted(costs)])
        reach.update(candidates)
    chosen: dict[int, None] = {}
    opened: set[str] = set()
    allowed = seconds + EACH_PART * max(len(queues) - 1, 0)
    for turn in range(max(map(len, queues), default=0)):
        for queue in queues:
            if turn >= len(queue) or queue[turn] in chosen:
                continue
            row = queue[turn]
            cost = coverage.seconds[row] + (FILE_SECONDS if files[row] not in opened else 0)
            if turn == 0 or cost <= allowed:
                chosen[row] = None
                opened.add(files[row])
                allowed -= cost
    choice.tests = [coverage.tests[row] for row in chosen]
    choice.left = len(reach) - len(chosen)
