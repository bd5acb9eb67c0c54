"""Objects: sealed files by the SHA-256 of their bytes, in a directory or a bucket. Nobody here knows what they hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO, Protocol

NAME = re.compile(r"[0-9a-f]{64}")


class ObjectsAway(Exception):
    """The place of the objects does not answer, or refuses; one sentence for the operator, without a credential."""


class ObjectMissing(Exception):
    """There is no object of that name."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object in a list."""

    name: str
    size: int
    modified_at: datetime


class Objects(Protocol):
    """A place of objects. Every method may raise `ObjectsAway`; a directory also what a full disk raises."""

    def put(self, name: str, file: BinaryIO) -> None:
        """Keep what the file holds from its beginning, whole or not at all; on the disk when this returns."""

    def read(self, name: str) -> Iterator[bytes]:
        """Return the bytes of an object, piece by piece.

        Raises:
            ObjectMissing: there is none.
        """

    def remove(self, name: str) -> None:
        """Forget an object; one that is not there is forgotten already."""

    def tidy(self, before: datetime) -> int:
        """Take away what writers that were killed before this left behind; how many there were."""

    def every(self) -> Iterator[StoredObject]:
        """Return all objects that there are, in no order."""


def path_of(name: str) -> str:
    """Say where an object lies: a directory of a million names is slow on many file systems."""
    if not NAME.fullmatch(name):
        raise ValueError("an object is named by a SHA-256")
    return f"{name[:2]}/{name}"
