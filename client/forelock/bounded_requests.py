"""Requests for one run or experiment of a tracker: its answers together have an end, each failure a sentence."""

from __future__ import annotations

import time
from typing import Any

import httpx

from forelock import incoming
from forelock.deadlines import bound_answers
from forelock.problem import FileFault, Unreachable

TIMEOUT = 120.0
MOST_SECONDS = 3600.0
"""From the first request about one thing to the last answer, however steadily they come."""
MOST_BYTES = 1 << 30
"""Of all answers about one thing, decoded: as much as a service takes as one import."""


class Fetcher:
    """Asks one server about one thing."""

    def __init__(self, client: httpx.Client, address: str, subject: str) -> None:
        """`subject` is what all the answers are about, such as `the run`."""
        self._client, self._address, self._subject = bound_answers(client), address, subject
        self._left = MOST_BYTES
        self._until = time.monotonic() + MOST_SECONDS

    def fetch(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        """Return the answer, whatever its status.

        Raises:
            FileFault: there is none, or with it the answers are more than an import takes, or take too long.
        """
        if time.monotonic() > self._until:
            raise FileFault(f"{self._subject} did not come whole within {MOST_SECONDS / 60:.0f} minutes")
        try:
            with self._client.stream(method, self._address + path, **arguments) as unread:
                answer = incoming.read(unread, time.monotonic)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise FileFault(f"{self._address} does not answer ({type(error).__name__})") from error
        except UnicodeEncodeError:
            raise FileFault(
                f"{self._address} was not asked: the key, a name or an earlier answer holds what no request carries"
            ) from None
        except Unreachable as error:
            raise FileFault(f"{self._address}: {error}") from error
        self._left -= len(answer.content)
        if self._left < 0:
            raise FileFault(
                f"{self._subject} is larger than {MOST_BYTES >> 20} MiB, and no import takes as much"
            )
        return answer
