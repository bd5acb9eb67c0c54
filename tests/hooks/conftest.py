"""Real harnesses against a served service: what a user has after installing and setting the environment."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.journeys.plans import locked, post, small_plan
from tests.journeys.served import Served, serving, wait_for_verdict

N = 12
KILL = """
import os, signal, socket, time
os.kill({pid}, signal.SIGKILL)
for _ in range(600):
    try:
        socket.create_connection(("127.0.0.1", {port}), 1).close()
    except ConnectionRefusedError:
        break
    time.sleep(0.05)
"""


def ids() -> list[str]:
    return [f"item-{number}" for number in range(N)]


def baseline() -> dict[tuple[str, str], tuple[float | None, str]]:
    """The arm that candidates are compared with: every third item is right."""
    return {("A", item_id): (float(number % 3 == 0), "ok") for number, item_id in enumerate(ids())}


def candidate() -> dict[tuple[str, str], tuple[float | None, str]]:
    """The arm that the harnesses run: every item is right."""
    return {("B", item_id): (1.0, "ok") for item_id in ids()}


def post_baseline(client: httpx.Client, prereg_id: str) -> None:
    posted = post(client, prereg_id, "A", ids(), [value for value, _ in baseline().values()])
    assert posted.status_code == 201, posted.text


@dataclass
class Desk:
    """A service that can go away and come back under its address, and a folder to run harnesses in."""

    folder: Path
    port: int
    served: Any = None
    process: Any = None
    client: Any = None

    def start(self) -> httpx.Client:
        self.served = serving(self.folder / "data", "--port", str(self.port))
        served: Served = self.served.__enter__()
        self.process = served.process
        self.client = served.client()
        return self.client

    def stop(self) -> None:
        if self.served is not None:
            self.client.close()
            self.served.__exit__(None, None, None)
            self.served = None

    def killing(self) -> str:
        """A shell command that kills the service and ends when nobody answers under its address."""
        (self.folder / "kill.py").write_text(KILL.format(pid=self.process.pid, port=self.port))
        return f"{sys.executable} {self.folder / 'kill.py'}"

    def locked(self, client: httpx.Client, **changes: Any) -> str:
        """A plan of `N` items in the arms A and B."""
        return locked(client, small_plan(N, missing="exclude_pair") | changes, {"p": {"item_ids": ids()}})

    def environment(self, prereg_id: str, arm: str) -> dict[str, str]:
        named = {
            name: value for name, value in os.environ.items() if not name.startswith(("FORELOCK_", "PYTEST_"))
        }
        return named | {
            "FORELOCK_URL": f"http://127.0.0.1:{self.port}",
            "FORELOCK_API_KEY": (self.folder / "data" / "admin.key").read_text(),
            "FORELOCK_SPOOL": str(self.folder / "spool"),
            "FORELOCK_RECORD": prereg_id,
            "FORELOCK_ARM": arm,
            "FORELOCK_ENDPOINT": "accuracy",
        }

    def run(self, prereg_id: str, arm: str, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment(prereg_id, arm) | more,
            capture_output=True,
            text=True,
            timeout=240,
        )

    def forelock(self, prereg_id: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run(prereg_id, "A", sys.executable, "-m", "forelock.cli", *arguments)


def rows(client: httpx.Client, prereg_id: str) -> dict[tuple[str, str], tuple[float | None, str]]:
    """What is stored, once there is a verdict."""
    wait_for_verdict(client, prereg_id)
    found = client.get(f"/v1/preregistrations/{prereg_id}/results", params={"limit": 200}).json()["items"]
    return {(row["arm"], row["item_id"]): (row["value"], row["status"]) for row in found}


def received(client: httpx.Client, prereg_id: str) -> int:
    count: int = client.get(f"/v1/preregistrations/{prereg_id}/progress").json()["received"]
    return count


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    made = Desk(tmp_path, port)
    yield made
    made.stop()
