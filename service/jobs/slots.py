"""Turns at the pool: as many calls in flight as it has workers, projects served alike."""

from __future__ import annotations

import threading
from collections import Counter


class Slots:
    """A semaphore whose next permit goes to the project that holds the fewest, then to who asked first."""

    def __init__(self, number: int) -> None:
        self._free = number
        self._held: Counter[str] = Counter()
        self._waiting: list[str] = []
        self._changed = threading.Condition()

    def take(self, project_id: str, seconds: float) -> bool:
        """Wait for a permit, at most that long; false when none came."""
        with self._changed:
            ticket = _Ticket(project_id)
            self._waiting.append(ticket)
            taken = self._changed.wait_for(lambda: self._free > 0 and self._next() is ticket, seconds)
            # By identity: requests of one project are equal as texts.
            self._waiting = [other for other in self._waiting if other is not ticket]
            if taken:
                self._free -= 1
                self._held[project_id] += 1
            self._changed.notify_all()
            return taken

    def give(self, project_id: str) -> None:
        """Return a permit that a call of that project held, and wake who waits for one."""
        with self._changed:
            self._free += 1
            self._held[project_id] -= 1
            self._changed.notify_all()

    @property
    def waiting(self) -> int:
        """How many wait for a permit."""
        return len(self._waiting)

    def _next(self) -> str:
        # min takes the first of equals, and the list is in the order of asking.
        return min(self._waiting, key=lambda ticket: self._held[ticket])


class _Ticket(str):
    """A project's id that is one particular request."""

    __slots__ = ()
