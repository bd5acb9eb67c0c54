"""The nudge between API and runner."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from service.processes.wake import SILENT_SECONDS, Alarm, goes_on, nudge


def test_a_nudge_ends_the_wait(tmp_path: Path) -> None:
    alarm = Alarm(tmp_path / "runner.sock")
    nudge(tmp_path / "runner.sock")
    alarm.wait(60)  # the suite's time limit would end a wait that did not hear it
    alarm.close()
    assert not (tmp_path / "runner.sock").exists()


def test_nudging_nobody_is_harmless(tmp_path: Path) -> None:
    nudge(tmp_path / "nobody.sock")


def test_a_path_too_long_for_a_socket_leaves_polling_that_still_rings(tmp_path: Path) -> None:
    alarm = Alarm(tmp_path / ("x" * 120))
    alarm.wait(0.001)
    waiter = threading.Thread(target=alarm.wait, args=(60,))
    waiter.start()
    alarm.ring()
    waiter.join(30)
    assert not waiter.is_alive()
    alarm.close()


def test_the_socket_is_for_its_owner_alone(tmp_path: Path) -> None:
    alarm = Alarm(tmp_path / "runner.sock")
    assert (tmp_path / "runner.sock").stat().st_mode & 0o077 == 0
    alarm.close()


def test_a_runner_that_comes_back_to_its_alarm_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "runner.sock"
    alarm = Alarm(path)
    os.utime(path, (0, 0))
    assert not goes_on(path, now=time.time())
    alarm.wait(60)  # for the nudge of the question
    assert goes_on(path, now=time.time())
    assert not goes_on(path, now=path.stat().st_mtime + SILENT_SECONDS + 1)
    alarm.close()


def test_a_runner_that_takes_no_nudge_any_more_is_told_by_its_time(tmp_path: Path) -> None:
    path = tmp_path / "runner.sock"
    alarm = Alarm(path)
    _fill(path)
    moment = path.stat().st_mtime
    assert goes_on(path, now=moment)
    assert not goes_on(path, now=moment + SILENT_SECONDS + 1)
    alarm.close()


def _fill(path: Path) -> None:
    """Nudge until no more is taken."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender, contextlib.suppress(BlockingIOError):
        sender.setblocking(False)
        while True:
            sender.sendto(b"!", str(path))


@pytest.mark.parametrize(("listens", "status"), [(True, 0), (False, 1)])
def test_the_health_check_is_a_command(tmp_path: Path, listens: bool, status: int) -> None:
    path = tmp_path / "runner.sock"
    alarm = Alarm(path)
    if not listens:
        alarm.close()
    check = subprocess.run(
        [sys.executable, "-m", "service.processes.wake", str(path)], capture_output=True, check=False
    )
    assert (check.returncode, check.stderr) == (status, b"")
    alarm.close()
