"""The HTTP/1.1 protocol of an API worker: limits on what precedes a body, on what is sent ahead, on who is silent.

A connection has one request parsed at a time. What was sent ahead of its answer waits as bytes, and few of them; its
turn comes after that of everybody who did not send ahead. What is not read of an answer is not kept for ever.
"""

from __future__ import annotations

import asyncio
import re
import resource
from collections import deque

import httptools
from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 64 * 1024
"""Request line and headers together; everything the service reads of them is far shorter."""
HEAD_SECONDS = 10.0
"""A head that has not come by then is not waited for."""
MOST_AHEAD = 16 * 1024
"""Bytes of further requests that may wait for an answer under way. Beyond that the connection ends with this answer."""
TURNS = 8
"""Requests sent ahead that are begun before everybody else is listened to again."""
UNREAD_SECONDS = 20.0
"""How long a client may take to read `LEAST_READ` bytes of an answer that waits for it."""
LEAST_READ = 16 * 1024
"""A client that reads fewer bytes of an answer within `UNREAD_SECONDS` is cut off."""
SPARE_FILES = 200
"""Files that are no connections of clients: databases, calculators, the log."""
MOST_CONNECTIONS = 8192
"""Connections that one worker serves at a time, where the system allows as many files."""

_END_OF_HEAD = re.compile(rb"\n\r?\n")
_SOME = 2048
"""Bytes of a body without a length that are parsed at a time: the next request may stand in the same bytes."""


def raise_file_limit() -> int:
    """Let this process open as many files as the system allows; returns how many connections that makes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + SPARE_FILES
    wanted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(wanted - SPARE_FILES, 16)


class LimitedProtocol(HttpToolsProtocol):
    """Cuts off a request whose head is too long or too late, and makes room where connections are too many.

    When all places are taken the connection goes that has been without a request for longest; a newcomer
    goes only where every other one is being answered.
    """

    most = MOST_CONNECTIONS
    _quiet: dict[LimitedProtocol, None] = {}  # noqa: RUF012 - one order for the whole process
    """Connections without a whole head, the longest first."""
    _ahead: deque[LimitedProtocol] = deque()  # noqa: RUF012 - one order for the whole process
    """Connections whose next request has come already, in the order in which they were answered."""

    _in_head = True
    _in_body = False
    _head_bytes = 0
    _body_left: int | None = None
    """Bytes of the body that are still to come; None where the head does not say."""
    _last = b""
    """The last bytes that were parsed of a head: the empty line that ends it may come in pieces."""
    _waiting = b""
    """What came and is not parsed yet."""
    _has_turn = False
    _asks_upgrade = False
    _deadline: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _unread_bytes = 0

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a head; somebody else's place is taken where there is none left."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > self.most:
            next(iter(self._quiet)).transport.abort()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of a connection that has ended, so that its place is free."""
        self._waiting = b""
        if self._has_turn:
            self._ahead.remove(self)
        self._no_longer_waiting()
        self._watch_reading(None)
        super().connection_lost(exc)

    @override
    def data_received(self, data: bytes) -> None:
        """Parse what belongs to the request that is read; keep what was sent ahead."""
        self._waiting = self._waiting + data if self._waiting else data
        if not self._has_turn:
            self._parse()

    def _parse(self) -> None:
        """Parse until a request is whole; what follows it waits for its answer."""
        while self._waiting and (self._in_head or self._in_body) and not self.transport.is_closing():
            size = self._measure_piece()
            piece, self._waiting = self._waiting[:size], self._waiting[size:]
            if piece:
                self._feed(piece)
        if self.transport.is_closing():
            self._waiting = b""
        elif self._waiting:
            self.flow.pause_reading()
            if len(self._waiting) > MOST_AHEAD:
                self._waiting = b""
                self.cycle.keep_alive = False

    def _measure_piece(self) -> int:
        """Measure how many of the waiting bytes may be parsed without a second request among them."""
        if not self._in_head:
            return _SOME if self._body_left is None else max(self._body_left, 1)
        if not self._last:  # empty lines before a request mean nothing
            self._waiting = self._waiting.lstrip(b"\r\n")
        end = _END_OF_HEAD.search(self._last + self._waiting)
        size = len(self._waiting) if end is None else end.end() - len(self._last)
        self._last = (self._last + self._waiting[:size])[-2:]
        return size

    def _feed(self, data: bytes) -> None:
        """Have the parser read bytes of one request, and hold the head to its limits of length and time."""
        waited = self._in_head
        super().data_received(data)
        if self._asks_upgrade:
            self._read_without_upgrade()
        if self.transport.is_closing():
            return
        if self._in_body and self._deadline is not None:  # answered already: as long as more comes, it may
            self._wait()
        if self._in_head:
            # before a head that begins here came the end of a body
            self._head_bytes += len(data) if waited else 0
            if self._head_bytes > MAX_HEAD_BYTES:
                self.send_400_response("The head of the request is too long.")
            elif self._deadline is None:
                self._wait()

    def _read_without_upgrade(self) -> None:
        """Have the head parsed again without its `Upgrade`, which a server may ignore (RFC 9110, 7.8).

        The parser takes all that follows such a head for another protocol, and the body would be lost.
        """
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        kept = [(name, value) for name, value in self.headers if name != b"upgrade"]
        lines = [b"%b %b HTTP/%b" % (method, self.url, version), *(b"%b: %b" % header for header in kept)]
        self._asks_upgrade = False
        self.parser = httptools.HttpRequestParser(self)
        super().data_received(b"\r\n".join([*lines, b"", b""]))

    @override
    def on_message_begin(self) -> None:
        """Begin to count the bytes of another request's head."""
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()

    @override
    def on_headers_complete(self) -> None:
        """Note that the head has ended within its limit, and how long the body will be."""
        if self.parser.should_upgrade() and any(name == b"upgrade" for name, _ in self.headers):
            self._asks_upgrade = True
            return
        self._in_head, self._in_body, self._last = False, True, b""
        lengths = [value for name, value in self.headers if name == b"content-length"]
        self._body_left = int(lengths[0]) if len(lengths) == 1 and lengths[0].isdigit() else None
        self._no_longer_waiting()
        super().on_headers_complete()

    @override
    def on_body(self, body: bytes) -> None:
        """Count a piece of the body that came."""
        if self._body_left is not None:
            self._body_left -= len(body)
        super().on_body(body)

    @override
    def on_message_complete(self) -> None:
        """Note that the body has ended; where its answer was sent before, what comes next is a head."""
        if self._asks_upgrade:
            return
        self._in_body = False
        super().on_message_complete()
        if self._deadline is not None:
            self._in_head, self._head_bytes = True, 0

    @override
    def on_response_complete(self) -> None:
        """Wait for the next request; the rest of a body that was not waited for may come before it."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_reading(self.transport.get_write_buffer_size())
        elif self.cycle is None or self.cycle.response_complete:
            self._in_head = not self._in_body
            self._wait()
            if self._waiting:
                self._queue()

    def _queue(self) -> None:
        """Have what was sent ahead parsed once everybody else was listened to."""
        self._unset_keepalive_if_required()
        self.flow.pause_reading()
        self._has_turn = True
        self._ahead.append(self)
        if len(self._ahead) == 1:
            self.loop.call_soon(self._take_turns, self.loop)

    @classmethod
    def _take_turns(cls, loop: asyncio.AbstractEventLoop) -> None:
        """Begin a few of the requests that were sent ahead, and come back for the others after everybody else."""
        for _ in range(min(TURNS, len(cls._ahead))):
            connection = cls._ahead.popleft()
            connection._has_turn = False
            if not connection.transport.is_closing():
                connection.flow.resume_reading()
                connection._parse()
        if cls._ahead:
            loop.call_soon(cls._take_turns, loop)

    @override
    def pause_writing(self) -> None:
        """Watch that the client reads: more of an answer waits than the transport takes at once."""
        super().pause_writing()
        self._watch_reading(self.transport.get_write_buffer_size())

    @override
    def resume_writing(self) -> None:
        """Go on with an answer after the reader took what was sent."""
        super().resume_writing()
        if not self.transport.is_closing():
            self._watch_reading(None)

    def _watch_reading(self, unread: int | None) -> None:
        """End the connection unless it reads on from so many bytes that are unsent; None: there is nothing to read."""
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        if unread:
            self._unread_bytes = unread
            self._unread = self.loop.call_later(UNREAD_SECONDS, self._require_reading)

    def _require_reading(self) -> None:
        """Cut the client off, unless it has read enough since it was last looked at."""
        left = self.transport.get_write_buffer_size()
        if left > self._unread_bytes - LEAST_READ:
            self.transport.abort()
        else:
            self._watch_reading(left)

    @override
    def _unsupported_upgrade_warning(self) -> None:
        """Warn nobody: a request to upgrade is answered as any other."""

    def _wait(self) -> None:
        self._no_longer_waiting()
        self._quiet[self] = None
        self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _no_longer_waiting(self) -> None:
        self._quiet.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
