"""A process beside the API that reads large bodies and computes: what it does holds up no other request.

`python -m service.api.calculators.process FD` loads what computing needs once, and then forks a calculator for every
socket that it is sent. One that computes longer than it was allowed, or takes more memory, is ended by
the system: the API sees its socket close. It has no database, no keys and no settings.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pickle
import signal
import socket
import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from service.errors import ForelockError

MOST_MEMORY = 2**31
"""Bytes of data that one calculator may have."""
NICENESS = 5
"""Behind the API, before the workers of the pool."""
LENGTH = struct.Struct("!QQ")
"""In front of every message: how long its head is, and the bytes that follow it as they are."""


class Broken(NamedTuple):
    """What went wrong inside, without its text."""

    location: dict[str, object]


class Begun(NamedTuple):
    """The body is read; what follows may take its time."""


_api: socket.socket | None = None
"""In a calculator, who asked."""


def begin(seconds: float) -> None:
    """Say that the body is read, and compute for so long from now on."""
    if _api is not None:
        for piece in packed(Begun()):
            _api.sendall(piece)
    allow(seconds)


def allow(seconds: float) -> None:
    """Let this process compute for so long from now on; the system ends it after that. 0: without end."""
    signal.setitimer(signal.ITIMER_PROF, seconds)


def packed(head: object, payload: Sequence[bytes] = ()) -> list[bytes]:
    """A message in pieces."""
    pickled = pickle.dumps(head, pickle.HIGHEST_PROTOCOL)
    return [LENGTH.pack(len(pickled), sum(map(len, payload))), pickled, *payload]


def main(descriptor: int) -> None:
    """Fork a calculator for every socket that comes; end with the process that sends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is the API's affair
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system buries the children
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    importlib.import_module("service.api.calculators.aside")
    importlib.import_module("service.stats.shared.declaring.registry").warm_up()
    gc.freeze()  # what is loaded stays shared with the children
    with socket.socket(fileno=descriptor) as requests:
        while True:
            message, sockets, _flags, _address = socket.recv_fds(requests, 1, 1)
            if not message:
                return
            if os.fork() == 0:
                requests.close()
                _serve(sockets[0])
            os.close(sockets[0])


def begin_forked(descriptor: int) -> None:
    """Be a calculator in a process that was forked for it alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    _serve(descriptor)


def _serve(descriptor: int) -> None:
    """Answer calls until the API closes the socket."""
    global _api  # noqa: PLW0603 - a process serves one socket
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _limit_memory()
    with contextlib.suppress(OSError, EOFError), socket.socket(fileno=descriptor) as api:
        _api = api
        api.sendall(struct.pack("!Q", os.getpid()))
        while True:
            head, payload = LENGTH.unpack(_receive(api, LENGTH.size))
            function, arguments, seconds = pickle.loads(_receive(api, head))  # noqa: S301 - the API's own
            body = bytes(_receive(api, payload))
            outcome = _outcome(function, body, arguments, seconds)
            del body
            for piece in packed(outcome):
                api.sendall(piece)
    os._exit(0)


def _outcome(function: Callable[..., Any], body: bytes, arguments: Sequence[Any], seconds: float) -> object:
    """What the function returns, or the error that it raises."""
    from service.telemetry.logs import location

    allow(seconds)
    try:
        return function(body, *arguments)
    except ForelockError as refused:
        return refused.with_traceback(None)
    except MemoryError:
        os._exit(1)
    except Exception as error:  # noqa: BLE001 - whatever it is, the API logs its place
        return Broken(location(error))
    finally:
        allow(0)


def _limit_memory() -> None:
    import resource

    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))


def _receive(api: socket.socket, size: int) -> bytearray:
    received = bytearray(size)
    view, done = memoryview(received), 0
    while done < size:
        count = api.recv_into(view[done:])
        if count == 0:
            raise EOFError
        done += count
    return received


if __name__ == "__main__":  # the module by its own name: `begin` and what is pickled belong to that one
    importlib.import_module("service.api.calculators.process").main(int(sys.argv[1]))
