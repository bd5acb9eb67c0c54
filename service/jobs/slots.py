"""Turns at the pool: as many calls in flight as it has workers, projects served alike, and one left by long ones."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass


class Slots:
    """A semaphore whose next permit goes to the project that holds the fewest, then to who asked first.

    A call that may take as long as a computation is allowed to is `long`. Long calls leave one permit to others, where
    there are two: whoever asks for a short one waits for short ones alone. They are counted rather than asked to find
    two permits free, which short calls that never end would keep from them for ever.
    """

    def __init__(self, number: int) -> None:
        self._free = number
        self._free_for_long = max(1, number - 1)
        self._held: Counter[str] = Counter()
        self._waiting: list[_Ticket] = []
        self._changed = threading.Condition()

    def take(self, project_id: str, seconds: float, *, long: bool = False) -> bool:
        """Wait for a permit, at most so many seconds; False when none came."""
        with self._changed:
            ticket = _Ticket(project_id, long)
            self._waiting.append(ticket)
            taken = self._changed.wait_for(lambda: self._next() is ticket, seconds)
            self._waiting.remove(ticket)
            if taken:
                self._free -= 1
                self._free_for_long -= long  # True counts as 1
                self._held[project_id] += 1
            self._changed.notify_all()
            return taken

    def give(self, project_id: str, *, long: bool = False) -> None:
        """Return a permit that a call of that project held, and wake who waits for one."""
        with self._changed:
            self._free += 1
            self._free_for_long += long
            self._held[project_id] -= 1
            self._changed.notify_all()

    @property
    def waiting(self) -> int:
        """The number of calls that wait for a permit."""
        return len(self._waiting)

    def _next(self) -> _Ticket | None:
        """Return the ticket whose turn it is, among those that may have what is free; None where nothing is."""
        if self._free == 0:
            return None
        may = [ticket for ticket in self._waiting if self._free_for_long > 0 or not ticket.long]
        # min takes the first of equals, and the list is in the order of asking.
        return min(may, key=lambda ticket: self._held[ticket.project_id], default=None)


@dataclass(frozen=True, eq=False, slots=True)
class _Ticket:
    """One request for a permit. It is compared by identity: two requests of one project are not the same."""

    project_id: str
    long: bool
