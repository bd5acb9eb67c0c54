"""A bucket for services that are compared: each has a place of its own in it, and what lies there is compared too."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from tests.chaos.differences import Difference
from tests.journeys.plans import items, locked, small_plan
from tests.object_storage import BUCKET, ObjectStorage, storing

_N = 12
"""Items of the record whose file is kept."""


class Bucket:
    """One bucket; whoever may list it sees names and sizes, whatever the service tells."""

    def __init__(self, storage: ObjectStorage) -> None:
        self._storage = storage
        self._places: list[str] = []

    def place(self) -> str:
        """Where the next service keeps its files."""
        self._places.append(f"service{len(self._places)}")
        return f"s3://{BUCKET}/{self._places[-1]}"

    def differences(self, words: Sequence[str], calls: int) -> list[Difference]:
        """Files of one length here and of another there, or that hold a word in the open."""
        objects = self._storage.objects()
        lengths = [
            str(sorted(len(content) for name, content in objects.items() if name.startswith(f"{place}/")))
            for place in self._places
        ]
        told = [
            Difference(calls, "objects", "lengths", lengths[0], other)
            for other in lengths[1:]
            if other != lengths[0]
        ]
        told += [
            Difference(calls, "objects", f"{name} holds {word}", "", word)
            for name, content in objects.items()
            for word in words
            if word.encode() in content or word in name
        ]
        return told if lengths[0] != "[]" else [Difference(calls, "objects", "none was kept", "", "")]


def keep_one(worlds: Sequence[Any]) -> list[Difference]:
    """Import one file of each world's outcomes into a record of it, which stays incomplete; what was answered apart."""
    answers = []
    for world in worlds:
        prereg_id = locked(world.client, small_plan(_N) | {"import": {"format": "csv"}})
        rows = (f"{item},{world.value('kept', 'A', item, 'accuracy')}" for item in items(_N))
        headers = {"Idempotency-Key": "kept", "Content-Type": "application/octet-stream"}
        answer = world.client.post(
            f"/v1/preregistrations/{prereg_id}/imports?arm=A",
            content="\n".join(["item_id,value", *rows]).encode(),
            headers=headers,
        )
        answers.append(f"{answer.status_code} {world.masked(answer.text)}")
    return [
        Difference(0, "importResults", "a file", answers[0], other)
        for other in answers[1:]
        if other != answers[0]
    ]


@contextmanager
def bucket() -> Iterator[Bucket]:
    """One on loopback, until the block ends; the environment says how it is reached."""
    with storing() as storage, mock.patch.dict(os.environ, storage.environment):
        yield Bucket(storage)
