"""Around every request: its id, its log line, its counters, safe headers, and an answer even to a bug."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from http import HTTPStatus
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api.http.metrics import Metrics
from service.telemetry.logs import ERRORS, location, log_access

CLIENT_GONE = 499
"""What the log says when the caller hung up before the answer."""

PROBES = frozenset({"/health/live", "/health/ready"})
"""Paths that machines ask for every few seconds: an answer that all is well is counted, and leaves no line."""

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{8,128}")
_SAFE_HEADERS = ((b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"same-origin"))
_NO_STORE = (b"cache-control", b"no-store")
_REVALIDATE = (b"cache-control", b"private, no-cache")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_PAGE_POLICY = (
    b"content-security-policy",
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    b"connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
)


class Surroundings:
    """ASGI middleware; the outermost of ours, so that nothing leaves without its headers and log line.

    `broken` makes the answer to a request that met a bug, as a page or a problem, which tells nothing of its cause.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, broken: Callable[[Request], Response]) -> None:
        self._app = app
        self._metrics = metrics
        self._broken = broken

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Serve one request, measured and logged."""
        if scope["type"] != "http":
            return self._app(scope, receive, send)
        return _Exchange(scope, send, self._metrics, self._broken).serve(self._app, receive)


class _Exchange:
    """One request and its response."""

    __slots__ = ("_broken", "_head", "_id", "_method", "_metrics", "_scope", "_send", "_status")

    def __init__(
        self, scope: Scope, send: Send, metrics: Metrics, broken: Callable[[Request], Response]
    ) -> None:
        self._broken = broken
        self._scope = scope
        self._send = send
        self._metrics = metrics
        self._id = _read_request_id(scope)
        self._method: str = scope["method"] if scope["method"] in _METHODS else "OTHER"
        self._head = self._method == "HEAD"
        self._status = 0

    async def serve(self, app: ASGIApp, receive: Receive) -> None:
        scope = self._scope
        scope.setdefault("state", {})["request_id"] = self._id.decode()
        if self._head:  # the server keeps its own scope: it must know that no body follows
            scope = self._scope = {**scope, "method": "GET"}
        start = time.perf_counter()
        try:
            await app(scope, receive, self._answer)
        except ClientDisconnect:
            self._status = self._status or CLIENT_GONE
        except Exception as error:  # noqa: BLE001  # whatever it is, it is logged without its text
            ERRORS.error(
                "unexpected error", extra={"fields": {"request_id": self._id.decode(), **location(error)}}
            )
            if self._status:
                raise _Broken from None
            await self._broken(Request(scope))(scope, receive, self._answer)
        finally:
            self._report(time.perf_counter() - start)

    async def _answer(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._add_headers(message)
        elif self._head and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await self._send(message)

    def _add_headers(self, message: MutableMapping[str, Any]) -> None:
        """Add the request's id and the safe headers, unless the answer has its own."""
        headers = list(message.get("headers", ()))
        names = {name for name, _ in headers}
        headers.append((b"x-request-id", self._id))
        headers += (header for header in _SAFE_HEADERS if header[0] not in names)
        if b"cache-control" not in names:
            headers.append(_REVALIDATE if b"etag" in names else _NO_STORE)
        if (
            b"content-security-policy" not in names
            and (b"content-type", b"text/html; charset=utf-8") in headers
        ):
            headers.append(_PAGE_POLICY)
        message["headers"] = headers

    def _report(self, seconds: float) -> None:
        """Count the exchange, and write its line into the access log."""
        self._status = self._status or CLIENT_GONE
        route = getattr(self._scope.get("route"), "path", "unmatched")
        caller = self._scope["state"].get("caller")
        self._metrics.count(route, self._method, self._status, seconds)
        if route in PROBES and self._status == HTTPStatus.OK:
            return
        log_access(
            {
                "method": self._method,
                "route": route,
                "status": self._status,
                "seconds": round(seconds, 6),
                "request_id": self._id.decode(),
                "key": caller.prefix if caller else None,
                "project": caller.project_id if caller else None,
                **self._scope["state"].get("told", {}),
            }
        )


class _Broken(Exception):
    """The response had begun when the error came: the connection is cut, and the log has the place."""


def _read_request_id(scope: Scope) -> bytes:
    """Read the id that the caller gave its request, if it is of a safe form; else draw one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
            return bytes(value)
    return os.urandom(16).hex().encode()
