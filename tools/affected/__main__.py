"""Runs the tests that what was changed may break: `python -m tools.affected [--all]`, the last step of `./do quick`.

What was changed is what differs from the last commit, or the last commit itself. It ends with 1 where a test fails, and
where no test reaches what was changed; and it says what it leaves to `./do test`.
"""

from __future__ import annotations

import sys
import time

from .changes import read_changes
from .choose import SECONDS, Choice, choose_tests
from .coverage_map import load_map
from .imports import ImportGraph
from .run import list_files, run_tests
from .selection import LEFT

SPARE_SECONDS = 6.0
"""Until when tests begin that were chosen by imports, whose time nobody knows; collecting them is in it, and starting
and types take the rest of ten seconds."""


def main(everything: bool = False) -> int:
    """Chooses, runs and reports; gives the exit status."""
    graph = ImportGraph()
    coverage = load_map().follow_moves(graph.texts.keys())
    choice = choose_tests(read_changes(), graph, coverage, float("inf") if everything else SECONDS)
    if not coverage.tests:
        _say("no map of what tests run (./do map makes one); chosen by imports alone")
    began = time.monotonic()
    status, output = run_tests(choice, float("inf") if everything else SPARE_SECONDS)
    if status:
        sys.stdout.write(output)
    outcome = "FAILED  " if status else "ok      "
    _say(f"{outcome} tests of {len(list_files(choice))} files ({time.monotonic() - began:.0f} s)")
    _say_rest(choice, output)
    return 1 if status or choice.untested else 0


def _say_rest(choice: Choice, output: str) -> None:
    skipped = sum(int(line.rpartition(" ")[2]) for line in output.splitlines() if line.startswith(LEFT))
    if choice.left + skipped:
        _say(f"left to ./do test: {choice.left + skipped} more tests of what was changed")
    if choice.left_files:
        _say(f"left to ./do test: {choice.left_files} more test files that import what was changed")
    for part in choice.untested:
        _say(f"no test runs {part}")


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main("--all" in sys.argv[1:]))
