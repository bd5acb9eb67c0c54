"""A web server of the tests' own on loopback: answers what it is told, and keeps what it was asked."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


Reply = tuple[int, Mapping[str, str], bytes]


@dataclass
class Loopback:
    """What the server answers, and what it was asked so far."""

    port: int = 0
    scheme: str = "http"
    requests: list[Asked] = field(default_factory=list)
    reply: Callable[[Asked], Reply] = lambda _asked: (404, {}, b"")
    dripping: bool = False
    ended: threading.Event = field(default_factory=threading.Event)

    def url(self, path: str) -> str:
        """An address of this server."""
        return f"{self.scheme}://127.0.0.1:{self.port}{path}"

    def answer(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """The same to everything from now on."""
        self.reply = lambda _asked: (status, headers or {}, body)

    def drip(self) -> None:
        """Answer byte by byte, without an end."""
        self.dripping = True


@contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[Loopback]:
    """A server until the block ends."""
    loopback = Loopback(scheme="http" if context is None else "https")

    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(self.command, self.path, headers, body)
            loopback.requests.append(asked)
            if loopback.dripping:
                self._drip()
                return
            status, more, content = loopback.reply(asked)
            self.send_response(status)
            for name, value in more.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = _any

        def _drip(self) -> None:
            try:
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
                while not loopback.ended.wait(0.01):
                    self.wfile.write(b"x")
            except OSError:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A caller that hangs up is no news."""

    server = Server(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    loopback.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield loopback
    finally:
        loopback.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()
