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
"""How long a reading is given to everybody who asks for its record."""
Record = tuple[str, str]
"""Project and id: a record of another project is another one, and is not there."""


class CollectionReading(NamedTuple):
    """How far a collection is: its state, the rows received and those that make it complete."""

    state: State
    received: int
    expected: int


@dataclass(eq=False, slots=True)
class _Followed:
    """A record that somebody follows: by how many, and its latest reading."""

    followers: int = 0
    expected: dict[int, int] = field(default_factory=dict)
    """Rows that make a version complete: the plan is read once."""
    reading: asyncio.Task[CollectionReading] | None = None
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
            followed = self._followed[record]
            followed.followers -= 1
            if not followed.followers:
                del self._followed[record]

    async def read(self, record: Record) -> CollectionReading:
        """Read how far a record is that the caller follows, as of a moment ago.

        Raises:
            NotFound: the project has no such record (any more).
            Unavailable: the database does not answer.
        """
        followed, now = self._followed[record], time.monotonic()
        if followed.reading is None or (followed.reading.done() and now - followed.begun >= self._fresh):
            followed.begun = now
            work = to_thread.run_sync(self._read_collection, record, followed.expected)
            followed.reading = asyncio.create_task(work)
            followed.reading.add_done_callback(_forget_failure)
        # Shielded: a follower who leaves cancels its own wait, and not the reading that others wait for.
        return await asyncio.shield(followed.reading)

    def _read_collection(self, record: Record, expected: dict[int, int]) -> CollectionReading:
        """Read how far a record's collection is.

        `expected` keeps the total by version of the plan, which takes reading the plan.
        """
        with self._database.read() as session:
            standing = coverage.find_standing(session, *record)
            if standing is None:
                raise NotFound("no preregistration has such an id")
            if standing.state not in ("locked", "collecting"):
                return CollectionReading(standing.state, 0, 0)
            if standing.version not in expected:
                plan = preregistrations.get(session, *record).plan
                expected.clear()
                expected[standing.version] = expected_total(plan)
            return CollectionReading(standing.state, standing.received, expected[standing.version])


def _forget_failure(reading: asyncio.Task[CollectionReading]) -> None:
    """Take the error of a reading that nobody waited for, so that asyncio does not log it as forgotten."""
    if not reading.cancelled():
        reading.exception()
