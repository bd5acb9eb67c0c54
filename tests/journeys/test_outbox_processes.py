"""The outbox of a served deployment whose runner is killed: nothing is lost, and nothing is sent under two ids."""

from __future__ import annotations

import os
import queue
import signal
import sqlite3
import threading
from pathlib import Path

import pytest

from tests.journeys.served import children, quiet_environment, serving
from tests.loopback import Asked, Reply
from tests.loopback import serving as listening

from . import served as processes
from .plans import locked, small_plan


@pytest.mark.slow
def test_a_message_survives_its_sender(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = quiet_environment() | {"FORELOCK_OUTGOING_ALLOW": "127.0.0.1"}
    monkeypatch.setattr(processes, "quiet_environment", lambda: allowed)
    arrived: queue.Queue[str] = queue.Queue()
    answers = threading.Event()

    def reply(asked: Asked) -> Reply:
        arrived.put(asked.headers["webhook-id"])
        answers.wait(120)
        return 204, {}, b""

    with listening() as receiver, serving(tmp_path / "data") as served, served.client() as client:
        receiver.reply = reply
        hook = {"url": receiver.url("/"), "events": ["preregistration.locked"]}
        made = client.post("/v1/webhooks", json=hook).raise_for_status().json()["webhook"]["id"]
        locked(client, small_plan(10))  # type: ignore[arg-type]
        first = arrived.get(timeout=120)
        (sender,) = senders(children(served.process.pid)["runner"])
        os.kill(sender, signal.SIGKILL)  # while the message is on its way
        answers.set()
        _end_leases(tmp_path / "data" / "forelock.db")
        assert arrived.get(timeout=120) == first
        runner = children(served.process.pid)["runner"]
        (sender,) = senders(runner)
        for pid in (runner, sender):  # and before the next one is looked at
            os.kill(pid, signal.SIGKILL)
        _end_leases(tmp_path / "data" / "forelock.db")
        locked(client, small_plan(10))  # type: ignore[arg-type]
        seen = {first}
        while (
            len(seen) < 2
        ):  # the first may come once more: its sender died before it wrote that it had arrived
            seen.add(arrived.get(timeout=120))
        path = f"/v1/webhooks/{made}/deliveries"
        pause = threading.Event()
        while {each["state"] for each in client.get(path).json()["items"]} != {"delivered"}:
            pause.wait(0.2)


def senders(runner: int) -> list[int]:
    """The processes by which a runner calls the outside."""
    tasks = Path(f"/proc/{runner}/task").glob("*/children")
    below = [int(pid) for task in tasks for pid in task.read_text().split()]
    return [pid for pid in below if b"outgoing" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]


def _end_leases(path: Path) -> None:
    """As if the time were over that the dead sender had."""
    with sqlite3.connect(path, timeout=30) as database:
        database.execute("UPDATE deliveries SET next_at = created_at")
    database.close()
