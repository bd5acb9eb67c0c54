"""Runs a choice of tests in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from typing import IO

from .changes import ROOT
from .choose import Choice
from .selection import ASKED

BRIEF = "again"
"""Ten examples of a property and not forty, so that more tests have their turn."""

PLUGINS = {"forelock": None, "schemathesis": "schemathesis"}
"""Installed plugins that import a client or a generator of requests, a quarter of pytest's start, with the word of a
test file that needs one. Tests of the client's plugin start a pytest of their own."""

STEADY = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
"""What makes a test come out as in `./do test`. The plugins load numpy before `tests/conftest.py` can say how many
threads it has, and with two of them a sum differs in its last digit from the one that a calculator gives."""

ALL_SLOW = 5
"""What pytest ends with where none of the chosen tests is one that it was asked for."""


def list_files(choice: Choice) -> list[str]:
    """The test files that hold what was chosen."""
    return sorted({*choice.changed, *(name.partition("::")[0] for name in choice.tests), *choice.importing})


def run_tests(choice: Choice, seconds: float) -> tuple[int, str]:
    """Runs what was chosen until one fails: 0 and what pytest wrote where none does.

    Tests that were chosen by imports begin in the first `seconds` only.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        arguments = write_choice(choice, file, seconds=seconds)
        if not arguments:
            return 0, ""
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "pytest", *arguments],
            cwd=ROOT,
            env={**STEADY, **os.environ, ASKED: file.name},
            capture_output=True,
            text=True,
            check=False,
        )
    return 0 if done.returncode == ALL_SLOW else done.returncode, done.stdout + done.stderr


def write_choice(choice: Choice, file: IO[str], *, seconds: float, profile: str = BRIEF) -> list[str]:
    """Writes the choice to where the plugin reads it; gives pytest's arguments, or none where nothing was chosen."""
    present = [name for name in list_files(choice) if (ROOT / name).exists()]
    chosen = {"files": choice.changed, "tests": choice.tests, "spare": choice.importing, "seconds": seconds}
    json.dump(chosen, file)
    file.flush()
    options = ["-q", "-x", "-m", "not slow", "--hypothesis-profile", profile]
    plugins = ["-p", "no:cacheprovider", "-p", "tools.affected.selection"]
    for name in list_idle_plugins(present):
        plugins += ["-p", f"no:{name}"]
    return [*options, *plugins, *present] if present else []


def list_idle_plugins(files: Iterable[str]) -> list[str]:
    """The plugins that none of these test files needs."""
    texts = [(ROOT / name).read_text("utf-8") for name in files]
    return [name for name, word in PLUGINS.items() if word is None or not any(word in text for text in texts)]
