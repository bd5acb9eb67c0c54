"""The connection of a client: one request per call, repeated safely when the network or the service stumbles."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, BinaryIO, Self

import httpx

from forelock import incoming, settings
from forelock.deadlines import bound_answers
from forelock.problem import ForelockProblem, JobTimeout, Unreachable

Json = dict[str, Any]
RETRIED = frozenset({429, 502, 503, 504})
LONGEST_PAUSE = 30.0
LONGEST_POLL = 5.0
MOST_PAGES = 100_000
MAX_DOWNLOAD = 2**32
"""Bytes of a bundle."""


class Connection:
    """One service, one API key.

    Repeated are connection errors and the answers 429, 502, 503, 504, at most `attempts` times in all, with
    growing pauses or as `Retry-After` says. Writes carry an `Idempotency-Key` that stays the same over the
    repetitions, so a write whose answer was lost is not done twice. The key is random, never made from what
    is sent: it appears in logs.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        *,
        transport: httpx.BaseTransport | None = None,
        attempts: int = 6,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        key = settings.api_key(api_key)
        self.url = settings.service_url(url)
        self._attempts = attempts
        self._sleep = sleep
        self._clock = clock
        self.on_wait: Callable[[str, float | None], object] = lambda _what, _share: None
        """Told what a call waits for, and how far it is where that is known: 1 when it is over."""
        self.answered = False
        """Whether a service has answered anything that was taken."""
        try:
            client = httpx.Client(
                base_url=self.url,
                timeout=timeout,
                transport=transport,
                headers={
                    "Accept-Encoding": incoming.ENCODINGS,
                    **({"Authorization": f"Bearer {key}"} if key else {}),
                },
            )
            self._http = bound_answers(client)
        except httpx.InvalidURL as error:
            raise Unreachable(f"'{self.url}' is no address: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to the service."""
        self._http.close()

    def _etag(self, record: str) -> str:
        return header(self._send("GET", record), "ETag")

    def _iterate_pages(self, path: str, parameters: Mapping[str, str] | None = None) -> Iterator[Json]:
        """Yield the items of every page of a list; a service that leads in a circle is refused."""
        query = dict(parameters or {})
        for _ in range(MOST_PAGES):
            page = self._json("GET", path, params=query)
            yield from objects(page["items"])
            cursor = page.get("next_cursor")
            if not cursor:
                return
            if not isinstance(cursor, str) or cursor == query.get("cursor"):
                raise not_forelock("leads from a page to itself")
            query["cursor"] = cursor
        raise not_forelock(f"goes on for more than {MOST_PAGES} pages")

    def _job_result(self, location: str, deadline: float) -> Json:
        """Wait for a job and return its result; JobTimeout once the deadline passed, its problem where it failed."""
        pause = 0.05
        while True:
            job = self._json("GET", location)
            if job["state"] not in ("queued", "running"):
                self.on_wait("job", 1.0)
            if job["state"] == "succeeded":
                return objects([job["result"]])[0]
            if job["state"] in ("failed", "cancelled"):
                error = job.get("error")
                document = error if isinstance(error, dict) and error else {"code": f"job_{job['state']}"}
                raise ForelockProblem.from_document(document)
            progress = job.get("progress")
            self.on_wait("job", progress if isinstance(progress, float | int) else None)
            if self._clock() + pause > deadline:
                raise JobTimeout(f"job {job['id']} is still {job['state']}")
            self._sleep(pause)
            pause = min(1.5 * pause, LONGEST_POLL)

    def _download(self, path: str, file: BinaryIO, parameters: Mapping[str, list[str]]) -> int:
        """Write an answer to a file as it comes; it may be larger than memory."""
        written = 0
        try:
            with self._http.stream("GET", path, params=dict(parameters)) as response:
                if not response.is_success:
                    raise incoming.read_problem(incoming.read(response, self._clock))
                for piece in incoming.pieces(response, MAX_DOWNLOAD, self._clock):
                    written += file.write(piece)
                return written
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise Unreachable(f"'{self.url}' is no address: {error}") from error
        except httpx.TransportError as error:
            raise self._silent(error) from error

    def _silent(self, error: httpx.TransportError) -> Unreachable:
        """Return what to say where nothing answers, with the way out where nothing listens."""
        way_out = ""
        if isinstance(error, httpx.ConnectError):
            way_out = "; `forelock serve` starts one on this machine, and --url or FORELOCK_URL names another"
        return Unreachable(f"{self.url} does not answer: {error}{way_out}")

    def _json(self, method: str, path: str, **arguments: Any) -> Json:
        return read_object(self._send(method, path, **arguments))

    def _send(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        key: str | None = None,
        **arguments: Any,
    ) -> httpx.Response:
        """Send a request, and again after a pause while the service is silent or asks to wait."""
        sent = {**(headers or {}), **({"Idempotency-Key": key} if key else {})}
        for attempt in range(1, self._attempts + 1):
            last = attempt == self._attempts
            try:
                with self._http.stream(method, path, headers=sent, **arguments) as unread:
                    response = incoming.read(unread, self._clock)
            except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
                raise Unreachable(f"'{self.url}' is no address: {error}") from error
            except httpx.TransportError as error:
                if last:
                    raise self._silent(error) from error
                self._sleep(_backoff(attempt))
                continue
            if response.is_success:
                self.answered = True
                return response
            problem = incoming.read_problem(response)
            again = response.status_code in RETRIED or problem.code == "idempotency_in_flight"
            if last or not again:
                raise problem
            self._sleep(_pause(response, attempt))
        raise AssertionError("unreachable: the last attempt returns or raises")


def _pause(response: httpx.Response, attempt: int) -> float:
    """Seconds to wait before the next attempt: `Retry-After` (seconds or a date), within bounds."""
    header = response.headers.get("Retry-After", "")
    try:
        if header.isdigit():
            wait = float(header)
        else:
            now = parsedate_to_datetime(response.headers["Date"])
            wait = (parsedate_to_datetime(header) - now).total_seconds()
    except (KeyError, ValueError, TypeError, OverflowError):
        return _backoff(attempt)
    return min(max(wait, 0.0), LONGEST_PAUSE)


def _backoff(attempt: int) -> float:
    return min(0.2 * 2.0 ** (attempt - 1), LONGEST_PAUSE)


def not_forelock(what: str, status: int = 200) -> ForelockProblem:
    """Return an answer that no service gives."""
    return ForelockProblem(status, "not_forelock", f"the answer {what}")


def header(response: httpx.Response, name: str) -> str:
    """Return a header that an answer has to have."""
    if name not in response.headers:
        raise not_forelock(f"has no header {name}", response.status_code)
    value = str(response.headers[name])
    if not (value.isascii() and value.isprintable()):  # the next request carries it
        raise not_forelock(f"has a header {name} that no request carries", response.status_code)
    return value


def objects(values: Any) -> list[Json]:
    """Return a list of JSON objects, as an answer has to hold them."""
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise not_forelock("holds something else where a list of objects stands")
    return values


def read_object(response: httpx.Response) -> Json:
    """Return the JSON object that an answer holds."""
    document = incoming.read_document(response.content)
    if not isinstance(document, dict):
        raise not_forelock("is not a JSON object", response.status_code)
    return document
