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

from service.processes.nursery import Forked, Nursery

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
PREFIX = "FORELOCK_"
PARENT_PIPE = "FORELOCK_PARENT_PIPE"


@dataclass
class Child:
    """One supervised process and its history."""

    name: str
    words: Sequence[str]
    """What it runs; `@k` stands for the number of the k-th of `pass_fds`."""
    pass_fds: Sequence[int] = ()
    withheld: frozenset[str] = frozenset()
    """Variables of the environment that it does not get."""
    process: subprocess.Popen[bytes] | Forked | None = None
    started: float = 0.0
    failures: int = 0
    """Ends in a row before it had lived long."""
    own_ends: int = 0
    """Of these, those that no signal brought."""
    due: float = field(default=0.0)


def listen(host: str, port: int) -> socket.socket:
    """Return a bound, listening socket; port 0 takes a free one."""
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

    def __init__(
        self, python: Sequence[str], environment: Mapping[str, str], *, nursery: Sequence[str] | None
    ) -> None:
        """A child runs Python with the arguments `python` and its words.

        With `nursery`, the arguments that run one, children are forked from it where the system can.
        """
        self._children: list[Child] = []
        self._python, self._environment = list(python), dict(environment)
        self._nursery: Nursery | None = None
        if nursery is not None and sys.platform == "linux":
            plain = {name: text for name, text in environment.items() if not name.startswith(PREFIX)}
            self._nursery = Nursery(nursery, plain)
        self._stopping = threading.Event()
        self._read_end, self._write_end = os.pipe()

    def first(self, child: Child) -> None:
        """Start a child before the others, which may depend on what it does."""
        self._children.append(child)
        self._start(child)

    def give_up(self, child: Child) -> int:
        """Stop everything because this child ended; returns its exit status."""
        status = 1 if child.process is None else child.process.wait(GRACE_SECONDS)
        self.stop()
        return status if status > 0 else 1

    def forget(self, child: Child) -> None:
        """Wait for a child that ends by itself, and start it no more."""
        if child.process is not None:
            child.process.wait(GRACE_SECONDS)
        self._children.remove(child)

    def tell(self, settings: Mapping[str, str]) -> None:
        """Add variables to what children get that are started from now on."""
        self._environment |= settings

    def run(self, children: Sequence[Child], on_start: Callable[[], None] = lambda: None) -> int:
        """Supervise these children, and the first one, until a signal arrives; returns the exit status."""

        def stop(_signal: int, _frame: FrameType | None) -> None:
            self._stopping.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        try:
            for child in children:
                self._children.append(child)
                self._start(child)
            on_start()
            while not self._stopping.is_set():
                self._restart_ended()
                hopeless = next((child for child in self._children if child.own_ends >= MOST_FAILURES), None)
                if hopeless is not None:
                    log.error(
                        "%s ended %s times in a row; stopping: its last words are above",
                        hopeless.name,
                        hopeless.own_ends,
                    )
                    return 1
                self._stopping.wait(0.2)
        finally:
            self.stop()
        return 0

    def _start(self, child: Child) -> None:
        """Start a child from the nursery, or as a process of its own where there is none."""
        child.started = time.monotonic()
        given = {name: text for name, text in self._environment.items() if name not in child.withheld}
        if self._nursery is None:
            words = [str(child.pass_fds[int(w[1:])]) if w.startswith("@") else w for w in child.words]
            child.process = subprocess.Popen(  # noqa: S603 - our own modules
                [sys.executable, *self._python, *words],
                pass_fds=[self._read_end, *child.pass_fds],
                env=given | {PARENT_PIPE: str(self._read_end)},
                start_new_session=True,  # a terminal's Ctrl-C reaches the parent alone, which stops them in order
            )
            return
        own = {name: text for name, text in given.items() if name.startswith(PREFIX)}
        try:
            child.process = self._nursery.fork(
                child.words, own, [*child.pass_fds, self._read_end], {PARENT_PIPE: len(child.pass_fds)}
            )
        except OSError as error:  # the nursery was ended by somebody; there will be another
            log.warning("%s was not started: %s", child.name, error)
            child.failures += 1
            delay = RESTART_DELAYS[min(child.failures, len(RESTART_DELAYS)) - 1]
            child.process, child.due = None, time.monotonic() + delay

    def _restart_ended(self) -> None:
        """Start children that ended again, each after a delay that grows while it keeps ending soon."""
        now = time.monotonic()
        if self._nursery is not None:
            self._nursery.adopt([child.process.pid for child in self._children if child.process is not None])
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

    def stop(self) -> None:
        """End the children in order, and what they came from."""
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
                process.wait(GRACE_SECONDS)
        if self._nursery is not None:
            self._nursery.close()
        os.close(self._write_end)
        os.close(self._read_end)


def follow_parent(stop: Callable[[], None]) -> None:
    """Call `stop` in a child when the parent is gone, and end the process if that has not after `ORPHAN_SECONDS`.

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
