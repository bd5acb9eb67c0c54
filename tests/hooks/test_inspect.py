"""Inspect with its mock model: the hook is found by its entry point, and the task says nothing of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .conftest import Desk, N, baseline, candidate, post_baseline, received, rows

pytest.importorskip("inspect_ai", reason="inspect_ai is not installed: ./do test --all does it")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

MAPPING = {"format": "inspect", "scorer": "match"}
TASK = """
import os
import pathlib

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import match
from inspect_ai.solver import solver


@solver
def answers():
    async def solve(state, generate):
        number = int(state.sample_id.removeprefix("item-"))
        breaks = pathlib.Path("breaks")
        if number == int(os.environ.get("BREAKS_AT", "-1")) and breaks.exists():
            raise RuntimeError("no answer")
        if number == int(os.environ.get("CALLS_AT", "-1")):
            os.system(os.environ["CALLS"])
        right = number % int(os.environ["RIGHT_EVERY"]) == 0
        state.output = ModelOutput.from_content("mockllm/model", "yes" if right else "no")
        return state

    return solve


@task
def asked():
    samples = [Sample(id=f"item-{n}", input="?", target="yes") for n in range(ITEMS)]
    return Task(dataset=samples, solver=answers(), scorer=match())
"""


@pytest.fixture
def task(desk: Desk) -> Path:
    path = desk.folder / "asked.py"
    path.write_text(TASK.replace("ITEMS", str(N)))
    return path


def inspect(desk: Desk, prereg_id: str, arm: str, *arguments: str, **more: str):
    command = [sys.executable, "-m", "inspect_ai", *arguments]
    quiet = (
        ["--display", "plain", "--no-score-display", "--max-samples", "1"] if arguments[0] == "eval" else []
    )
    every = {"A": "3", "B": "1"}[arm]
    return desk.run(prereg_id, arm, *command, *quiet, RIGHT_EVERY=every, INSPECT_DISPLAY="plain", **more)


def test_two_runs_end_in_a_verdict_without_a_line_of_code(desk: Desk, task: Path) -> None:
    client = desk.start()
    prereg_id = desk.locked(client, **{"import": MAPPING})
    for arm in ("A", "B"):
        ran = inspect(desk, prereg_id, arm, "eval", task.name, "--model", "mockllm/model")
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert "the rows of this run are with the service" in ran.stdout + ran.stderr
    assert rows(client, prereg_id) == baseline() | candidate()
    assert not list((desk.folder / "spool").rglob("*.ndjson"))


def test_service_that_dies_during_the_run_loses_nothing(desk: Desk, task: Path) -> None:
    client = desk.start()
    prereg_id = desk.locked(client, **{"import": MAPPING})
    post_baseline(client, prereg_id)
    ran = inspect(
        desk, prereg_id, "B", "eval", task.name, "--model", "mockllm/model",
        CALLS_AT="5", CALLS=desk.killing(),
    )  # fmt: skip
    desk.stop()
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"{N} rows wait" in ran.stdout + ran.stderr
    status = desk.forelock(prereg_id, "spool", "status")
    assert f"{N} rows of arm B wait (inspect)" in status.stdout
    client = desk.start()
    assert received(client, prereg_id) == N
    sent = desk.forelock(prereg_id, "spool", "send")
    assert (sent.returncode, sent.stdout) == (0, f"{N} rows are with the service\n"), sent.stderr
    assert rows(client, prereg_id) == baseline() | candidate()


def break_off(desk: Desk, prereg_id: str, task: Path, **more: str) -> None:
    """Begin a run of the candidate that ends at its eighth sample."""
    (desk.folder / "breaks").touch()
    inspect(
        desk, prereg_id, "B", "eval", task.name, "--model", "mockllm/model",
        BREAKS_AT="7", INSPECT_LOG_DIR="b", **more,
    )  # fmt: skip


def retry(desk: Desk, prereg_id: str) -> None:
    """Run its rest, which breaks no more."""
    (desk.folder / "breaks").unlink()
    (log,) = (desk.folder / "b").glob("*.eval")
    again = inspect(desk, prereg_id, "B", "eval-retry", str(log), BREAKS_AT="7", INSPECT_LOG_DIR="b")
    assert again.returncode == 0, again.stdout + again.stderr


def test_retry_after_a_partial_run_completes_it(desk: Desk, task: Path) -> None:
    client = desk.start()
    prereg_id = desk.locked(client, **{"import": MAPPING})
    post_baseline(client, prereg_id)
    break_off(desk, prereg_id, task)
    assert N <= received(client, prereg_id) < 2 * N
    retry(desk, prereg_id)
    assert rows(client, prereg_id) == baseline() | candidate()


def test_run_that_began_without_the_hook_is_completed_by_its_retry(desk: Desk, task: Path) -> None:
    """Samples that the retry takes over are called by no hook: the finished log has them."""
    client = desk.start()
    prereg_id = desk.locked(client, **{"import": MAPPING})
    post_baseline(client, prereg_id)
    break_off(desk, prereg_id, task, FORELOCK_RECORD="")
    assert received(client, prereg_id) == N
    retry(desk, prereg_id)
    assert rows(client, prereg_id) == baseline() | candidate()


def test_error_of_a_run_that_ends_well_is_an_error(desk: Desk, task: Path) -> None:
    client = desk.start()
    prereg_id = desk.locked(client, **{"import": MAPPING})
    (desk.folder / "breaks").touch()
    post_baseline(client, prereg_id)
    ran = inspect(
        desk, prereg_id, "B", "eval", task.name, "--model", "mockllm/model", "--no-fail-on-error",
        BREAKS_AT="7",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert rows(client, prereg_id) == baseline() | candidate() | {("B", "item-7"): (None, "error")}
