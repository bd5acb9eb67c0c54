"""pytest, with workers, against a served service: two runs end in a verdict, and a service that dies loses nothing."""

from __future__ import annotations

import sys

import pytest

from .conftest import Desk, N, baseline, candidate, post_baseline, received, rows

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

TESTS = """
import os
import pytest

@pytest.mark.parametrize("number", range(ITEMS))
def test_item(forelock_record, number):
    forelock_record(f"item-{number}")
    if number == 5 and "CALLS" in os.environ:
        os.system(os.environ["CALLS"])
    if number == 7 and "BREAKS" in os.environ:
        raise OSError
"""


def run(desk: Desk, prereg_id: str, *arguments: str, **more: str):
    (desk.folder / "test_it.py").write_text(TESTS.replace("ITEMS", str(N)))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        *arguments,
    ]
    return desk.run(prereg_id, "B", *command, **more)


def test_run_with_workers_ends_in_a_verdict(desk: Desk) -> None:
    client = desk.start()
    prereg_id = desk.locked(client)
    post_baseline(client, prereg_id)
    ran = run(desk, prereg_id, "-n", "2")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert rows(client, prereg_id) == baseline() | candidate()


def test_service_that_dies_during_the_run_loses_nothing(desk: Desk) -> None:
    client = desk.start()
    prereg_id = desk.locked(client)
    post_baseline(client, prereg_id)
    ran = run(desk, prereg_id, CALLS=desk.killing())
    desk.stop()
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"{N} rows wait" in ran.stdout + ran.stderr
    client = desk.start()
    assert received(client, prereg_id) == N
    assert desk.forelock(prereg_id, "spool", "send").returncode == 0
    assert rows(client, prereg_id) == baseline() | candidate()


def test_run_that_was_stopped_is_completed_by_the_next(desk: Desk) -> None:
    client = desk.start()
    prereg_id = desk.locked(client)
    post_baseline(client, prereg_id)
    assert run(desk, prereg_id, "-x", BREAKS="1").returncode == 1
    assert received(client, prereg_id) == N + 7
    assert run(desk, prereg_id).returncode == 0
    assert rows(client, prereg_id) == baseline() | candidate()
