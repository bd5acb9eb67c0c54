"""Runs tests in children of one process that has the libraries loaded: starting anew costs more than most tests."""

from __future__ import annotations

import importlib
import os
import resource
import sys
import tempfile
import traceback
from pathlib import Path

from tools.affected.choose import Choice
from tools.affected.run import ALL_SLOW, write_choice
from tools.affected.selection import ASKED

LIBRARIES = [
    "_pytest.config", "_pytest.assertion.rewrite", "hypothesis.strategies", "numpy", "scipy.stats", "scipy.optimize",
    "scipy.signal", "pydantic", "sqlalchemy.orm", "fastapi.testclient", "jinja2", "lark", "msgspec", "statsmodels.api",
]  # fmt: skip
HANG = 120
"""Seconds of CPU time after which a child is ended: the fault made a loop endless."""


def load_libraries(checkout: Path) -> None:
    """Loads what tests import and no fault is planted in; children find everything else in the copy."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ["PYTHONPATH"] = f"{checkout}{os.pathsep}{checkout / 'client'}"  # for what the tests start
    for name in LIBRARIES:
        importlib.import_module(name)


def run_in_fork(choice: Choice, checkout: Path, seconds: float, profile: str) -> tuple[int, str]:
    """As `run_tests`, in a copy of the checkout; a child that takes too long is ended, and has noticed the fault."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file, tempfile.TemporaryFile("w+") as output:
        arguments = write_choice(choice, file, seconds=seconds, profile=profile)
        if not arguments:
            return 0, ""
        sys.stdout.flush()  # else the child would write it once more
        child = os.fork()
        if child == 0:
            status = 1
            try:
                for stream in (1, 2):
                    os.dup2(output.fileno(), stream)
                os.environ[ASKED] = file.name
                os.chdir(checkout)
                sys.path[:0] = [str(checkout), str(checkout / "client")]
                resource.setrlimit(resource.RLIMIT_CPU, (HANG, HANG))
                status = _run_pytest(arguments)
            except BaseException:  # noqa: BLE001
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        _, ended = os.waitpid(child, 0)
        output.seek(0)
        status = os.waitstatus_to_exitcode(ended)
        return 0 if status == ALL_SLOW else status, output.read()


def _run_pytest(arguments: list[str]) -> int:
    import pytest

    # pytest would rewrite the asserts of its plugins, some of which are loaded.
    return int(pytest.main(["-W", "ignore::pytest.PytestAssertRewriteWarning", *arguments]))
