"""What streams of progress read: one small reading of a record a second, however many follow it."""

from __future__ import annotations

import asyncio
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from service.api.http.streams import following
from service.api.http.streams.following import CollectionReading, Following
from service.errors import NotFound, Unauthorized
from service.store.plans import preregistrations
from service.store.results import coverage
from service.web.preregistrations import progress_page


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often what was read."""
    count: Counter[str] = Counter()
    small, whole = coverage.find_standing, preregistrations.get

    def standing(*arguments: Any) -> Any:
        count["small"] += 1
        return small(*arguments)

    def get(*arguments: Any) -> Any:
        count["whole"] += 1
        return whole(*arguments)

    monkeypatch.setattr(following.coverage, "find_standing", standing)
    monkeypatch.setattr(following.preregistrations, "get", get)
    return count


def arrive(database: Any, received: int) -> None:
    with database.write() as session:
        coverage.save(session, "p1", ("dev", "C1", "accuracy", 1), bytes([2**received - 1]), received)


def test_many_followers_share_one_reading_and_the_plan_is_read_once(keep, database, project, read) -> None:
    keep("collecting")
    record = (project.id, "p1")

    async def watch() -> None:
        followed = Following(database, fresh_seconds=3600)
        with followed.follow(record), followed.follow(record):
            answers = await asyncio.gather(*(followed.read(record) for _ in range(20)))
            assert set(answers) == {CollectionReading("collecting", 0, 8)}
            assert read == {"small": 1, "whole": 1}
            arrive(database, 3)
            assert (await followed.read(record)).received == 0  # read a moment ago
        assert len(followed) == 0
        often = Following(database, fresh_seconds=0)
        with often.follow(record):
            assert await often.read(record) == CollectionReading("collecting", 3, 8)
            arrive(database, 4)
            assert await often.read(record) == CollectionReading("collecting", 4, 8)
        assert read == {"small": 3, "whole": 2}

    asyncio.run(watch())


def test_a_record_of_another_project_is_not_there(keep, database) -> None:
    keep("collecting")

    async def watch() -> None:
        followed = Following(database)
        with followed.follow(("another", "p1")), pytest.raises(NotFound):
            await followed.read(("another", "p1"))

    asyncio.run(watch())


def test_who_leaves_takes_the_reading_from_nobody(keep, database, project) -> None:
    keep("collecting")
    record = (project.id, "p1")

    async def watch() -> None:
        followed = Following(database)
        with followed.follow(record):
            leaves, stays = (asyncio.create_task(followed.read(record)) for _ in range(2))
            await asyncio.sleep(0)
            leaves.cancel()
            assert await stays == CollectionReading("collecting", 0, 8)

    asyncio.run(watch())


def test_a_stream_ends_with_its_own_session_while_others_go_on(keep, database, project, monkeypatch) -> None:
    keep("collecting")
    record = (project.id, "p1")
    monkeypatch.setattr(progress_page, "POLL_SECONDS", 0)
    monkeypatch.setattr(progress_page, "QUIET_SECONDS", 0)
    signed_out = set()

    def signed_in(request: Any) -> None:
        if request.who in signed_out:
            raise Unauthorized("sign in first")

    monkeypatch.setattr(progress_page, "get_visitor", signed_in)

    async def connected() -> bool:
        return False

    async def watch() -> None:
        followed = Following(database, fresh_seconds=3600)
        app = SimpleNamespace(state=SimpleNamespace(services=SimpleNamespace(following=followed)))
        streams = {
            who: progress_page._stream(
                SimpleNamespace(app=app, who=who, is_disconnected=connected),
                record,
                CollectionReading("collecting", 0, 8),
            )
            for who in ("leaves", "stays")
        }
        for _ in range(2):
            for stream in streams.values():
                await anext(stream)
        signed_out.add("leaves")
        with pytest.raises(StopAsyncIteration):
            await anext(streams["leaves"])
        assert await anext(streams["stays"])
        assert len(followed) == 1
        await streams["stays"].aclose()
        assert len(followed) == 0

    asyncio.run(watch())
