"""The nudge between API and runner."""

from __future__ import annotations

import threading
from pathlib import Path

from service.processes.wake import Alarm, nudge


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
