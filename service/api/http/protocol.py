"""The HTTP/1.1 protocol of an API worker, with limits on what comes before a body and on who says nothing."""

from __future__ import annotations

import asyncio
import resource

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 64 * 1024
"""Request line and headers together; everything the service reads of them is far shorter."""
HEAD_SECONDS = 10.0
"""A head that has not come by then is not waited for."""
SPARE_FILES = 200
"""Files that are no connections of clients: databases, calculators, the log."""
MOST_CONNECTIONS = 8192


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

    _in_head = True
    _in_body = False
    _head_bytes = 0
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a head; somebody else's place is taken where there is none left."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > self.most:
            next(iter(self._quiet)).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Its place is free."""
        self._no_longer_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came; while the head goes on, count it."""
        waited = self._in_head
        super().data_received(data)
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

    def on_message_begin(self) -> None:
        """Another request begins."""
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head has ended within its limit."""
        self._in_head, self._in_body = False, True
        self._no_longer_waiting()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The body has ended; where its answer came first, what comes now is a head."""
        self._in_body = False
        super().on_message_complete()
        if self._deadline is not None:
            self._in_head, self._head_bytes = True, 0

    def on_response_complete(self) -> None:
        """The connection is quiet until the next request; a body that was not waited for may still come."""
        super().on_response_complete()
        if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
            self._in_head = not self._in_body
            self._wait()

    def _wait(self) -> None:
        self._no_longer_waiting()
        self._quiet[self] = None
        self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _no_longer_waiting(self) -> None:
        self._quiet.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
