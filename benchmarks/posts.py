"""Posts over several connections, by a client that takes little of the machine it shares with the service."""

from __future__ import annotations

import selectors
import socket
import uuid
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

_END_OF_HEAD = b"\r\n\r\n"


def request(address: str, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """A POST as it goes over the wire, with an Idempotency-Key of its own."""
    fields = {
        "Host": urlsplit(address).netloc,
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Idempotency-Key": uuid.uuid4().hex,
        **headers,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def post(address: str, requests: Sequence[bytes], connections: int) -> None:
    """Send every request, each connection the next one as soon as it has its answer; each must be 201."""
    parts = urlsplit(address)
    waiting, open_sockets = iter(requests), selectors.DefaultSelector()
    try:
        for _ in range(connections):
            connected = socket.create_connection((parts.hostname, parts.port or 80), timeout=600)
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            open_sockets.register(connected, selectors.EVENT_READ)
            _send_next(open_sockets, connected, waiting)
        while open_sockets.get_map():
            for key, _events in open_sockets.select(600):
                assert isinstance(key.fileobj, socket.socket)
                _require_created(_answer(key.fileobj))
                _send_next(open_sockets, key.fileobj, waiting)
    finally:
        for key in list(open_sockets.get_map().values()):
            assert isinstance(key.fileobj, socket.socket)
            key.fileobj.close()
        open_sockets.close()


def _send_next(
    open_sockets: selectors.BaseSelector, connected: socket.socket, waiting: Iterator[bytes]
) -> None:
    sent = next(waiting, None)
    if sent is None:
        open_sockets.unregister(connected)
        connected.close()
    else:
        connected.sendall(sent)


def _answer(connected: socket.socket) -> bytes:
    """One whole answer: answers here are small, and have their length."""
    read = bytearray()
    while True:
        chunk = connected.recv(65_536)
        if not chunk:
            raise RuntimeError("the service closed the connection")
        read += chunk
        head, end, body = read.partition(_END_OF_HEAD)
        if end and len(body) >= _length(head):
            return bytes(read)


def _length(head: bytes) -> int:
    lines = head.lower().split(b"\r\n")
    return int(next(line.partition(b":")[2] for line in lines if line.startswith(b"content-length:")))


def _require_created(answer: bytes) -> None:
    if not answer.startswith(b"HTTP/1.1 201 "):
        raise RuntimeError(answer.decode(errors="replace"))
