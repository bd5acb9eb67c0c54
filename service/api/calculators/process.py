"""A process beside the API that reads large bodies and computes: what it does holds up no other request.

`python -m service.api.calculators.process FD` loads what computing needs once, and then forks a calculator for every
socket that it is sent. One that computes longer than it was allowed, or takes more memory, is ended by
the system: the API sees its socket close. It has no database, no keys and no settings.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import socket
import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any

from service.api.calculators.messages import LENGTH, Broken, allow, pack, set_api_socket
from service.errors import ForelockError

MOST_MEMORY = 2**31
"""Bytes of data that one calculator may have."""
NICENESS = 5
"""Behind the API, before the workers of the pool."""


def main(descriptor: int) -> None:
    """Fork a calculator for every socket that comes; end with the process that sends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is the API's affair
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system buries the children
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    # After the signals: loading takes a second, and Ctrl-C may come within it. Every fork shares what is loaded.
    from service.api.calculators import handlers as handlers
    from service.stats.shared.declaring import registry

    registry.warm_up()
    gc.freeze()
    with socket.socket(fileno=descriptor) as requests:
        while True:
            message, sockets, _flags, _address = socket.recv_fds(requests, 1, 1)
            if not message:
                return
            if os.fork() == 0:
                requests.close()
                _serve(sockets[0])
            os.close(sockets[0])


def serve_forked(descriptor: int) -> None:
    """Serve as a calculator in a process that was forked for it alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    _serve(descriptor)


def _serve(descriptor: int) -> None:
    """Answer calls until the API closes the socket."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _limit_memory()
    with contextlib.suppress(OSError, EOFError), socket.socket(fileno=descriptor) as api:
        set_api_socket(api)
        api.sendall(struct.pack("!Q", os.getpid()))
        while True:
            head, payload = LENGTH.unpack(_receive(api, LENGTH.size))
            function, arguments, seconds = pickle.loads(_receive(api, head))  # noqa: S301 - the API's own
            body = bytes(_receive(api, payload))
            outcome = _compute_outcome(function, body, arguments, seconds)
            del body
            for piece in pack(outcome):
                api.sendall(piece)
    os._exit(0)


def _compute_outcome(
    function: Callable[..., Any], body: bytes, arguments: Sequence[Any], seconds: float
) -> object:
    """Call the function and return what it returns, or the error that it raises."""
    from service.telemetry.logs import location

    allow(seconds)
    try:
        return function(body, *arguments)
    except ForelockError as refused:
        return refused.with_traceback(None)
    except MemoryError:
        # At once: to pickle an answer would take memory as well, and the API sees the socket close.
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


if __name__ == "__main__":
    main(int(sys.argv[1]))
