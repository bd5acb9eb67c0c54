"""The process that calls the outside: there when it is wanted, ended when it is silent, gone with the runner."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from service.config import Settings
from service.errors import Unavailable
from service.jobs.outgoing import RESTART_SECONDS, STEADY_SECONDS, OutgoingProcess, Restarts

SEAL_KEY = "sealed-3f9c2a71d0"
"""No word that an environment holds by itself: one is searched for it."""

BEATING = """
import os, sys, select, pathlib
line = bytearray()
while not line.endswith(b"\\n"):
    line += os.read(0, 1)
here = pathlib.Path(sys.argv[1])
(here / f"{os.getpid()}.json").write_bytes(bytes(line))
while not select.select([0], [], [], 0.02)[0]:
    os.write(0, b".")
"""
SILENT = BEATING.rpartition("while")[0] + "import time; time.sleep(600)"
ENDING = BEATING.rpartition("while")[0]


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., tuple[threading.Event, threading.Thread]]]:
    stopping, threads = threading.Event(), []

    def start(
        program: str, wanted: Callable[[], bool] = lambda: True, silent: float = 600
    ) -> threading.Thread:
        settings = Settings(data_dir=tmp_path, seal_private_key=SEAL_KEY, delivery_days=2)
        process = OutgoingProcess(
            settings, wanted, command=[sys.executable, "-c", program, str(tmp_path)], look_seconds=0.02,
            silent_seconds=silent,
        )  # fmt: skip
        thread = threading.Thread(target=process.run, args=(stopping,))
        threads.append(thread)
        thread.start()
        return thread

    start.stopping = stopping  # type: ignore[attr-defined]
    yield start  # type: ignore[misc]
    stopping.set()
    for each in threads:
        each.join(60)


def processes(place: Path, n: int) -> list[int]:
    """The numbers of the first `n` processes that were there."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        written = sorted(place.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
        if len(written) >= n and all(each.stat().st_size for each in written):
            return [int(each.stem) for each in written]
        time.sleep(0.02)
    raise AssertionError(f"fewer than {n} processes")


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_it_is_told_the_settings_and_lives_as_long_as_the_runner(started, tmp_path: Path) -> None:
    thread = started(BEATING)
    (pid,) = processes(tmp_path, 1)
    told = json.loads((tmp_path / f"{pid}.json").read_text())
    settings = Settings(**told)
    assert (settings.data_dir, settings.delivery_days) == (tmp_path, 2)
    assert settings.seal_private_key is not None
    assert settings.seal_private_key.get_secret_value() == SEAL_KEY
    assert SEAL_KEY.encode() not in Path(f"/proc/{pid}/environ").read_bytes()
    assert is_there(pid)
    started.stopping.set()
    thread.join(60)
    assert not is_there(pid)


def test_a_silent_one_is_ended_and_another_started(started, tmp_path: Path) -> None:
    started(SILENT, silent=0.3)
    first, *_ = processes(tmp_path, 2)
    assert not is_there(first)


@pytest.mark.parametrize("program", [ENDING, BEATING])
def test_one_that_ended_is_started_again(started, tmp_path: Path, program: str) -> None:
    started(program)
    (first, *_) = processes(tmp_path, 1)
    if program == BEATING:
        os.kill(first, signal.SIGKILL)
    processes(tmp_path, 2)


def test_one_that_keeps_ending_is_started_later_and_later_until_one_does_well() -> None:
    now = 0.0
    restarts = Restarts(lambda: now)
    pauses = []
    for _ in range(len(RESTART_SECONDS) + 1):
        restarts.begin()
        restarts.end()
        ended = now
        while not restarts.may_start():
            now += 0.5
        pauses.append(now - ended)
    assert pauses == [*RESTART_SECONDS, RESTART_SECONDS[-1]]
    restarts.begin()
    now += STEADY_SECONDS
    restarts.end()
    assert restarts.may_start()


def test_nothing_is_started_while_nothing_is_to_be_sent_or_the_database_is_away(
    started, tmp_path: Path
) -> None:
    asked: list[int] = []

    def is_wanted() -> bool:
        asked.append(1)
        if len(asked) == 2:
            raise Unavailable("away")
        return len(asked) > 4

    started(BEATING, is_wanted)
    processes(tmp_path, 1)
    assert len(asked) == 5
