"""Runs a choice of tests in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from .changes import ROOT
from .choose import Choice
from .selection import ASKED

BRIEF = "again"
"""Ten examples of a property and not forty, so that more tests have their turn."""


def list_files(choice: Choice) -> list[str]:
    """The test files that hold what was chosen."""
    return sorted({*choice.changed, *(name.partition("::")[0] for name in choice.tests), *choice.importing})


def run_tests(
    choice: Choice, seconds: float, checkout: Path = ROOT, limit: int | None = None, profile: str = BRIEF
) -> tuple[int, str]:
    """Runs what was chosen until one fails: 0 and what pytest wrote where none does.

    Tests that were chosen by imports begin in the first `seconds` only. A run that took `limit` seconds of CPU time is
    ended.
    """
    present = [name for name in list_files(choice) if (checkout / name).exists()]
    if not present:
        return 0, ""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        chosen = {"files": choice.changed, "tests": choice.tests, "spare": choice.importing}
        json.dump({**chosen, "seconds": seconds, "limit": limit}, file)
        file.flush()
        options = [
            "-q",
            "-x",
            "--hypothesis-profile",
            profile,
            "-m",
            "not slow",
            "-p",
            "no:cacheprovider",
            "-p",
            "tools.affected.selection",
        ]
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "pytest", *options, *present],
            cwd=checkout,
            env={
                "PYTHONHASHSEED": "0",
                **os.environ,
                ASKED: file.name,
                "PYTHONPATH": f"{checkout}{os.pathsep}{checkout / 'client'}",
            },
            capture_output=True,
            text=True,
            check=False,
        )
    # 5: all of them are slow ones.
    return 0 if done.returncode == 5 else done.returncode, done.stdout + done.stderr
