"""A process that has loaded everything and forks the others: they start at once, and share its memory.

It has no settings, no database and no keys: those a child reads from a file in memory that the nursery is handed and
never opens. A child becomes the supervisor's own, which waits for it: the nursery may end, its children go on. It also
forks the calculators that API processes ask for over the socket each of them was born with.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

PATIENCE = 300.0
"""Seconds in which a nursery that was asked for a child has one. It loads for three seconds of processor first,
which are more than a minute where much else runs; one that is given up begins anew, and one that
ended is noticed at once."""
MOST = 64 * 1024
BURY_SECONDS = 60.0
"""How long a calculator that has ended may wait to be buried."""
SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of prctl(2)."""


class Forked:
    """A child that the nursery made, waited for as `subprocess.Popen` is."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return its exit status once it has ended; negative: the signal that ended it."""
        return self._status(os.WNOHANG)

    def wait(self, timeout: float) -> int:
        """Wait for its exit status; a child that is still there raises `subprocess.TimeoutExpired`."""
        with contextlib.suppress(ProcessLookupError):
            ended = os.pidfd_open(self.pid)
            try:
                select.select([ended], [], [], timeout)
            finally:
                os.close(ended)
        status = self.poll()
        if status is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout)
        return status

    def terminate(self) -> None:
        """Ask the child to end."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """End the child without asking it."""
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def _status(self, options: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


class Nursery:
    """The supervisor's end: starts the nursery when a child is asked for, and again when it has ended."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        """`arguments` run Python until it calls `serve` with the descriptor that is added to them."""
        self._arguments, self._environment = list(arguments), dict(environment)
        self._socket: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        # children of the nursery that lose their parent, as all do, become ours
        if ctypes.CDLL(None, use_errno=True).prctl(SUBREAPER, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")

    def fork(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        fds: Sequence[int],
        numbers: Mapping[str, int],
    ) -> Forked:
        """Return a child that runs `words`, with these variables besides the nursery's own.

        A word `@k` becomes the child's number of the k-th descriptor, and so does a variable of `numbers`.

        Raises:
            OSError: the nursery has ended, or does not answer.
        """
        variables = os.memfd_create("environment")
        try:
            os.write(variables, json.dumps(dict(environment)).encode())
            channel = self._connect()
            socket.send_fds(channel, [json.dumps([list(words), dict(numbers)]).encode()], [variables, *fds])
            answer = channel.recv(32)
        except OSError:
            self.close()
            raise
        finally:
            os.close(variables)
        if not answer:
            self.close()
            raise ConnectionResetError("the nursery has ended")
        return Forked(int(answer))

    def close(self) -> None:
        """Let the nursery go, which ends it."""
        if self._socket is not None and self._process is not None:
            self._socket.close()
            self._process.kill()
            self._process.wait()
        self._socket = None

    def _connect(self) -> socket.socket:
        """Connect to the nursery's process, which is started first where there is none."""
        if self._socket is None:
            ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with its:
                self._process = subprocess.Popen(  # noqa: S603 - our own module
                    [sys.executable, *self._arguments, str(its.fileno())],
                    pass_fds=[its.fileno()],
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                )
            ours.settimeout(PATIENCE)
            self._socket = ours
        return self._socket

    def adopt(self, known: Sequence[int]) -> None:
        """Wait for what became ours because its parent ended, apart from the `known` children."""
        if self._process is not None:
            known = [*known, self._process.pid]
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
                if ended.si_pid in known:
                    return  # whoever knows it asks for its status
                os.waitpid(ended.si_pid, 0)


def serve(
    descriptor: int, run: Callable[[list[str], int], None], calculate: Callable[[int], None]
) -> NoReturn:
    """Fork in the nursery what is asked for, until the supervisor's end closes.

    `run(words, requests)` is called in a child, with the socket to ask for calculators; `calculate(descriptor)` in
    a calculator. Neither returns.
    """
    gc.freeze()  # what is loaded stays shared with the children
    gc.enable()
    supervisor = socket.socket(fileno=descriptor)
    askers: list[socket.socket] = []

    def leave_behind() -> None:
        for channel in (supervisor, *askers):
            channel.close()

    while True:
        ready, _, _ = select.select([supervisor, *askers], [], [], BURY_SECONDS)
        _bury()
        for one in ready:
            message, fds, _flags, _address = socket.recv_fds(one, MOST if one is supervisor else 1, 16)
            if not message and one is supervisor:
                os._exit(0)
            if not message:
                askers.remove(one)
                one.close()
            elif one is supervisor:
                ours, its = socket.socketpair()
                pid = _second_generation(lambda: _begin(message, fds, run, its, ours, leave_behind))  # noqa: B023
                askers.append(ours)
                its.close()
                supervisor.send(str(pid).encode())
            elif os.fork() == 0:
                leave_behind()
                calculate(fds[0])
            for fd in fds:
                os.close(fd)


def _begin(
    message: bytes,
    fds: Sequence[int],
    run: Callable[[list[str], int], None],
    its: socket.socket,
    ours: socket.socket,
    leave_behind: Callable[[], None],
) -> None:
    """In a child: take leave of the nursery, learn what it may know, and run."""
    leave_behind()
    ours.close()
    os.setsid()  # a terminal's Ctrl-C reaches the supervisor alone, which stops them in order
    variables, *given = fds
    with os.fdopen(variables, "rb") as file:
        file.seek(0)
        os.environ.update(json.load(file))
    arguments, numbers = json.loads(message)
    os.environ.update({name: str(given[place]) for name, place in numbers.items()})
    words = [str(given[int(word[1:])]) if word.startswith("@") else word for word in arguments]
    with contextlib.suppress(OSError), open("/proc/self/comm", "w") as name:
        name.write(f"forelock-{words[0]}")
    run(words, its.detach())


def _second_generation(run: Callable[[], None]) -> int:
    """Return a grandchild whose parent has ended: it belongs to who reaps orphans, the supervisor."""
    read, write = os.pipe()
    first = os.fork()
    if first == 0:
        second = os.fork()
        if second == 0:
            os.close(read)
            os.close(write)
            run()
            os._exit(1)
        os.write(write, str(second).encode())
        os._exit(0)
    os.close(write)
    os.waitpid(first, 0)
    with os.fdopen(read, "rb") as pipe:
        return int(pipe.read())


def _bury() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
