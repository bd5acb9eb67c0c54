"""A group of batches that is not stored as a whole: who is refused, who is tried again, and who waits elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from service.actions.results.group_commit import Answer, Waiting
from service.errors import ForelockError, InvalidData, StorageFull, Unavailable

from .posting_lanes import ANSWER, Stored, post, store_all

Outcome = Answer | ForelockError | None


class Scripted(Stored):
    """A database that answers as a function of the sizes of a group and of whether it waits for a record."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, answer: Callable[[list[int], bool], tuple[list[Outcome], bool]]
    ) -> None:
        super().__init__(monkeypatch)
        self.answer = answer

    def __call__(self, database: object, posts: Sequence, render: object, *, wait: bool):
        outcomes, queued = super().__call__(database, posts, render, wait=wait)
        return self.answer(self.groups[-1][0], wait) if self.groups else (outcomes, queued)


def posts(*sizes: int) -> list[Waiting]:
    return [post("p", size, f"r{size}") for size in sizes]


def test_a_refusal_is_the_answer_of_one_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = InvalidData("no")
    stored = Scripted(
        monkeypatch, lambda sizes, _wait: ([refusal if size == 2 else ANSWER for size in sizes], False)
    )
    first, bad, last = store_all(stored, *posts(1, 2, 3))
    assert (first.result(), bad.exception(), last.result()) == (ANSWER, refusal, ANSWER)
    assert stored.groups == [([1, 2, 3], False)]


def test_a_record_that_is_held_elsewhere_is_waited_for_in_a_lane_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored = Scripted(
        monkeypatch,
        lambda sizes, wait: ([None if size == 2 and not wait else ANSWER for size in sizes], False),
    )
    assert [future.result() for future in store_all(stored, *posts(1, 2, 3))] == [ANSWER] * 3
    assert stored.groups == [([1, 2, 3], False), ([2], True)]


@pytest.mark.parametrize(("queueing", "nudges"), [({1}, 1), ({3}, 1), ({1, 3}, 1), (set(), 0)])
def test_of_a_group_that_fails_every_batch_is_tried_alone(
    monkeypatch: pytest.MonkeyPatch, queueing: set[int], nudges: int
) -> None:
    def answer(sizes: list[int], _wait: bool) -> tuple[list[Outcome], bool]:
        if 2 in sizes:
            raise RuntimeError(str(sizes))
        return [ANSWER], sizes[0] in queueing

    nudged: list[None] = []
    stored = Scripted(monkeypatch, answer)
    first, bad, last = store_all(stored, *posts(1, 2, 3), queued=lambda: nudged.append(None))
    assert (first.result(), str(bad.exception()), last.result()) == (ANSWER, "[2]", ANSWER)
    assert stored.groups == [([1, 2, 3], False), ([1], False), ([2], False), ([3], False)]
    assert len(nudged) == nudges


def test_a_batch_that_fails_in_a_lane_is_tried_alone_in_that_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(sizes: list[int], wait: bool) -> tuple[list[Outcome], bool]:
        if not wait:
            return [None] * len(sizes), False
        if len(sizes) > 1:
            raise RuntimeError
        return [ANSWER], False

    stored = Scripted(monkeypatch, answer)
    same = [post("p", size, "r") for size in (1, 2)]
    assert [future.result() for future in store_all(stored, *same)] == [ANSWER] * 2
    assert {wait for sizes, wait in stored.groups[1:]} == {True}


@pytest.mark.parametrize("kind", [Unavailable, StorageFull])
def test_a_database_that_is_away_is_away_for_all(
    monkeypatch: pytest.MonkeyPatch, kind: type[Unavailable]
) -> None:
    away = kind("away", code="database_away")

    def answer(_sizes: list[int], _wait: bool) -> tuple[list[Outcome], bool]:
        raise away

    stored = Scripted(monkeypatch, answer)
    errors = [future.exception() for future in store_all(stored, *posts(1, 2, 3))]
    assert [(type(error), error.detail, error.problem_code) for error in errors] == [
        (kind, "away", "database_away")
    ] * 3
    # An error that is raised in three threads would carry the tracebacks of all of them.
    assert len({id(error) for error in [away, *errors]}) == 4
    assert stored.groups == [([1, 2, 3], False)]


def test_what_fails_alone_fails_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    away = Unavailable("away")

    def answer(_sizes: list[int], _wait: bool) -> tuple[list[Outcome], bool]:
        raise away

    (error,) = [future.exception() for future in store_all(Scripted(monkeypatch, answer), *posts(1))]
    assert error is away
