"""Starlette's test client, with one hand-over to the application's thread for a request where it makes eight.

It can follow an answer piece by piece, and asks for each of them from the other thread. Tests look at whole answers:
so the application runs to its end, and what it sent is the answer. An answer without an end needs a server.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import anyio
from starlette import testclient

httpx = testclient.httpx


class WholeAnswers(testclient._TestClientTransport):
    """Runs the application on a request, and answers with what it has sent when it has ended."""

    def handle_request(self, request: Any) -> Any:
        """The answer; an error of the application is raised, or status 500 where the client says so."""
        answer = _Answer(request.read())
        with self.portal_factory() as portal:
            try:
                portal.call(self.app, self._scope(request), answer.receive, answer.send)
            except BaseException:
                if self.raise_server_exceptions:
                    raise
        if answer.started is None:
            assert not self.raise_server_exceptions, "the application ended without an answer"
            return httpx.Response(500, request=request)
        body = b"" if request.method == "HEAD" else b"".join(answer.parts)
        # As a stream, like any other transport's: with `content`, httpx would add headers of its own.
        return httpx.Response(
            answer.started["status"],
            headers=answer.started["headers"],
            stream=httpx.ByteStream(body),
            request=request,
        )

    def _scope(self, request: Any) -> dict[str, Any]:
        url = request.url
        return {
            "type": "http",
            "http_version": "1.1",
            "method": request.method,
            "path": unquote(url.path),
            "raw_path": url.raw_path.split(b"?", 1)[0],
            "root_path": self.root_path,
            "scheme": url.scheme,
            "query_string": url.query,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "client": self.client,
            "server": [url.host, url.port or {"http": 80, "https": 443}[url.scheme]],
            "extensions": {},
            "state": self.app_state.copy(),
        }


class _Answer:
    """What an application is told of a request, and what it sends."""

    def __init__(self, body: bytes) -> None:
        self.body: bytes | None = body
        self.started: dict[str, Any] | None = None
        self.parts: list[bytes] = []
        self.complete = anyio.Event()

    async def receive(self) -> dict[str, Any]:
        """The body, and after the whole answer that the client has gone."""
        if self.body is None:
            await self.complete.wait()
            return {"type": "http.disconnect"}
        body, self.body = self.body, None
        return {"type": "http.request", "body": body}

    async def send(self, message: Any) -> None:
        """Keep the message, which has to be one that may follow."""
        if message["type"] == "http.response.start":
            assert self.started is None, "an answer began twice"
            self.started = {"headers": [], **message}
        elif message["type"] == "http.response.body":
            assert self.started is not None, "a body came before its status"
            assert not self.complete.is_set(), "something was sent after the end of the body"
            self.parts.append(bytes(message.get("body", b"")))
            if not message.get("more_body", False):
                self.complete.set()
