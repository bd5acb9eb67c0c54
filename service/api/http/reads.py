"""Who read what, on its way into the audit log: noted in memory, written beside requests.

No read waits for the log, and none fails with it. What one key reads of one record within a minute is one event with a
count; the first of them is written within a second or so, and what cannot be written is kept and tried again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock

from service.domain.access import Key
from service.store.database import clock
from service.store.database.engine import Database
from service.store.projects import audit

WINDOW_SECONDS = 60.0
"""Reads of this long after one that was written wait, and are written as one event."""
MOST_WAITING = 10_000
"""Events that wait; beyond, a key's reads are counted without their record."""

Place = tuple[str, str | None, str, str | None]
"""Project, key (null: none was needed), action, subject."""


@dataclass(slots=True)
class _Waiting:
    """Reads of one place that wait to be written as one event: how many, the first and the last."""

    times: int
    first_at: datetime
    last_at: datetime


class Reads:
    """The reads of one process that are still to be written into the audit log."""

    def __init__(
        self,
        database: Database,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._database = database
        self._monotonic = monotonic
        self._now = now
        self._waiting: dict[Place, _Waiting] = {}
        self._written: dict[Place, float] = {}
        self._guard = Lock()
        self._turn = Lock()
        """Held while events are written: whoever waited for it sees its own events written as well."""

    def note(self, caller: Key, action: str, subject: str | None) -> None:
        """Note that a key read something. Touches no database."""
        self._note((caller.project_id, caller.id, action, subject))

    def note_stranger(self, project_id: str, action: str, subject: str) -> None:
        """Note that somebody without a key read something of the project. Touches no database."""
        self._note((project_id, None, action, subject))

    def _note(self, place: Place) -> None:
        now = self._now()
        with self._guard:
            if place not in self._waiting and len(self._waiting) >= MOST_WAITING:
                place = (*place[:3], None)  # counted without its record
            self._add(place, _Waiting(1, now, now))

    def is_due(self) -> bool:
        """Tell whether something waits that may be written now."""
        with self._guard:
            return any(self._is_place_due(place) for place in self._waiting)

    def write(self, *, everything: bool = False) -> None:
        """Write what is due, or everything that waits, in a transaction of its own."""
        with self._turn:
            with self._guard:
                due = [place for place in self._waiting if everything or self._is_place_due(place)]
                taken = {place: self._waiting.pop(place) for place in due}
            if not taken:
                return
            try:
                self._store(taken)
            except BaseException:
                # Put back beside what came in meanwhile: a read that cannot be written now is tried again.
                with self._guard:
                    for place, noted in taken.items():
                        self._add(place, noted)
                raise
            now = self._monotonic()
            with self._guard:
                recent = {place: at for place, at in self._written.items() if now - at < WINDOW_SECONDS}
                self._written = recent | dict.fromkeys(taken, now)

    def _store(self, taken: dict[Place, _Waiting]) -> None:
        """Store the reads noted so far in the log, one event for all alike, at times of the database's clock."""
        with self._database.write() as session:
            ahead = clock.read_now(session) - self._now()  # the log has one clock: the database's
            events = [
                audit.Act(
                    project_id=project_id,
                    key_id=key_id,
                    action=action,
                    subject=subject,
                    facts={}
                    if noted.times == 1
                    else {"times": noted.times, "last_at": (noted.last_at + ahead).isoformat()},
                    created_at=noted.first_at + ahead,
                )
                for (project_id, key_id, action, subject), noted in taken.items()
            ]
            audit.record_all(session, sorted(events, key=lambda event: event.created_at))

    def _add(self, place: Place, more: _Waiting) -> None:
        noted = self._waiting.get(place)
        if noted is None:
            self._waiting[place] = more
            return
        noted.times += more.times
        noted.first_at = min(noted.first_at, more.first_at)
        noted.last_at = max(noted.last_at, more.last_at)

    def _is_place_due(self, place: Place) -> bool:
        written = self._written.get(place)
        return written is None or self._monotonic() - written >= WINDOW_SECONDS
