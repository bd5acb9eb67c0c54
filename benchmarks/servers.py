"""Servers of a row: the service as its operator starts it, and peers; each on loopback, with data of its own."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

STOP_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Served:
    """A server that answers at `url`. `pid` is the process that answers requests; `key` is empty for peers."""

    url: str
    pid: int
    key: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """What every request carries."""
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    def client(self) -> httpx.Client:
        """A client with the first key."""
        return httpx.Client(base_url=self.url, headers=self.headers, timeout=600)

    def peak_bytes(self) -> int:
        """The most memory the process has held so far."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))

    def forget_peak(self) -> None:
        """Measure the peak from now on."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")


@contextlib.contextmanager
def service(
    *arguments: str, settings: Mapping[str, str] | None = None, data: Path | None = None
) -> Iterator[Served]:
    """`forelock serve` with one API process, on an empty data directory unless one is given."""
    settings = {"FORELOCK_WORKERS": "1", **(settings or {})}
    with contextlib.ExitStack() as stack:
        home = data or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="flbench")))
        if "FORELOCK_DATABASE_URL" in settings:
            subprocess.run(
                [sys.executable, "-m", "forelock.cli", "init", "--data", str(home)],
                check=True, capture_output=True, env=_environment(settings),
            )  # fmt: skip
        command = ["-m", "forelock.cli", "serve", "--data", str(home), "--port", "0", *arguments]
        process, address = stack.enter_context(_started(command, r"listens on (http://\S+)", settings))
        yield Served(address, _child(process.pid, "api"), (home / "admin.key").read_text())


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """The URL of an empty database on a server of the row's own, as durable as it comes."""
    from tests.postgres import Postgres

    server = Postgres(fsync="on", synchronous_commit="on", full_page_writes="on", autovacuum="on")
    try:
        server.start()
        yield server.url(server.create())
    finally:
        server.stop()


@contextlib.contextmanager
def peer(module: str) -> Iterator[Served]:
    """A peer's module, which prints its address."""
    with _started(["-m", module], r"listens on (http://\S+)", {}) as (process, address):
        yield Served(address, process.pid)


@contextlib.contextmanager
def _started(
    command: Sequence[str], address: str, settings: Mapping[str, str]
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    with tempfile.TemporaryFile("w+") as said:  # a pipe would need a reader, which would take its share
        process = subprocess.Popen(
            [sys.executable, *command], stdout=said, stderr=subprocess.STDOUT, env=_environment(settings)
        )
        try:
            yield process, _address(process, said.fileno(), address)
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _address(process: subprocess.Popen[bytes], said: int, address: str) -> str:
    """What the server says it listens on."""
    while True:
        ended = process.poll() is not None
        text = os.pread(said, 64 * 1024, 0).decode()
        if match := re.search(address, text):
            return match[1]
        if ended:
            raise RuntimeError(f"{process.args!r} ended early:\n{text}")
        time.sleep(0.02)


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("FORELOCK_")}
    return inherited | dict(settings)


def _child(parent: int, what: str) -> int:
    """The supervisor's child that calls itself so."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            name, rest = (entry / "stat").read_text().rsplit(")", 1)
            if int(rest.split()[1]) == parent and name.endswith(f"(forelock-{what}"):
                return int(entry.name)
    raise RuntimeError(f"the service has no process for {what}")
