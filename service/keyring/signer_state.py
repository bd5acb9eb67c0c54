"""What the signer of the ledger remembers outside of the database: the last checkpoint that it signed.

The file holds the signed note itself. It is on the disk before the note is given to anybody, so that a database that
was rolled back, forked or replaced is not signed over. It has two places, written in turn: where a machine stops within
a write, the one before it is whole, and a single flush is all that a signature waits for.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from forelock import files
from forelock.transparency.checkpoints import Checkpoint, read_checkpoint
from forelock.transparency.faults import TransparencyFault
from service.errors import ForelockError

SLOT_BYTES = 4096
_FORM = re.compile(rb"forelock signer state 1 (\d{1,18}) (\d{1,4}) ([0-9a-f]{64})\n")


class SignerStateError(ForelockError):
    """The file cannot be read or written."""

    code, title = "signer_state", "The signer's state cannot be used"


@dataclass(frozen=True, slots=True)
class Remembered:
    """The last checkpoint, as signed and as read."""

    note: str
    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class SignerState:
    """The file, which every signer of one machine shares."""

    path: Path

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let in one process of this machine at a time."""
        with lock(self.path.with_name(f"{self.path.name}.lock")):
            yield

    def read(self) -> Remembered | None:
        """Return what was signed last; None where nothing was.

        Raises:
            SignerStateError: there is a file, and it cannot be read or is no signer's state.
        """
        newest = self._newest()
        return None if newest is None else newest[2]

    def keep(self, note: str, step: Callable[[str], object] = lambda _name: None) -> None:
        """Remember a checkpoint: when this returns it is on the disk.

        Raises:
            SignerStateError: it cannot be written, or what is there cannot be read.
        """
        before = self._newest()
        try:
            if before is None:
                self._begin(_record(0, note), step)
                return
            count, place, _ = before
            descriptor = os.open(self.path, os.O_WRONLY)
            try:
                os.pwrite(descriptor, _record(count + 1, note), (1 - place) * SLOT_BYTES)
                step("written")
                os.fdatasync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise SignerStateError(
                f"cannot write the signer's state {self.path}: {error.strerror}"
            ) from error

    def _newest(self) -> tuple[int, int, Remembered] | None:
        """Return how many were kept before it, its place, and the note."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SignerStateError(f"cannot read the signer's state {self.path}: {error.strerror}") from error
        places = (data[:SLOT_BYTES], data[SLOT_BYTES:])
        states = [(*read, place) for place, path in enumerate(places) if (read := _read(path)) is not None]
        if not states:
            raise SignerStateError(
                f"cannot read the signer's state {self.path}: it holds no checkpoint; bring it back, or move it away: "
                "the signer then begins with the checkpoint in the database"
            )
        count, remembered, place = max(states, key=lambda state: state[0])
        return count, place, remembered

    def _begin(self, record: bytes, step: Callable[[str], object]) -> None:
        """The file, whole or not at all."""
        draft = self.path.with_name(f".{self.path.name}.draft")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(record + b"\n" * SLOT_BYTES)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.path)
        step("written")
        files.sync(self.path.parent)


def _record(count: int, note: str) -> bytes:
    data = note.encode()
    record = b"forelock signer state 1 %d %d %s\n" % (count, len(data), _sum(count, data)) + data
    if len(record) > SLOT_BYTES:
        raise SignerStateError(f"the checkpoint is longer than {SLOT_BYTES} bytes: choose a shorter origin")
    return record.ljust(SLOT_BYTES, b"\n")


@lru_cache(maxsize=8)
def _read(place: bytes) -> tuple[int, Remembered] | None:
    """None where a write did not come to its end, or none has begun."""
    head = _FORM.match(place)
    if head is None:
        return None
    count, data = int(head[1]), place[head.end() : head.end() + int(head[2])]
    if _sum(count, data) != head[3]:
        return None
    try:
        note = data.decode()
        return count, Remembered(note, read_checkpoint(note))
    except (UnicodeDecodeError, TransparencyFault):
        return None


def _sum(count: int, data: bytes) -> bytes:
    return hashlib.sha256(b"%d\n" % count + data).hexdigest().encode()


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold a file's lock; the system lets it go when the process ends, however it ends.

    Raises:
        SignerStateError: the file cannot be opened.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise SignerStateError(f"cannot open the lock {path}: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
