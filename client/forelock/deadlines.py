"""A deadline for the whole of an answer, its head included: each byte may come soon, and all of them never.

httpx bounds the wait for every single piece. A server that drips the letters of a header, or says "100 Continue" again
and again, stays below that bound for ever, and no code of ours runs before the head has come.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from http.cookiejar import CookieJar
from typing import Any

import httpcore
import httpx

from forelock import incoming
from forelock.problem import Unreachable


def bound_answers(client: httpx.Client) -> httpx.Client:
    """Return the same client, whose answers end within `incoming.LONGEST` seconds of the request, or are refused.

    A transport of the caller's own is left as it is. Proxies that the environment names are bounded too. No cookie is
    kept: nothing that is asked needs one, and one of odd bytes would break the next request.
    """
    client.cookies = _NoCookies()
    # httpx has no public way to its connections.
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx.HTTPTransport):
            pool = transport._pool
            pool._network_backend = _Bounded(pool._network_backend)
    return client


class _NoCookies(CookieJar):
    """Reads none of the cookies that an answer sets."""

    def extract_cookies(self, response: object, request: object) -> None:
        """Leave the cookies of a response where they are."""


class _Bounded(httpcore.NetworkBackend):
    """Connects as the other one does."""

    def __init__(self, backend: httpcore.NetworkBackend) -> None:
        self._backend = backend

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to an address within what is left of the time."""
        return _Timed(self._backend.connect_tcp(host, port, timeout, local_address, socket_options))

    def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to a socket of this machine."""
        return _Timed(self._backend.connect_unix_socket(path, timeout, socket_options))

    def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""
        self._backend.sleep(seconds)


class _Timed(httpcore.NetworkStream):
    """A connection whose answers are timed from the first read after what was last written."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream, self._until = stream, 0.0

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Some bytes.

        Raises:
            Unreachable: the answer takes too long. It is no `TimeoutException`, which would be tried again.
        """
        now = time.monotonic()
        self._until = self._until or now + incoming.LONGEST
        left = self._until - now
        try:
            if left > 0:
                return self._stream.read(max_bytes, left if timeout is None else min(timeout, left))
        except httpcore.ReadTimeout:
            if timeout is not None and timeout < left:
                raise  # it was silent, and may be asked again
        raise Unreachable(incoming.TOO_LONG.format(incoming.LONGEST))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """All bytes; what is read next is another answer."""
        self._until = 0.0
        self._stream.write(buffer, timeout)

    def close(self) -> None:
        """End the connection, after which nothing can be read or written on it."""
        self._stream.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """Go on with the same connection under TLS."""
        return _Timed(self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        """Return what is known of it."""
        return self._stream.get_extra_info(info)
