"""Runs a choice of tests in processes of their own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
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

PROCESSES = 2
"""That run tests beside each other; on more cores the types are checked by another, and little is left to win."""
UNKNOWN_SECONDS = 1.0
"""What a file is taken to need whose tests nobody has timed."""
WORTH_A_PROCESS = 2.5
"""Seconds of tests from which a second process ends sooner: it loads the libraries once more."""
POLL_SECONDS = 0.02

ALL_SLOW = 5
"""What pytest ends with where none of the chosen tests is one that it was asked for."""


def list_files(choice: Choice) -> list[str]:
    """The test files that hold what was chosen."""
    return sorted({*choice.changed, *(name.partition("::")[0] for name in choice.tests), *choice.importing})


def run_tests(choice: Choice, seconds: float) -> tuple[int, str]:
    """Runs what was chosen, on two cores, until a test fails: 0 and what pytest wrote where none does.

    Tests that were chosen by imports begin in the first `seconds` only.
    """
    with contextlib.ExitStack() as stack:
        runs = []
        for part in divide(choice, min(PROCESSES, os.cpu_count() or 1)):
            file = stack.enter_context(tempfile.NamedTemporaryFile("w", suffix=".json"))
            output = stack.enter_context(tempfile.TemporaryFile("w+"))
            arguments = write_choice(part, file, seconds=seconds)
            if arguments:
                run = subprocess.Popen(  # noqa: S603
                    [sys.executable, "-m", "pytest", *arguments],
                    cwd=ROOT,
                    env={**STEADY, **os.environ, ASKED: file.name},
                    stdout=output,
                    stderr=subprocess.STDOUT,
                )
                runs.append((run, output))
        return _wait_for_all(runs)


def _wait_for_all(runs: Sequence[tuple[subprocess.Popen[bytes], IO[str]]]) -> tuple[int, str]:
    """The status and output of the first that fails, which ends the others; else 0 and what all wrote."""
    waiting = list(runs)
    while waiting:
        for run, output in waiting:
            if run.poll() not in (None, 0, ALL_SLOW):
                for other, _ in waiting:
                    other.terminate()
                    other.wait()
                return run.returncode, _read_from_start(output)
        waiting = [(run, output) for run, output in waiting if run.returncode is None]
        time.sleep(POLL_SECONDS)
    return 0, "".join(_read_from_start(output) for _, output in runs)


def _read_from_start(output: IO[str]) -> str:
    output.seek(0)
    return output.read()


def divide(choice: Choice, most: int) -> list[Choice]:
    """At most so many parts of a choice that take about as long; a file is in one, which sets its fixtures up once."""
    files = sorted(list_files(choice), key=lambda name: -choice.seconds.get(name, UNKNOWN_SECONDS))
    parts: list[set[str]] = [set() for _ in range(most)]
    used = [0.0] * most
    for name in files:
        least = used.index(min(used))
        parts[least].add(name)
        used[least] += choice.seconds.get(name, UNKNOWN_SECONDS)
    if sum(used) < WORTH_A_PROCESS:
        return [choice]
    return [
        replace(
            choice,
            changed=[name for name in choice.changed if name in part],
            tests=[name for name in choice.tests if name.partition("::")[0] in part],
            importing=[name for name in choice.importing if name in part],
        )
        for part in parts
    ]


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
