"""The HTTP/1.1 protocol of an API worker, with a limit on what comes before a body."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 64 * 1024
"""Request line and headers together; everything the service reads of them is far shorter."""


class LimitedProtocol(HttpToolsProtocol):
    """Cuts off a request whose head does not end within `MAX_HEAD_BYTES`, before it is buffered further."""

    _in_head = True
    _head_bytes = 0

    def data_received(self, data: bytes) -> None:
        """Parse what came; while the head goes on, count it."""
        super().data_received(data)
        if self._in_head and not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self.send_400_response("The head of the request is too long.")

    def on_message_begin(self) -> None:
        """Another request begins."""
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head has ended within its limit."""
        self._in_head = False
        super().on_headers_complete()
