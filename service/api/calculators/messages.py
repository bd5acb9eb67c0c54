"""What an API process and its calculators say to one another, and how long a calculator may compute."""

from __future__ import annotations

import pickle
import signal
import socket
import struct
from collections.abc import Sequence
from typing import NamedTuple

LENGTH = struct.Struct("!QQ")
"""In front of every message: how long its head is, and the bytes that follow it as they are."""


class Broken(NamedTuple):
    """What went wrong inside, without its text."""

    location: dict[str, object]


class Begun(NamedTuple):
    """The body is read; what follows may take its time."""


_api: socket.socket | None = None
"""In a calculator, who asked."""


def answer_to(api: socket.socket) -> None:
    """Say `begin` over this socket from now on: a calculator serves one."""
    global _api  # noqa: PLW0603 - a process serves one socket
    _api = api


def begin(seconds: float) -> None:
    """Say that the body is read, and compute for so long from now on.

    Does nothing outside a calculator: the system would end whatever process called this, that many seconds later.
    """
    if _api is None:
        return
    for piece in packed(Begun()):
        _api.sendall(piece)
    allow(seconds)


def allow(seconds: float) -> None:
    """Let this process compute for so long from now on; the system ends it after that. 0: without end."""
    signal.setitimer(signal.ITIMER_PROF, seconds)


def packed(head: object, payload: Sequence[bytes] = ()) -> list[bytes]:
    """Pack a message into the pieces that a pipe takes."""
    pickled = pickle.dumps(head, pickle.HIGHEST_PROTOCOL)
    return [LENGTH.pack(len(pickled), sum(map(len, payload))), pickled, *payload]
