"""The one client for everything that leaves: it looks names up itself, checks every address, and calls that address.

A name that resolved to an allowed address cannot turn into another one between check and call. Redirects are answers,
not orders; proxies of the environment are ignored; what comes back has a limit and a deadline.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import httpcore
import httpx
from typing_extensions import override

from service.publish.addresses import Address, Allowed, UnusableEntry, require_allowed
from service.publish.faults import Forbidden, Unanswered

USER_AGENT = "forelock"

Resolve = Callable[[str, int], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back from the address that was asked."""

    status: int
    media_type: str
    body: bytes


def resolve(host: str, port: int) -> list[str]:
    """Return every address of a host, by the system's resolver."""
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[4][0]) for address in addresses))


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Calls to the outside, for whoever publishes something."""

    allowed: Sequence[Allowed] = ()
    connect_seconds: float = 10.0
    total_seconds: float = 30.0
    resolve: Resolve = resolve
    context: ssl.SSLContext = field(default_factory=ssl.create_default_context)

    def send(
        self,
        method: str,
        url: str,
        *,
        content: bytes = b"",
        headers: Mapping[str, str] | None = None,
        limit: int,
    ) -> Answer:
        """Call and read the answer, of at most `limit` bytes.

        Raises:
            Forbidden: the address may not be called, or is none.
            Unanswered: everything else that is not an answer; a redirect too.
        """
        target = _parse_url(url)
        all_headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity", **(headers or {})}
        transport = _Transport(self, time.monotonic() + self.total_seconds)
        try:
            with (
                httpx.Client(transport=transport, trust_env=False, follow_redirects=False) as client,
                client.stream(method, target, content=content, headers=all_headers, timeout=None) as response,
            ):
                return _read_answer(response, target.host, limit)
        except httpx.TimeoutException as error:
            raise Unanswered(f"{target.host} did not answer in time") from error
        except httpx.ConnectError as error:
            raise Unanswered(f"{target.host} cannot be reached{_certificate_fault(error)}") from error
        except httpx.HTTPError as error:
            raise Unanswered(f"{target.host} broke off the call ({type(error).__name__})") from error

    def addresses(self, host: str, port: int) -> list[Address]:
        """Return where a host is, if all of that may be called.

        Raises:
            Forbidden: some of it may not.
            Unanswered: nobody knows the host.
        """
        try:
            addresses = [ipaddress.ip_address(host)]
        except ValueError:
            try:
                addresses = [
                    ipaddress.ip_address(text.partition("%")[0]) for text in self.resolve(host, port)
                ]
            except (OSError, UnicodeError) as error:
                raise Unanswered(f"{host} has no address that can be looked up") from error
        if not addresses:
            raise Unanswered(f"{host} has no address that can be looked up")
        try:
            return require_allowed(host, addresses, port, self.allowed)
        except UnusableEntry as refused:
            raise Forbidden(str(refused)) from None


def _read_answer(response: httpx.Response, host: str, limit: int) -> Answer:
    """Return the answer, unless it points elsewhere, is packed, or is longer than `limit` bytes.

    It is read piece by piece, so that one without end is left in time.
    """
    if response.is_redirect:
        raise Unanswered(f"{host} answers {response.status_code} and points elsewhere, which is not followed")
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise Unanswered(f"{host} answers in an encoding that was not asked for")
    body = bytearray()
    for part in response.iter_raw(8192):
        body += part
        if len(body) > limit:
            raise Unanswered(f"{host} answers with more than {limit} bytes")
    media_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return Answer(response.status_code, media_type, bytes(body))


class _Transport(httpx.HTTPTransport):
    """httpx over connections that are guarded. The name in the address stays what TLS and `Host` speak of."""

    def __init__(self, outgoing: Outgoing, until: float) -> None:
        super().__init__(verify=outgoing.context)
        self._pool = httpcore.ConnectionPool(
            ssl_context=outgoing.context, network_backend=_Guarded(outgoing, until)
        )


class _Guarded(httpcore.NetworkBackend):
    """Connects to the very addresses that were checked."""

    def __init__(self, outgoing: Outgoing, until: float) -> None:
        self._outgoing, self._until = outgoing, until
        self._backend = httpcore.SyncBackend()

    @override
    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address that takes the connection."""
        *others, last = self._outgoing.addresses(host.lower(), port)
        for address in others:
            with suppress(httpcore.ConnectError, httpcore.ConnectTimeout):
                return self._connect(address, port)
        return self._connect(last, port)

    def _connect(self, address: Address, port: int) -> httpcore.NetworkStream:
        seconds = min(
            self._outgoing.connect_seconds, _count_seconds_left(self._until, httpcore.ConnectTimeout)
        )
        return _Timed(self._backend.connect_tcp(str(address), port, timeout=seconds), self._until)


class _Timed(httpcore.NetworkStream):
    """A connection with one deadline for all that is sent and read, however slowly it drips."""

    def __init__(self, stream: httpcore.NetworkStream, until: float) -> None:
        self._stream, self._until = stream, until

    @override
    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read some bytes, at most so many."""
        return self._stream.read(max_bytes, _count_seconds_left(self._until, httpcore.ReadTimeout))

    @override
    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all bytes, within the time that is left."""
        self._stream.write(buffer, _count_seconds_left(self._until, httpcore.WriteTimeout))

    @override
    def close(self) -> None:
        """End the connection, after which nothing can be read or written on it."""
        self._stream.close()

    @override
    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """Go on with the same connection under TLS."""
        left = _count_seconds_left(self._until, httpcore.ConnectTimeout)
        return _Timed(self._stream.start_tls(ssl_context, server_hostname, left), self._until)

    @override
    def get_extra_info(self, info: str) -> object:
        """Return what is known of it."""
        return self._stream.get_extra_info(info)


def _count_seconds_left(until: float, late: type[Exception]) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise late("the deadline has passed")
    return left


def require_url(url: str) -> str:
    """Return an address of a service, as settings give it: http or https, a host, and neither user nor password.

    Raises:
        Forbidden: what it is not; one sentence.
    """
    _parse_url(url)
    return url


def _parse_url(url: str) -> httpx.URL:
    """Return an address that may be called, as far as its text tells; where its host is, is asked when it is called."""
    try:
        target = httpx.URL(url)
    except (httpx.InvalidURL, ValueError, TypeError):
        raise Forbidden("this is no web address") from None
    if target.scheme not in {"http", "https"} or not target.host:
        raise Forbidden("a web address begins with http:// or https:// and names a host")
    if target.userinfo:
        raise Forbidden("a web address with a user or a password is not called")
    return target


def _certificate_fault(error: httpx.ConnectError) -> str:
    """Of certificates what is wrong with them, of everything else nothing."""
    text = str(error)
    start = text.find("certificate verify failed")
    return f" ({text[start:].partition(' (_ssl')[0]})" if start >= 0 else ""
