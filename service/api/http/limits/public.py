"""Answers that anybody may have: looked up at a bounded rate, and remembered where they may be."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from threading import Lock

from service.domain.recent import Recent
from service.errors import TooFast

PER_SECOND, BURST = 100.0, 200.0
"""Turns that come back a second, and the most that may be left: a token bucket."""
KEPT_BYTES = 8 * 2**20
"""Bytes of answers that one process remembers."""


class PublicAnswers:
    """What one process has answered to everybody, and how much more it will look up."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left, self._at = BURST, clock()
        self._guard = Lock()
        self._kept: Recent[Hashable, tuple[float, bytes]] = Recent(KEPT_BYTES)

    def get(self, key: Hashable, make: Callable[[], bytes], *, seconds: float) -> bytes:
        """Return the answer of that key, not older than `seconds`; `make` looks it up where none is remembered.

        Raises:
            TooFast: no turn is left for looking it up.
        """
        kept = self._kept.get(key)
        if kept is not None and self._clock() - kept[0] < seconds:
            return kept[1]
        self.take()
        at = self._clock()
        made = make()
        self._kept.add(key, (at, made), len(made) + 200)
        return made

    def take(self, turns: float = 1.0, what: str = "the public ledger") -> None:
        """Take so many turns of what this process looks up for everybody; `what` names it in the refusal.

        Raises:
            TooFast: fewer turns are left.
        """
        with self._guard:
            now = self._clock()
            self._left = min(BURST, self._left + (now - self._at) * PER_SECOND)
            self._at = now
            if self._left < turns:
                raise TooFast(f"{what} was asked for more than it answers: ask again in a few seconds")
            self._left -= turns
