"""The real processes: `forelock serve` with its API, its runner and their ends."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from .plans import items, locked, post, small_plan

COMMAND = [sys.executable, "-m", "forelock.cli"]


def quiet_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("FORELOCK_")}


@dataclass
class Served:
    """A `forelock serve` process and what it says."""

    data: Path
    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)

    def until(self, pattern: str) -> re.Match[str]:
        """Read its output up to the first line that matches."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if match := re.search(pattern, line):
                return match
        raise AssertionError("it ended early:\n" + "".join(self.lines))

    def client(self) -> httpx.Client:
        address = self.until(r"listens on (http://\S+)")[1]
        # nobody may be left to block on a full pipe
        threading.Thread(target=lambda: self.lines.extend(self.process.stdout or ()), daemon=True).start()
        secret = (self.data / "admin.key").read_text()
        return httpx.Client(base_url=address, headers={"Authorization": f"Bearer {secret}"}, timeout=60)


@contextlib.contextmanager
def serving(data: Path, *arguments: str) -> Iterator[Served]:
    process = subprocess.Popen(
        [*COMMAND, "serve", "--data", str(data), "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=quiet_environment(),
    )
    try:
        yield Served(data, process)
    finally:
        process.terminate()
        process.wait(60)
        if process.stdout is not None:
            process.stdout.close()


def children(pid: int) -> dict[str, int]:
    """The process's children by what they run: `api` or `runner`."""
    found = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            if int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) == pid:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                found[words[words.index(b"service.main") + 1].decode()] = int(entry.name)
    return found


def wait_for_verdict(client: httpx.Client, prereg_id: str) -> dict:
    while True:
        answer = client.get(f"/v1/preregistrations/{prereg_id}/verdict")
        if answer.status_code == 200:
            return answer.json()
        assert answer.json()["code"] == "verdict_pending", answer.text
        time.sleep(0.05)


@pytest.mark.timeout(120)
def test_a_served_plan_gets_its_verdict_from_the_runner_even_one_that_was_killed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data) as served, served.client() as client:
        prereg_id = locked(client, small_plan(10))
        post(client, prereg_id, "A", items(10), [0] * 10)
        while "runner" not in children(served.process.pid):
            time.sleep(0.02)
        os.kill(children(served.process.pid)["runner"], signal.SIGKILL)
        post(client, prereg_id, "B", items(10), [1] * 10)
        assert wait_for_verdict(client, prereg_id)["hypotheses"][0]["outcome"] == "supported"
        left = list(children(served.process.pid).values())
        served.process.terminate()
        assert served.process.wait(60) == 0
        assert not [pid for pid in left if Path(f"/proc/{pid}").exists()]


@pytest.mark.timeout(120)
def test_a_restart_keeps_records_and_makes_no_second_key(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data, "--no-runner") as served, served.client() as client:
        prereg_id = locked(client, small_plan(10))
    secret = (data / "admin.key").read_text()
    with serving(data, "--no-runner") as served, served.client() as client:
        assert client.get(f"/v1/preregistrations/{prereg_id}").json()["state"] == "locked"
        assert not any("First API key" in line for line in served.lines)
    assert (data / "admin.key").read_text() == secret


def test_init_makes_one_key_readable_by_its_owner_alone_and_only_once(tmp_path: Path) -> None:
    command = [*COMMAND, "init", "--data", str(tmp_path / "data")]
    first = subprocess.run(command, capture_output=True, text=True, env=quiet_environment(), check=False)
    assert first.returncode == 0, first.stderr
    for path in (tmp_path / "data").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    secret = (tmp_path / "data" / "admin.key").read_text()
    assert re.fullmatch(r"flk_[0-9A-Za-z]{49}", secret)
    again = subprocess.run(command, capture_output=True, text=True, env=quiet_environment(), check=False)
    assert again.returncode == 1
    assert "initialised already" in again.stderr
    assert (tmp_path / "data" / "admin.key").read_text() == secret


def test_a_taken_port_is_one_sentence_and_not_a_traceback(tmp_path: Path) -> None:
    from service.supervise import listen

    with listen("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [*COMMAND, "serve", "--data", str(tmp_path / "data"), "--port", port],
            capture_output=True,
            text=True,
            env=quiet_environment(),
            check=False,
        )
    assert done.returncode == 1
    assert "choose another with --port" in done.stderr
    assert "Traceback" not in done.stderr
