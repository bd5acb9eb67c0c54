"""What an API process and its calculators say to one another, and how long a calculator may compute."""

from __future__ import annotations

import pickle
import signal
import socket
import struct
from collections.abc import Sequence
from typing import NamedTuple

LENGTH = struct.Struct("!QQ")
"""What stands in front of every message: the bytes of its pickled head, and of the payload that follows as it is."""


class Broken(NamedTuple):
    """The answer to a call that met a bug: its place, without the text, which may hold what was sent."""

    location: dict[str, object]


class Begun(NamedTuple):
    """Sent before an answer: the body is read, and what follows may take its time."""


_api: socket.socket | None = None
"""In a calculator the socket to the API; None in any other process."""


def set_api_socket(api: socket.socket) -> None:
    """Have `begin` speak over this socket from now on: a calculator serves one."""
    global _api  # noqa: PLW0603 - a process serves one socket
    _api = api


def begin(seconds: float) -> None:
    """Say that the body is read, and compute for so long from now on.

    Does nothing outside a calculator: the system would end whatever process called this, that many seconds later.
    """
    if _api is None:
        return
    for piece in pack(Begun()):
        _api.sendall(piece)
    allow(seconds)


def allow(seconds: float) -> None:
    """Let this process compute for so many seconds from now on, after which the system ends it; 0: without end."""
    # Seconds of the processor, not of the clock: a machine under load ends nobody. SIGPROF is left to its default,
    # which ends the process: a handler of Python's would wait for the C code that takes so long.
    signal.setitimer(signal.ITIMER_PROF, seconds)


def pack(head: object, payload: Sequence[bytes] = ()) -> list[bytes]:
    """Pack a message into the pieces that a pipe takes."""
    pickled = pickle.dumps(head, pickle.HIGHEST_PROTOCOL)
    return [LENGTH.pack(len(pickled), sum(map(len, payload))), pickled, *payload]
