"""What the runner's log says of a database or a pool that is away: once that it is and why, once that it is back."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from service.errors import Unavailable

log = logging.getLogger("forelock.runner")

PAUSES = (0.5, 1.0, 2.0, 5.0)
"""Seconds before something that is away is asked again."""


class Outage:
    """One thing the runner needs, and since when it does not answer."""

    def __init__(
        self,
        why: Callable[[Unavailable], str],
        back: str,
        wait: Callable[[float], object],
        *,
        pauses: Sequence[float] = PAUSES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`why` names the thing, where it is and the cause; `back` is what is said of its return."""
        self._why, self._back, self._wait, self._pauses, self._clock = why, back, wait, pauses, clock
        self._lock = threading.Lock()
        self._last_sentence, self._since, self._attempts = "", 0.0, 0

    def wait_out(self, error: Unavailable) -> None:
        """Log why the thing is away, unless that was logged last, and wait; longer after every failure in a row."""
        sentence = self._why(error)
        with self._lock:
            if not self._attempts:
                self._since = self._clock()
            pause = self._pauses[min(self._attempts, len(self._pauses) - 1)]
            self._attempts += 1
            new, self._last_sentence = sentence != self._last_sentence, sentence
        # Logged and waited for outside the lock: other threads meet the same outage meanwhile.
        if new:
            log.warning("%s; waiting for it", sentence)
        self._wait(pause)

    def end(self) -> None:
        """Note that the thing answered, and log it if it had been away."""
        with self._lock:
            away, self._attempts, self._last_sentence = self._attempts, 0, ""
        if away:
            log.info("%s after %.0f s", self._back, self._clock() - self._since)
