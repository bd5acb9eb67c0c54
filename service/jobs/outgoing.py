"""The process that calls the outside: what strangers answer is read there, and never in the one that judges.

The runner starts it when there is something to send, or witnesses to ask, and ends it when it falls silent: an answer
that it cannot be done with costs this process, and no verdict. Its rows have leases, so that nothing is lost with it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import resource
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from threading import Event
from typing import Protocol

from pydantic import SecretStr

from service.config import Settings
from service.errors import Unavailable

log = logging.getLogger("forelock.outgoing")

LOOK_SECONDS = 2.0
"""Seconds between two looks of the runner at the process."""
BEAT_SECONDS = 1.0
"""Seconds between two signs of life of the process."""
SILENT_SECONDS = 60.0
"""A process that says nothing for so long is ended: it says every second that it is there, whatever it waits for."""
RESTART_SECONDS = (0.0, 2.0, 5.0, 15.0, 60.0)
"""Before the process is started again, the longer the oftener it ended: to start one takes a second of a processor."""
STEADY_SECONDS = 120.0
"""A process that lived this long did well: the next one is not made to wait for what ended before it."""
MOST_MEMORY = 2**30
"""Bytes of data that the process may have."""
COMMAND = (sys.executable, "-m", "service.main", "outgoing")


class Sender(Protocol):
    """What calls the outside for as long as it runs: the sender of deliveries, or that of witnesses."""

    def run(self, stopping: Event) -> None:
        """Go on until told to stop."""


class Restarts:
    """When a process that ended may be started again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ends, self._started, self._not_before = 0, 0.0, 0.0

    def may_start(self) -> bool:
        """Tell whether the pause after the last end is over."""
        return self._clock() >= self._not_before

    def begin(self) -> None:
        """Note that the process is started now."""
        self._started = self._clock()

    def end(self) -> None:
        """Note that the process ended by itself, or had to be ended: the next start comes after a pause."""
        now = self._clock()
        # a process that ran for long ended for a reason of its own: its pauses begin anew
        if now - self._started >= STEADY_SECONDS:
            self._ends = 0
        self._not_before = now + RESTART_SECONDS[min(self._ends, len(RESTART_SECONDS) - 1)]
        self._ends += 1


class OutgoingProcess:
    """The runner's end: starts the process, listens to it, and ends it."""

    def __init__(
        self,
        settings: Settings,
        is_wanted: Callable[[], bool],
        *,
        command: Sequence[str] = COMMAND,
        look_seconds: float = LOOK_SECONDS,
        silent_seconds: float = SILENT_SECONDS,
    ) -> None:
        """`is_wanted` tells whether there is anything to call the outside for; it may raise `Unavailable`."""
        self._settings = json.dumps(_dump_settings(settings)).encode()
        self._is_wanted, self._command = is_wanted, list(command)
        self._look_seconds, self._silent_seconds = look_seconds, silent_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None
        self._heard = 0.0
        self._restarts = Restarts()

    def run(self, stopping: Event) -> None:
        """Start, watch and end the process until told to stop; a database that is away is waited for."""
        try:
            while not stopping.is_set():
                self._look()
                stopping.wait(self._look_seconds)
        finally:
            self._end()

    def _look(self) -> None:
        if self._process is not None:
            self._listen(self._process)
        if self._process is None and self._restarts.may_start():
            with contextlib.suppress(Unavailable):
                if self._is_wanted():
                    self._start()

    def _start(self) -> None:
        """Start the process that speaks to the outside, and send it its settings."""
        self._line, its = socket.socketpair()
        # Our copy of its end is closed: then its death closes the line, and ours tells it that the runner is gone.
        with its:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                self._command, stdin=its.fileno(), start_new_session=True
            )
        self._restarts.begin()
        self._heard = time.monotonic()
        # The settings may be larger than a socket's buffer, so sending waits for the process to read; not for ever.
        self._line.settimeout(self._silent_seconds)
        with contextlib.suppress(OSError):  # it has ended, which is seen
            self._line.sendall(self._settings + b"\n")
        self._line.setblocking(False)

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        """Note that the process has given a sign of life; give it up if it has ended, or was silent for too long."""
        with contextlib.suppress(OSError):
            if self._line is not None and self._line.recv(65536):
                self._heard = time.monotonic()
        if process.poll() is not None:
            log.warning("the process that calls the outside ended with status %s", process.returncode)
            self._fail()
        elif time.monotonic() - self._heard > self._silent_seconds:
            log.error("the process that calls the outside has fallen silent; it is ended, and started again")
            self._fail()

    def _fail(self) -> None:
        self._end()
        self._restarts.end()

    def _end(self) -> None:
        if self._process is not None:
            process, self._process = self._process, None
            process.kill()  # what is cut off is sent again under the same id
            process.wait()
        if self._line is not None:
            self._line.close()
            self._line = None


def receive_settings() -> Settings:
    """Receive the settings from the runner, in the process: secrets among them are in no environment."""
    return Settings(**json.loads(_read_line(sys.stdin.fileno())))


def serve(senders: Sequence[Sender]) -> None:
    """Run the senders in the process, with a sign of life every second; returns once the runner is gone."""
    with contextlib.suppress(OSError, ValueError):
        # A stranger's answer that swells costs this process alone.
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    stopping = Event()
    for sender in senders:
        threading.Thread(target=sender.run, args=(stopping,), name=type(sender).__name__, daemon=True).start()
    runner = sys.stdin.fileno()
    with contextlib.suppress(OSError):
        # Nothing is sent to here after the settings: the line becomes readable when it is closed.
        while not select.select([runner], [], [], BEAT_SECONDS)[0]:
            os.write(runner, b".")
    stopping.set()


def _read_line(descriptor: int) -> bytes:
    """Read up to a line feed, and not a byte more.

    What follows shows that the runner is gone, and `select` waits for it.
    """
    line = bytearray()
    while not line.endswith(b"\n") and (byte := os.read(descriptor, 1)):
        line += byte
    return bytes(line)


def _dump_settings(settings: Settings) -> dict[str, object]:
    """Dump the settings for JSON, secrets in the clear: they go through a socket that two processes hold."""
    values = ((name, getattr(settings, name)) for name in Settings.model_fields)
    return {
        name: value.get_secret_value()
        if isinstance(value, SecretStr)
        else value
        if isinstance(value, bool | int | float | None)
        else str(value)
        for name, value in values
    }
