"""The calculators of one API process: who asks for one, in which order, and what happens when one is lost."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TypeVar

from anyio import to_thread
from fastapi import Request
from starlette.requests import ClientDisconnect

from service.api.calculators.messages import LENGTH, Begun, Broken, pack
from service.errors import ForelockError, TooLarge, Unavailable
from service.telemetry.logs import ERRORS

T = TypeVar("T")

KEPT_BYTES = 1024 * 1024
"""A calculator that was sent more than this is not used again: it would keep the memory."""
CHUNK = 256 * 1024
"""Bytes that are read from a calculator at a time."""
FORKERS = 3
"""Processes to fork from that are tried, one after another, where the one before turns out to be gone."""


class CalculatorLost(Exception):
    """The calculator ended: it computed for longer than it was allowed, or took too much memory."""

    def __init__(self, *, begun: bool) -> None:
        super().__init__()
        self.begun = begun
        """True where the body had been read by then: what took so long was computing."""


@dataclass(slots=True)
class _Calculator:
    """One process and the socket to it."""

    socket: socket.socket
    process_id: int = 0
    busy: bool = False
    """A call was sent, and its outcome has not come."""

    async def meet(self, niceness: int) -> None:
        """Wait until the process is there, and make it so much nicer.

        Raises:
            OSError, EOFError: it never will be.
        """
        (self.process_id,) = struct.unpack("!Q", await self._receive(asyncio.get_running_loop(), 8))
        if niceness:
            now = os.getpriority(os.PRIO_PROCESS, self.process_id)
            os.setpriority(os.PRIO_PROCESS, self.process_id, now + niceness)

    async def call(self, pieces: list[bytes]) -> object:
        """Send a call and wait for its outcome; `pieces` is empty then."""
        loop, begun, self.busy = asyncio.get_running_loop(), False, True
        try:
            # A body is let go as it is sent: its outcome may take several times its size.
            pieces.reverse()
            while pieces:
                await loop.sock_sendall(self.socket, pieces.pop())
            while isinstance(outcome := await self._message(loop), Begun):
                begun = True
        except (OSError, EOFError):
            raise CalculatorLost(begun=begun) from None
        self.busy = False
        return outcome

    async def _message(self, loop: asyncio.AbstractEventLoop) -> object:
        head, _payload = LENGTH.unpack(await self._receive(loop, LENGTH.size))
        pickled = await self._receive(loop, head)
        if len(pickled) > KEPT_BYTES:
            return await to_thread.run_sync(pickle.loads, pickled)
        return pickle.loads(pickled)  # noqa: S301 - made by our own process

    async def _receive(self, loop: asyncio.AbstractEventLoop, size: int) -> bytearray:
        received = bytearray(size)
        view, done = memoryview(received), 0
        while done < size:
            count = await loop.sock_recv_into(self.socket, view[done : done + CHUNK])
            if count == 0:
                raise EOFError
            done += count
        return received

    def has_ended(self) -> bool:
        """Tell whether the process is gone.

        Asked between calls, when it has nothing to say, so that a read means its end.
        """
        try:
            return not self.socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def end(self) -> None:
        """Let the process go; one that is busy would not notice."""
        if self.busy and self.process_id:
            with contextlib.suppress(OSError):
                os.kill(self.process_id, signal.SIGKILL)
        self.socket.close()


class _Forks:
    """The process that calculators are forked from; one for a process, started when the first is needed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._requests: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, lost: socket.socket | None = None) -> socket.socket:
        """Return the socket over which the process takes sockets of new calculators, and start it where there is none.

        `lost` is such a socket whose process was seen to be gone: another process is started in its place.
        """
        with self._lock:
            if self._requests is not None and self._requests is lost:
                self._end()
            if self._requests is None:
                self._requests = self._start_process()
            return self._requests

    def stop(self) -> None:
        """End the process; the next `start` starts another."""
        with self._lock:
            self._end()

    def _start_process(self) -> socket.socket:
        """Start the process that forks calculators, and return our end of its socket.

        It gets one BLAS thread, and none of the settings: they hold secrets.
        """
        ours, its = socket.socketpair()
        kept = {name: text for name, text in os.environ.items() if not name.startswith("FORELOCK_")}
        with its, _close_on_failure(ours):
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-m", "service.api.calculators.process", str(its.fileno())],
                pass_fds=[its.fileno()],
                env=kept | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
            )
            ours.setblocking(False)
        return ours

    def _end(self) -> None:
        if self._requests is not None:
            self._requests.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._requests = self._process = None

    def adopt(self, requests: socket.socket) -> None:
        """Ask the process that this one was forked from, for as long as it answers."""
        requests.setblocking(False)
        with self._lock:
            self._requests = requests


@contextlib.contextmanager
def _close_on_failure(opened: socket.socket) -> Iterator[None]:
    """Leave the socket open unless the block raises."""
    try:
        yield
    except BaseException:
        opened.close()
        raise


def _fork_calculator(requests: socket.socket) -> _Calculator:
    """Fork another calculator, which is the caller's to end.

    It waits for nothing: a caller that gave up while waiting could not end the calculator.

    Raises:
        BlockingIOError: those that were asked for before are not made yet.
        OSError: the process that makes them is gone.
    """
    ours, its = socket.socketpair()
    with its, _close_on_failure(ours):
        ours.setblocking(False)
        socket.send_fds(requests, [b"."], [its.fileno()])
    return _Calculator(ours)


_forks = _Forks()
adopt_forks = _forks.adopt
atexit.register(_forks.stop)


class Calculators:
    """At most `most` calculators at work. Projects take turns, so none waits for all of another's calls.

    What a calculator does cannot be put aside for somebody else: the last one that is free is given to a project that
    holds none, so that no project ever holds them all.
    """

    def __init__(self, most: int | None = None, *, niceness: int = 0) -> None:
        """`niceness` is added to what calculators have: what takes long leaves the processor to the others."""
        self._free = most or max(3, (os.cpu_count() or 1) + 1)
        self._niceness = niceness
        self._held: Counter[str] = Counter()
        self._idle: list[_Calculator] = []
        self._open = False
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    def open(self) -> None:
        """Keep calculators between calls, until `close`; before and after, each ends with its call."""
        self._open = True

    def warm(self) -> None:
        """Start what calculators are forked from, before somebody waits for it."""
        _forks.start()

    async def run(
        self,
        request: Request,
        function: Callable[..., T],
        *arguments: object,
        body: Sequence[bytes] = (),
        seconds: float,
    ) -> T:
        """Return `function(body, *arguments)`, computed in a calculator that may take `seconds` of a processor.

        A client that hangs up meanwhile gives its place to others.

        Raises:
            CalculatorLost: it took longer, or too much memory.
            ClientDisconnect: the client hung up.
            ForelockError: what the function raised, or a bug in it.
        """
        call = pack((function, arguments, seconds), body)
        del body  # what the caller does not keep is held by nobody once it is sent
        outcome = await _run_while_connected(request, self._call(get_project_id(request), call))
        if isinstance(outcome, Broken):
            ERRORS.error("a calculator failed", extra={"fields": outcome.location})
            raise ForelockError("an unexpected error; the log has it under this answer's X-Request-Id")
        if isinstance(outcome, ForelockError):
            raise outcome
        return outcome  # type: ignore[return-value]

    def close(self) -> None:
        """Let idle calculators go; those at work end with their calls."""
        self._open = False
        while self._idle:
            self._idle.pop().end()

    async def _call(self, project: str, pieces: list[bytes]) -> object:
        """Wait for the project's turn and have a calculator answer the call.

        It is kept for another one unless it failed or was sent more than `KEPT_BYTES`.
        """
        reusable = sum(map(len, pieces)) <= KEPT_BYTES
        await self._enter(project)
        calculator: _Calculator | None = None
        keep = False
        try:
            calculator = self._find_warm() or await self._fork()
            outcome = await calculator.call(pieces)
            keep = self._open and reusable
            return outcome
        finally:
            if calculator is not None and keep:
                self._idle.append(calculator)
            elif calculator is not None:
                calculator.end()
            self._leave(project)

    def _find_warm(self) -> _Calculator | None:
        """Take an idle calculator whose process is there; None where there is none."""
        while self._idle:
            calculator = self._idle.pop()
            if not calculator.has_ended():
                return calculator
            calculator.end()
        return None

    async def _fork(self) -> _Calculator:
        """Fork a calculator and wait until its process is there.

        Raises:
            Unavailable: the process to fork from is gone, `FORKERS` times, or has too much to do.
        """
        lost: socket.socket | None = None
        for _ in range(FORKERS):
            requests = await to_thread.run_sync(_forks.start, lost)
            try:
                calculator = _fork_calculator(requests)
            except BlockingIOError:
                break
            except OSError:  # it was ended by somebody
                lost = requests
                continue
            try:
                await calculator.meet(self._niceness)
                return calculator
            except (OSError, EOFError):  # it was ended with the request still unread: no body has been sent
                lost = requests
                calculator.end()
            except BaseException:  # whoever asked has given up
                calculator.end()
                raise
        raise Unavailable("nothing more can be computed at the moment: repeat the request shortly")

    async def _enter(self, project: str) -> None:
        """Wait for the project's turn at a calculator."""
        if self._may_take(project):
            self._take(project)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(project, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # the turn came at the same moment
                self._leave(project)
            raise

    def _may_take(self, project: str) -> bool:
        """Tell whether the project may take a free calculator: the last one is for a project that holds none."""
        return self._free > (1 if self._held[project] else 0)

    def _take(self, project: str) -> None:
        self._free -= 1
        self._held[project] += 1

    def _leave(self, project: str) -> None:
        """Give back the project's place, and hand free places to the calls that wait: one of each project in turn."""
        self._free += 1
        self._held[project] -= 1
        if not self._held[project]:
            del self._held[project]
        while self._free and (following := self._next()) is not None:
            turn = self._waiting[following].popleft()
            queue = self._waiting.pop(following)
            if queue:  # its next turn comes after everybody else's
                self._waiting[following] = queue
            if not turn.done():
                self._take(following)
                turn.set_result(None)

    def _next(self) -> str | None:
        """Return the project whose turn it is, of those that wait and may take a calculator; None where none may."""
        return next((waiting for waiting in self._waiting if self._may_take(waiting)), None)


async def _run_while_connected(request: Request, work: Awaitable[T]) -> T:
    """Return what `work` gives, unless the client hangs up first.

    The body must have been received: what comes next on the connection is taken for its end.

    Raises:
        ClientDisconnect: the client hung up.
    """
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(_wait_for_hang_up(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientDisconnect
        return task.result()
    finally:
        for running in (task, gone):
            running.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _wait_for_hang_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def get_project_id(request: Request) -> str:
    """Return the id of the project that the request's key belongs to; empty for a request without a key."""
    caller = getattr(request.state, "caller", None)
    return caller.project_id if caller else ""


def unreadable() -> TooLarge:
    """Return the refusal of a body that no calculator could even read."""
    return TooLarge("the body takes more time or memory to read than one request may have; send it in parts")
