"""A nudge from the API to the runner on the same machine. Losing one costs a poll, never a job."""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path


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
        """Return on a nudge, or after `seconds`."""
        if self._socket is None:
            self._idle.wait(seconds)
            self._idle.clear()
            return
        self._socket.settimeout(seconds)
        with contextlib.suppress(TimeoutError):
            self._socket.recv(1)

    def ring(self) -> None:
        """Wake the waiting thread from inside the process."""
        self._idle.set()
        nudge(self._path)

    def close(self) -> None:
        """Remove the socket."""
        if self._socket is not None:
            self._socket.close()
            self._path.unlink(missing_ok=True)


def nudge(path: Path) -> None:
    """Wake the runner, if one listens here."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        sender.sendto(b"!", str(path))
