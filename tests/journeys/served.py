"""A service in processes of its own."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx

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
def serving(data: Path, *arguments: str, **variables: str) -> Iterator[Served]:
    process = subprocess.Popen(
        [*COMMAND, "serve", "--data", str(data), "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=quiet_environment() | variables,
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
                found[(entry / "comm").read_text().strip().removeprefix("forelock-")] = int(entry.name)
    return found


def wait_for_verdict(client: httpx.Client, prereg_id: str) -> dict:
    while True:
        answer = client.get(f"/v1/preregistrations/{prereg_id}/verdict")
        if answer.status_code == 200:
            return answer.json()
        assert answer.json()["code"] == "verdict_pending", answer.text
        time.sleep(0.05)
