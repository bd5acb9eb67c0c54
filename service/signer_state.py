"""What the signer of the ledger remembers outside of the database: the last checkpoint that it signed.

The file holds the signed note itself. It is on the disk before the note is given to anybody, so that a database that
was rolled back, forked or replaced is not signed over.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from forelock.transparency.checkpoints import Checkpoint, read_checkpoint
from forelock.transparency.faults import TransparencyFault
from service.errors import ForelockError

MOST_BYTES = 100_000


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
        """One process of this machine at a time."""
        with locked(self.path.with_name(f"{self.path.name}.lock")):
            yield

    def read(self) -> Remembered | None:
        """What was signed last; None where nothing was.

        Raises:
            SignerStateError: there is a file, and it cannot be read or is no checkpoint.
        """
        try:
            with self.path.open("rb") as file:
                text = file.read(MOST_BYTES).decode("utf-8")
            return Remembered(text, read_checkpoint(text))
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError, TransparencyFault) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not a checkpoint"
            raise SignerStateError(
                f"cannot read the signer's state {self.path}: {why}; restore it from where checkpoints are kept"
            ) from error

    def keep(self, note: str, step: Callable[[str], object] = lambda _name: None) -> None:
        """Remember a checkpoint: when this returns it is on the disk, whole.

        Raises:
            SignerStateError: it cannot be written.
        """
        draft = self.path.with_name(f".{self.path.name}.draft")
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(note.encode())
                file.flush()
                os.fsync(file.fileno())
            step("drafted")
            draft.replace(self.path)
            step("replaced")
            directory = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)
        except OSError as error:
            raise SignerStateError(
                f"cannot write the signer's state {self.path}: {error.strerror}"
            ) from error


@contextmanager
def locked(path: Path) -> Iterator[None]:
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
