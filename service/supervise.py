"""`serve`: one parent that keeps the API workers and one runner alive, and ends them together.

The parent binds the listening socket and hands it down, so a restarted worker serves the same
address. Each child holds the read end of a pipe whose write end only the parent has: when the
parent dies, however it dies, the children read end-of-file and stop.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import NoReturn

log = logging.getLogger("forelock.serve")

RESTART_DELAYS = (0.1, 0.5, 2.0, 5.0, 15.0)
STEADY_SECONDS = 10.0
"""A child that lived this long starts again with the shortest delay."""
MOST_FAILURES = 8
"""A child that ended by itself this often in a row, without ever having lived long, will not get well alone."""
GRACE_SECONDS = 20.0
REQUEST_SECONDS = 5
"""How long an API worker that stops waits for answers under way; a stream or half a request has no end of its own."""
ORPHAN_SECONDS = 8.0
"""A child whose parent is gone ends by then, whatever it waits for."""
PARENT_PIPE = "FORELOCK_PARENT_PIPE"


@dataclass
class Child:
    """One supervised process and its history."""

    name: str
    arguments: Sequence[str]
    pass_fds: Sequence[int] = ()
    withheld: frozenset[str] = frozenset()
    """Variables of the environment that it does not get."""
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    failures: int = 0
    """Ends in a row before it had lived long."""
    own_ends: int = 0
    """Of these, those that no signal brought."""
    due: float = field(default=0.0)


def listen(host: str, port: int) -> socket.socket:
    """A bound, listening socket; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server = socket.socket(family, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        server.bind((host, port))
        server.listen(2048)
    except OSError:
        server.close()
        raise
    server.set_inheritable(True)
    return server


class Supervisor:
    """Starts children, restarts those that end, and stops all of them on SIGTERM or SIGINT."""

    def __init__(self, children: Sequence[Child], environment: Mapping[str, str]) -> None:
        self._children = list(children)
        self._environment = dict(environment)
        self._stopping = threading.Event()
        self._read_end, self._write_end = os.pipe()

    def run(self, on_start: Callable[[], None] = lambda: None) -> int:
        """Supervise until a signal arrives; returns the exit status."""

        def stop(_signal: int, _frame: FrameType | None) -> None:
            self._stopping.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        try:
            for child in self._children:
                self._start(child)
            on_start()
            while not self._stopping.is_set():
                self._restart_ended()
                hopeless = next((each for each in self._children if each.own_ends >= MOST_FAILURES), None)
                if hopeless is not None:
                    log.error(
                        "%s ended %s times in a row; stopping: its last words are above",
                        hopeless.name,
                        hopeless.own_ends,
                    )
                    return 1
                self._stopping.wait(0.2)
        finally:
            self._stop_all()
        return 0

    def _start(self, child: Child) -> None:
        child.process = subprocess.Popen(  # noqa: S603 - our own modules
            [sys.executable, *child.arguments],
            pass_fds=[self._read_end, *child.pass_fds],
            env={
                **{name: value for name, value in self._environment.items() if name not in child.withheld},
                PARENT_PIPE: str(self._read_end),
            },
            start_new_session=True,  # a terminal's Ctrl-C reaches the parent alone, which stops them in order
        )
        child.started = time.monotonic()

    def _restart_ended(self) -> None:
        now = time.monotonic()
        for child in self._children:
            if child.process is None:
                if now >= child.due:
                    self._start(child)
                continue
            status = child.process.poll()
            if status is None:
                continue
            if now - child.started > STEADY_SECONDS:
                child.failures = child.own_ends = 0
            else:
                child.failures += 1
                child.own_ends += status >= 0  # one that was killed may do well the next time
            delay = RESTART_DELAYS[min(child.failures, len(RESTART_DELAYS) - 1)]
            log.warning("%s ended with status %s; starting it again in %s s", child.name, status, delay)
            child.process, child.due = None, now + delay

    def _stop_all(self) -> None:
        running = [child.process for child in self._children if child.process is not None]
        for process in running:
            if process.poll() is None:
                process.terminate()
        deadline = time.monotonic() + GRACE_SECONDS
        for process in running:
            try:
                process.wait(max(deadline - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        os.close(self._write_end)
        os.close(self._read_end)


def follow_parent(stop: Callable[[], None]) -> None:
    """In a child: call `stop` when the parent is gone, and end the process if that has not after `ORPHAN_SECONDS`.

    Does nothing without a supervising parent.
    """
    pipe = os.environ.get(PARENT_PIPE)
    if pipe is None:
        return

    def watch() -> None:
        os.read(int(pipe), 1)
        stop()
        time.sleep(ORPHAN_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="follow-parent", daemon=True).start()


def leave(status: int) -> NoReturn:
    """End a process that has closed what it held, without taking the interpreter apart: that costs half a second."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)
