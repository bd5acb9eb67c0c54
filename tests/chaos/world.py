"""A deployment to be killed piece by piece: the service, its pool, its database, and where each process is."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx

from service.jobs.dask_pool import SETTINGS
from service.store.database import schema
from service.store.database.engine import Database
from tests.certificates import certificates
from tests.postgres import Postgres

MARK = "CAMPAIGN"
"""Variable of the environment by which every process of a campaign is known."""
WORKERS = 2
UNREAD = {
    f"DASK_{name.upper().replace('.', '__').replace('-', '_')}": str(SETTINGS[name])
    for name in (
        "distributed.worker.profile.enabled",
        "distributed.admin.system-monitor.log-length",
        "distributed.admin.low-level-log-length",
        "distributed.diagnostics.computations.max-history",
        "distributed.diagnostics.erred-tasks.max-history",
        "distributed.admin.tick.interval",
        "distributed.admin.system-monitor.interval",
    )
}
"""What schedulers and workers of a deployment have in their environment, as docker-compose.yml has it."""


class World:
    """A served deployment. `targets` finds the processes of each kind that can be killed now."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.mark = uuid.uuid4().hex
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("FORELOCK_")},
            MARK: self.mark,
            "FORELOCK_JOB_LEASE_SECONDS": "3",
            "FORELOCK_JOB_MAX_ATTEMPTS": "20",
            "FORELOCK_RUNNER_POLL_SECONDS": "0.2",
            "FORELOCK_POOL_WORKERS": str(WORKERS),
        }
        self.kept: list[Kept] = []
        self.serve: subprocess.Popen[str] | None = None

    def start(self) -> httpx.Client:
        """Serve; a client with every scope."""
        command = [sys.executable, "-m", "forelock.cli", "serve", "--data", str(self.data), "--port", "0"]
        self.serve = subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, stderr=self.log(), text=True
        )
        assert self.serve.stdout is not None
        found = next(m for line in self.serve.stdout if (m := re.search(r"listens on (http://\S+)", line)))
        threading.Thread(target=self._drain, daemon=True).start()
        secret = (self.data / "admin.key").read_text()
        return httpx.Client(base_url=found[1], headers={"Authorization": f"Bearer {secret}"}, timeout=30)

    def _drain(self) -> None:
        """A full pipe would stop the service."""
        assert self.serve is not None
        assert self.serve.stdout is not None
        with (self.directory / "log").open("a") as log:
            for line in self.serve.stdout:
                log.write(line)
                log.flush()

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.directory / "data"

    @property
    def url(self) -> str:
        """The database."""
        return self.environment.get("FORELOCK_DATABASE_URL", f"sqlite:///{self.data / 'forelock.db'}")

    def log(self) -> int:
        """Where processes write; a file descriptor that the child takes over."""
        return os.open(self.directory / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def targets(self) -> dict[str, list[int]]:
        """Process ids by kind."""
        assert self.serve is not None
        children = tree()
        api = [pid for pid in children.get(self.serve.pid, []) if called(pid) == "forelock-api"]
        runner = [pid for pid in children.get(self.serve.pid, []) if called(pid) == "forelock-runner"]
        local = [pid for each in runner for pid in descendants(each, children) if "spawn_main" in words(pid)]
        found = {"API": api, "runner": runner, "Dask worker": local}
        for kept in self.kept:
            found[kept.kind] = [*found.get(kept.kind, []), *kept.pids()]
        return {kind: pids for kind, pids in found.items() if pids}

    def stop(self) -> None:
        """End everything in order."""
        if self.serve is not None:
            self.serve.terminate()
            self.serve.wait(60)
        for kept in reversed(self.kept):
            kept.stop()

    def left(self) -> list[str]:
        """What processes of this campaign are still there."""
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if (
                    entry.name.isdigit()
                    and f"{MARK}={self.mark}".encode() in (entry / "environ").read_bytes()
                ):
                    found.append(f"{entry.name} {words(int(entry.name))}")
        return found


class Kept:
    """A process that is started again whenever it ends."""

    def __init__(self, kind: str, start: Callable[[], subprocess.Popen[bytes]]) -> None:
        self.kind, self._start = kind, start
        self.process = start()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()

    def pids(self) -> list[int]:
        """The process, if it runs."""
        return [self.process.pid] if self.process.poll() is None else []

    def stop(self) -> None:
        """Start it no more, and end it."""
        self._ended.set()
        self._thread.join()
        self.process.kill()
        self.process.wait()

    def _keep(self) -> None:
        while not self._ended.wait(0.2):
            if self.process.poll() is not None:
                self.process = self._start()


@contextlib.contextmanager
def sqlite(directory: Path) -> Iterator[World]:
    """SQLite, and the cluster that the runner starts by itself: its scheduler lives in the runner."""
    world = World(directory)
    try:
        yield world
    finally:
        world.stop()


@contextlib.contextmanager
def postgres(directory: Path) -> Iterator[World]:
    """Postgres, and a scheduler with two workers behind mutual TLS."""
    world, server = World(directory), Postgres(synchronous_commit="on", fsync="off")
    server.start()
    world.environment["FORELOCK_DATABASE_URL"] = server.url(server.create())
    world.data.mkdir(mode=0o700)
    database = Database(world.url)
    schema.upgrade(database.engine)
    database.dispose()
    command = [sys.executable, "-m", "forelock.cli", "init", "--data", str(world.data)]
    subprocess.run(command, env=world.environment, check=True, capture_output=True)
    ca, certificate, key = certificates(directory / "tls")
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"tls://127.0.0.1:{free.getsockname()[1]}"
    world.environment |= {
        "FORELOCK_DASK_SCHEDULER": address,
        "FORELOCK_DASK_TLS_CA_FILE": ca,
        "FORELOCK_DASK_TLS_CERT_FILE": certificate,
        "FORELOCK_DASK_TLS_KEY_FILE": key,
    }
    tls = ["--tls-ca-file", ca, "--tls-cert", certificate, "--tls-key", key, "--no-dashboard"]

    def dask(*arguments: str) -> Callable[[], subprocess.Popen[bytes]]:
        command = [sys.executable, "-m", "dask", *arguments, *tls]

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                command, env=world.environment | UNREAD, cwd=directory, stdout=world.log(), stderr=world.log()
            )

        return start

    def database_process() -> subprocess.Popen[bytes]:
        if server.server is None or server.server.poll() is not None:
            with contextlib.suppress(RuntimeError):
                server.serve()
        assert server.server is not None
        return server.server

    world.kept.append(Kept("Postgres", database_process))
    world.kept.append(
        Kept("Dask scheduler", dask("scheduler", "--host", address, "--preload", "service.jobs.scheduler"))
    )
    worker = ["worker", address, "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1"]
    for _ in range(WORKERS):
        world.kept.append(Kept("Dask worker", dask(*worker, "--preload", "service.jobs.worker")))
    try:
        yield world
    finally:
        world.stop()
        server.stop()


def called(pid: int) -> str:
    """What a process calls itself."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def words(pid: int) -> str:
    """A process's command line."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def tree() -> dict[int, list[int]]:
    """Children of every process."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    return children


def descendants(pid: int, children: dict[int, list[int]]) -> Iterator[int]:
    """Every process below one."""
    for child in children.get(pid, []):
        yield child
        yield from descendants(child, children)


def kill(pid: int) -> bool:
    """SIGKILL; false when it was gone."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def gone(world: World, seconds: float) -> list[str]:
    """What is left of the world after waiting that long at most."""
    until = time.monotonic() + seconds
    while (left := world.left()) and time.monotonic() < until:
        time.sleep(0.2)
    return left
