"""A nudge from the API to the runner on the same machine. Losing one costs a poll, never a job.

`python -m service.processes.wake SOCKET` is a health check: it nudges the runner, and ends with status 1 when that has
not come back to listen for a minute.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
from pathlib import Path

SILENT_SECONDS = 60.0
"""A runner comes back to its alarm after every nudge; one that did not for this long waits for something else."""


class Alarm:
    """The runner's end: waits for a nudge or the time-out, whichever comes first."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._socket: socket.socket | None = None
        self._idle = threading.Event()
        receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            path.unlink(missing_ok=True)
            receiver.bind(str(path))
            path.chmod(0o600)
            self._socket = receiver
        except OSError:  # a path too long for a socket leaves polling
            receiver.close()

    def wait(self, seconds: float) -> None:
        """Return on a nudge, or after `seconds`.

        The socket's time says when the runner last came here: one that holds the socket and does nothing more is told
        by it from one that goes on.
        """
        if self._socket is None:
            self._idle.wait(seconds)
            self._idle.clear()
            return
        with contextlib.suppress(OSError):
            os.utime(self._path)
        self._socket.settimeout(seconds)
        with contextlib.suppress(TimeoutError):
            self._socket.recv(1)

    def ring(self) -> None:
        """Wake the waiting thread from inside the process."""
        self._idle.set()
        nudge(self._path)

    def close(self) -> None:
        """Close the socket and remove its file."""
        if self._socket is not None:
            self._socket.close()
            self._path.unlink(missing_ok=True)


def nudge(path: Path) -> None:
    """Wake the runner, if one listens here."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        sender.sendto(b"!", str(path))


def goes_on(path: Path, *, now: float) -> bool:
    """Whether a runner listens here, and came back to listen within `SILENT_SECONDS` of `now`, seconds of the epoch."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            sender.sendto(b"!", str(path))
    except BlockingIOError:  # nudges that nobody has taken fill the socket: its time says for how long
        pass
    except OSError:
        return False
    return now - path.stat().st_mtime <= SILENT_SECONDS


if __name__ == "__main__":
    sys.exit(not goes_on(Path(sys.argv[1]), now=time.time()))
