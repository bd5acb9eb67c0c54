"""The connection of a client: one request per call, repeated safely when the network or the service stumbles."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, BinaryIO, Self

import httpx

from forelock import settings
from forelock.answers import Answer
from forelock.problem import ForelockProblem, JobTimeout, Unreachable

Json = dict[str, Any]
RETRIED = frozenset({429, 502, 503, 504})
LONGEST_PAUSE = 30.0
LONGEST_POLL = 5.0


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
        try:
            self._http = httpx.Client(
                base_url=self.url,
                timeout=timeout,
                transport=transport,
                headers={"Authorization": f"Bearer {key}"} if key else {},
            )
        except httpx.InvalidURL as error:
            raise Unreachable(f"'{self.url}' is no address: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _etag(self, record: str) -> str:
        return self._send("GET", record).headers["ETag"]

    def _pages(self, path: str, parameters: Mapping[str, str] | None = None) -> Iterator[Json]:
        query = dict(parameters or {})
        while True:
            page = self._json("GET", path, params=query)
            yield from page["items"]
            if not page.get("next_cursor"):
                return
            query["cursor"] = page["next_cursor"]

    def _job_result(self, location: str, deadline: float) -> Json:
        pause = 0.05
        while True:
            job = self._json("GET", location)
            if job["state"] not in ("queued", "running"):
                self.on_wait("job", 1.0)
            if job["state"] == "succeeded":
                return Answer(job["result"])
            if job["state"] in ("failed", "cancelled"):
                raise ForelockProblem.from_document(job.get("error") or {"code": f"job_{job['state']}"})
            self.on_wait("job", job.get("progress"))
            if self._clock() + pause > deadline:
                raise JobTimeout(f"job {job['id']} is still {job['state']}")
            self._sleep(pause)
            pause = min(1.5 * pause, LONGEST_POLL)

    def _download(self, path: str, file: BinaryIO, parameters: Mapping[str, list[str]]) -> int:
        """Write an answer to a file as it comes; it may be larger than memory."""
        try:
            with self._http.stream("GET", path, params=dict(parameters)) as response:
                if not response.is_success:
                    response.read()
                    raise ForelockProblem.from_response(response)
                for piece in response.iter_bytes():
                    file.write(piece)
                return response.num_bytes_downloaded
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise Unreachable(f"'{self.url}' is no address: {error}") from error
        except httpx.TransportError as error:
            raise Unreachable(f"{self.url} does not answer: {error}") from error

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
        sent = {**(headers or {}), **({"Idempotency-Key": key} if key else {})}
        for attempt in range(1, self._attempts + 1):
            last = attempt == self._attempts
            try:
                response = self._http.request(method, path, headers=sent, **arguments)
            except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
                raise Unreachable(f"'{self.url}' is no address: {error}") from error
            except httpx.TransportError as error:
                if last:
                    raise Unreachable(f"{self.url} does not answer: {error}") from error
                self._sleep(_backoff(attempt))
                continue
            if response.is_success:
                return response
            problem = ForelockProblem.from_response(response)
            again = response.status_code in RETRIED or problem.code == "idempotency_in_flight"
            if last or not again:
                raise problem
            self._sleep(_pause(response, attempt))
        raise AssertionError("unreachable: the last attempt returns or raises")


def _pause(response: httpx.Response, attempt: int) -> float:
    """Seconds to wait before the next attempt: `Retry-After` (seconds or a date), within bounds."""
    said = response.headers.get("Retry-After", "")
    try:
        if said.isdigit():
            wait = float(said)
        else:
            now = parsedate_to_datetime(response.headers["Date"])
            wait = (parsedate_to_datetime(said) - now).total_seconds()
    except (KeyError, ValueError):
        return _backoff(attempt)
    return min(max(wait, 0.0), LONGEST_PAUSE)


def _backoff(attempt: int) -> float:
    return min(0.2 * 2.0 ** (attempt - 1), LONGEST_PAUSE)


def read_object(response: httpx.Response) -> Json:
    """The JSON object that an answer holds."""
    try:
        document = response.json()
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise ForelockProblem(response.status_code, "not_forelock", "the answer is not a JSON object")
    return Answer(document)
