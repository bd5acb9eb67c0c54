"""How much one key may hold open at once: whatever waits takes memory, and looks at the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from fastapi.sse import EventSourceResponse
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from service.domain.access import Key
from service.errors import TooMany

MOST_STREAMS = 32
"""Streams of events that one key may follow at a time, of one API process."""
MOST_WAITS = 64
"""Requests of one key with `Prefer: wait` that may wait at a time, of one API process."""


@dataclass(slots=True)
class ConcurrencyLimit:
    """What is held open of one kind, by key. Used on the event loop alone."""

    most: int
    _held: Counter[str] = field(default_factory=Counter)

    def take(self, caller: Key) -> Callable[[], None] | None:
        """Take a turn, and return the function that gives it back; None where the key has as many as it may.

        The function may be called more than once; only the first call counts.
        """
        if self._held[caller.id] >= self.most:
            return None
        self._held[caller.id] += 1
        held = True

        def give_back() -> None:
            nonlocal held
            if held:
                held = False
                self._held[caller.id] -= 1
                if not self._held[caller.id]:
                    del self._held[caller.id]

        return give_back


def take_stream(limit: ConcurrencyLimit, caller: Key) -> Callable[[], None]:
    """Take a turn for one more stream, and return the function that gives it back.

    Raises:
        TooMany: the key follows as many as it may.
    """
    give_back = limit.take(caller)
    if give_back is None:
        raise TooMany(
            f"this key follows {limit.most} streams of events already: close one, or ask for the state of the job"
        )
    return give_back


class HeldStream(EventSourceResponse):
    """A stream of events that gives its turn back when it ends, also where it never began."""

    give_back: Callable[[], None]

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream of events, and give the turn back whatever ends it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.give_back()
