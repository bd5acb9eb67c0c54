"""A pytest plugin that runs the chosen tests in their order, and stops where the time for the rest is over."""

from __future__ import annotations

import json
import os
import time

import pytest

ASKED = "FORELOCK_SELECTION"
"""Names the file that holds the choice."""
LEFT = "left for want of time:"


class Selection:
    """Runs whole files first, then single tests, then, while there is time, files chosen by their imports."""

    def __init__(self, files: list[str], tests: list[str], spare: list[str], seconds: float) -> None:
        self.files = {name: order for order, name in enumerate(files)}
        self.tests = {name: order for order, name in enumerate(tests)}
        self.spare = {name: order for order, name in enumerate(spare)}
        # Tests of one file stay together: fixtures of modules are set up once.
        self.of_tests: dict[str, int] = {}
        for name in tests:
            self.of_tests.setdefault(name.partition("::")[0], len(self.of_tests))
        self.end = time.monotonic() + seconds
        self.skipped = 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keeps what was chosen, in the order of choice."""
        kept = sorted(
            (item for item in items if self._order(item) is not None),
            key=lambda item: self._order(item) or (),
        )
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Leaves what time is too short for."""
        if (self._order(item) or (0,))[0] == 2 and time.monotonic() > self.end:
            self.skipped += 1
            pytest.skip("left to ./do test")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """How many tests there was no time for."""
        terminalreporter.write_line(f"{LEFT} {self.skipped}")

    def _order(self, item: pytest.Item) -> tuple[int, ...] | None:
        path = item.nodeid.partition("::")[0]
        if path in self.files:
            return 0, self.files[path]
        if item.nodeid in self.tests:
            return 1, self.of_tests[path], self.tests[item.nodeid]
        if path in self.spare:
            return 2, self.spare[path]
        return None


def pytest_configure(config: pytest.Config) -> None:
    """Reads the choice."""
    with open(os.environ[ASKED], encoding="utf-8") as file:
        config.pluginmanager.register(Selection(**json.load(file)))
