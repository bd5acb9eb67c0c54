"""How much one key may hold open at once: what waits costs memory, and a look at the database each time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from service.domain.access import Key
from service.errors import TooMany

MOST_STREAMS = 32
"""Streams of events that one key may follow at once, of one API process."""
MOST_WAITS = 64
"""Requests with `Prefer: wait` of one key that may wait at once, of one API process."""


@dataclass(slots=True)
class Turns:
    """What is held open of one kind, by key. Used on the event loop alone."""

    most: int
    of_what: str
    way_out: str
    _held: Counter[str] = field(default_factory=Counter)

    def require(self, caller: Key) -> None:
        """Refuse one more.

        Raises:
            TooMany: the key has as many open as it may.
        """
        if self._held[caller.id] >= self.most:
            raise TooMany(f"this key has {self.most} {self.of_what} open already: {self.way_out}")

    @contextmanager
    def held(self, caller: Key) -> Iterator[None]:
        """Hold one, however it ends.

        Raises:
            TooMany: the key has as many open as it may.
        """
        self.require(caller)
        self._held[caller.id] += 1
        try:
            yield
        finally:
            self._held[caller.id] -= 1
            if not self._held[caller.id]:
                del self._held[caller.id]
