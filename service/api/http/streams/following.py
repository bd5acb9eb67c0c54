"""How far collections are that pages follow: one small reading of a record a second, however many look at it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from anyio import to_thread

from service.domain.plans.preregistration import State
from service.domain.results.batches import expected_total
from service.errors import NotFound
from service.store.database.engine import Database
from service.store.plans import preregistrations
from service.store.results import coverage

FRESH_SECONDS = 0.9
"""A reading is everybody's that asks so soon after it."""
Record = tuple[str, str]
"""Project and id: a record of another project is another one, and is not there."""


class Seen(NamedTuple):
    """What is told of a collection: counts, and the state that they are of."""

    state: State
    received: int
    expected: int


@dataclass(eq=False, slots=True)
class _Followed:
    followers: int = 0
    expected: dict[int, int] = field(default_factory=dict)
    """Rows that make a version complete: the plan is read once."""
    reading: asyncio.Task[Seen] | None = None
    begun: float = 0.0


class Following:
    """The records that streams of one process follow. Used on its event loop alone."""

    def __init__(self, database: Database, fresh_seconds: float = FRESH_SECONDS) -> None:
        self._database = database
        self._fresh = fresh_seconds
        self._followed: dict[Record, _Followed] = {}

    def __len__(self) -> int:
        """How many records somebody follows now."""
        return len(self._followed)

    @contextmanager
    def follow(self, record: Record) -> Iterator[None]:
        """Remember the record while somebody follows it."""
        self._followed.setdefault(record, _Followed()).followers += 1
        try:
            yield
        finally:
            one = self._followed[record]
            one.followers -= 1
            if not one.followers:
                del self._followed[record]

    async def seen(self, record: Record) -> Seen:
        """How far a record is that the caller follows, as of a moment ago.

        Raises:
            NotFound: the project has no such record (any more).
            Unavailable: the database does not answer.
        """
        one, now = self._followed[record], time.monotonic()
        if one.reading is None or (one.reading.done() and now - one.begun >= self._fresh):
            one.begun = now
            one.reading = asyncio.create_task(to_thread.run_sync(self._read, record, one.expected))
            one.reading.add_done_callback(_forgotten)
        return await asyncio.shield(one.reading)  # one who leaves takes it from nobody

    def _read(self, record: Record, expected: dict[int, int]) -> Seen:
        with self._database.read() as session:
            standing = coverage.standing(session, *record)
            if standing is None:
                raise NotFound("no preregistration has such an id")
            if standing.state not in ("locked", "collecting"):
                return Seen(standing.state, 0, 0)
            if standing.version not in expected:
                plan = preregistrations.get(session, *record).plan
                expected.clear()
                expected[standing.version] = expected_total(plan)
            return Seen(standing.state, standing.received, expected[standing.version])


def _forgotten(reading: asyncio.Task[Seen]) -> None:
    """A failure that nobody waited for is no news."""
    if not reading.cancelled():
        reading.exception()
