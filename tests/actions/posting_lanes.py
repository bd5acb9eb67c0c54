"""Batches that wait in lanes, and a database that only remembers in which groups it was given them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Event
from types import SimpleNamespace

import pytest

from service.actions.results import group_commit
from service.actions.results.group_commit import Answer, Posting, Waiting
from service.actions.results.posting import BatchReceipt, Submission
from service.store.database.idempotency import StoredResponse

ANSWER = Answer(StoredResponse(201, {}, b"{}"))


def render(_accepted: BatchReceipt) -> StoredResponse:
    return ANSWER.response


def post(project: str, size: int = 1, record: str = "r", *, alone: bool = False) -> Waiting:
    submission = SimpleNamespace(size=size, place=(project, record))
    return Waiting((project, record), size, alone, lambda: submission)  # type: ignore[arg-type]


HOLDING = ("holding", "r")
"""The project and record of a post that is stored for as long as others gather."""


class Stored:
    """Stands for the database: groups as they were stored, and in which kind of lane."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, queued: bool = False) -> None:
        self.groups: list[tuple[list[int], bool]] = []
        self.entered, self.go = Event(), Event()
        self.holds = True
        self._queued = queued
        monkeypatch.setattr(group_commit, "store", self)

    def __call__(
        self, _database: object, posts: list[Submission], _render: object, *, wait: bool
    ) -> tuple[list[Answer], bool]:
        if self.holds and posts[0].place == HOLDING:
            self.entered.set()
            self.go.wait()
            return [ANSWER], False
        self.groups.append(([each.size for each in posts], wait))
        return [ANSWER for _ in posts], self._queued


def store_all(
    stored: Stored, *waiting: Waiting, queued: Callable[[], None] = lambda: None
) -> list[Future[Answer]]:
    """Store posts that gather in the common lane while another one is stored."""
    lanes = Posting(None, render, queued, lanes=1)  # type: ignore[arg-type]
    lanes.submit(post(HOLDING[0], record=HOLDING[1]))
    stored.entered.wait()
    answered = [lanes.submit(each) for each in waiting]
    stored.go.set()
    lanes.close()
    return answered
