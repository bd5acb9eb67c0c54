"""Objects in a directory of this machine, which only its user can read."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from forelock import files
from service.objects.objects import NAME, ObjectMissing, ObjectsAway, StoredObject, path_of

PIECE = 1 << 20
DRAFT = ".draft"


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory of objects; it is made with the first of them."""

    root: Path

    def put(self, name: str, file: BinaryIO) -> None:
        """Write a draft, bring it to the disk, and give it its name."""
        path = self.root / path_of(name)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f".{name[:8]}.{secrets.token_hex(8)}{DRAFT}")
        file.seek(0)
        try:
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
                shutil.copyfileobj(file, target, PIECE)
                target.flush()
                os.fsync(target.fileno())
            draft.replace(path)
            files.sync(path.parent)
        finally:
            draft.unlink(missing_ok=True)

    def read(self, name: str) -> Iterator[bytes]:
        """Yield the bytes, piece by piece."""
        try:
            with (self.root / path_of(name)).open("rb") as file:
                while piece := file.read(PIECE):
                    yield piece
        except FileNotFoundError:
            raise ObjectMissing(name) from None
        except OSError as error:
            raise ObjectsAway(f"{self.root} cannot be read: {error.strerror}") from error

    def remove(self, name: str) -> None:
        """Take the file of that name away."""
        (self.root / path_of(name)).unlink(missing_ok=True)

    def tidy(self, before: datetime) -> int:
        """Take drafts away that nobody writes any more."""
        old = [
            path
            for path in self.root.glob(f"??/.*{DRAFT}")
            if (at := _read_modified(path)) is not None and at < before
        ]
        for path in old:
            path.unlink(missing_ok=True)
        return len(old)

    def every(self) -> Iterator[StoredObject]:
        """Iterate over every object of the directory."""
        for path in self.root.glob("??/*"):
            if NAME.fullmatch(path.name) and path.parent.name == path.name[:2]:
                with suppress(FileNotFoundError):
                    stat = path.stat()
                    yield StoredObject(path.name, stat.st_size, datetime.fromtimestamp(stat.st_mtime, UTC))


def _read_modified(path: Path) -> datetime | None:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except FileNotFoundError:  # it got its name meanwhile
        return None
