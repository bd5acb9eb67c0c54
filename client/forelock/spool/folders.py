"""What waits in the spool: files by record, and how far each was sent."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Self
from urllib.parse import quote, unquote

from forelock.problem import FileFault
from forelock.spool.locks import try_lock, write_all
from forelock.spool.writing import SUFFIX, Head, Writer


def spool_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where rows wait: `FORELOCK_SPOOL`, else a folder of the user's state."""
    if folder := environment.get("FORELOCK_SPOOL"):
        return Path(folder)
    state = environment.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "forelock" / "spool"


@dataclass(frozen=True, slots=True)
class Batch:
    """A piece of a file that is posted at once: where it stands, and under which key."""

    start: int
    end: int
    rows: int
    key: str
    refused: str | None = None
    """Why the service did not take it, in its words."""


@dataclass(frozen=True, slots=True)
class Journal:
    """How far a file was sent: rows before `cut` are posted, except those of `open`."""

    cut: int
    open: tuple[Batch, ...] = ()

    @classmethod
    def read(cls, text: bytes, begin: int) -> Self:
        """Return the last whole line; one that was torn by a crash never took effect."""
        lines = text.split(b"\n")[:-1]
        if not lines:
            return cls(begin)
        state = json.loads(lines[-1])
        return cls(state["cut"], tuple(Batch(**batch) for batch in state["open"]))


@dataclass(frozen=True, slots=True)
class Waiting:
    """A file's rows that the service does not have yet."""

    record: str
    head: Head = field(repr=False)
    rows: int
    refused: tuple[str, ...]
    """Why, of what was refused."""
    written: bool
    """Its run goes on."""


class Spool:
    """The folder of one user's spool, with a folder for every record."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or spool_folder()

    def writer(self, record: str, head: Head) -> Writer:
        """Return a new file for rows of this record."""
        return Writer(self.of(record), head)

    def of(self, record: str) -> Path:
        """Return the folder of a record."""
        if not record or record.startswith("."):
            raise FileFault(f"'{record}' is no id of a preregistration")
        return self.folder / quote(record, safe="")

    def records(self) -> list[str]:
        """Records that have rows here."""
        if not self.folder.is_dir():
            return []
        return sorted(unquote(path.name) for path in self.folder.iterdir() if path.is_dir())

    def files(self, record: str) -> list[Path]:
        """Return the files of a record, the oldest first."""
        folder = self.of(record)
        return sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []

    def waiting(self, record: str | None = None) -> Iterator[Waiting]:
        """Yield what is not sent yet, file by file."""
        for name in self.records() if record is None else [record]:
            for path in self.files(name):
                with contextlib.suppress(FileNotFoundError):  # it was sent just now
                    spooled = Spooled(path)
                    rows = spooled.waiting()
                    refused = tuple(
                        batch.refused for batch in spooled.journal.open if batch.refused is not None
                    )
                    if rows:
                        yield Waiting(name, spooled.head, rows, refused, not spooled.ended())

    def discard_refused(self, record: str) -> int:
        """Throw away what the service refused; returns how many rows that were."""
        rows = 0
        for path in self.files(record):
            with contextlib.suppress(FileNotFoundError):
                spooled = Spooled(path)
                with spooled.sending() as alone:
                    if alone:
                        rows += spooled.discard_refused()
                        spooled.remove_if_done()
        return rows


class Spooled:
    """One file of the spool, as it is read: its rows, and the journal beside it.

    Raises:
        FileNotFoundError: it was sent and removed. FileFault: it is no file of a spool.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._journal_path = path.with_suffix(".sent")
        with path.open("rb") as file:
            first = file.readline()
            self._begin = file.tell()
        try:
            self.head = Head.read(first)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise FileFault(f"{path}: is no file of a spool that this version reads") from None
        self.journal = self._read_journal()
        self._file = -1

    def _read_journal(self) -> Journal:
        try:
            return Journal.read(self._journal_path.read_bytes(), self._begin)
        except FileNotFoundError:
            return Journal(self._begin)
        except (ValueError, TypeError, KeyError):
            raise FileFault(f"{self._journal_path}: does not say how far its rows were sent") from None

    def waiting(self) -> int:
        """Return how many whole rows the service does not have."""
        with self.path.open("rb") as file:
            file.seek(self.journal.cut)
            behind = sum(1 for line in file if line.endswith(b"\n"))
        return behind + sum(batch.rows for batch in self.journal.open)

    def ended(self) -> bool:
        """Tell whether the process that wrote it is gone, or has closed it."""
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            return try_lock(descriptor)
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def sending(self) -> Iterator[bool]:
        """Be the only one who sends it; False where another does."""
        self._file = os.open(self._journal_path, os.O_CREAT | os.O_APPEND | os.O_RDWR, 0o600)
        try:
            alone = try_lock(self._file)
            if alone and not self.path.exists():
                self._journal_path.unlink(missing_ok=True)
                raise FileNotFoundError(self.path)
            if alone:
                self.journal = self._read_journal()
                self._mend()
            yield alone
        finally:
            os.close(self._file)
            self._file = -1

    def _mend(self) -> None:
        """Cut off a line that a crash tore, so that the next one is whole."""
        text = self._journal_path.read_bytes()
        if not text.endswith(b"\n"):
            os.ftruncate(self._file, text.rfind(b"\n") + 1)

    def keep(self, journal: Journal) -> None:
        """Write down how far things are, before going on."""
        document = {"cut": journal.cut, "open": [asdict(batch) for batch in journal.open]}
        size = os.fstat(self._file).st_size
        try:
            write_all(self._file, json.dumps(document, separators=(",", ":")).encode() + b"\n")
        except OSError as error:
            os.ftruncate(self._file, size)
            raise FileFault(f"{self._journal_path}: cannot be written ({error.strerror})") from error
        self.journal = journal

    def lines(self, batch: Batch) -> list[bytes]:
        """Return the rows of a batch."""
        with self.path.open("rb") as file:
            file.seek(batch.start)
            return file.read(batch.end - batch.start).split(b"\n")[:-1]

    def cut(self, key: str, *, rows: int, size: int) -> Batch | None:
        """Return the next batch, written down under its key; None where no whole row is left.

        At most `rows` and about `size` bytes, except of rows that go together.
        """
        start = end = self.journal.cut
        count = 0
        with self.path.open("rb") as file:
            file.seek(start)
            for line in file:
                if not line.endswith(b"\n"):
                    break  # still being written, or torn by a crash: it never was a row
                if count and not self.head.whole and (count == rows or end - start + len(line) > size):
                    break
                count, end = count + 1, end + len(line)
        if not count:
            return None
        batch = Batch(start, end, count, key)
        self.keep(Journal(end, (*self.journal.open, batch)))
        return batch

    def done(self, batch: Batch) -> None:
        """The service has this batch."""
        self.keep(replace(self.journal, open=self._but(batch)))

    def note_refusal(self, batch: Batch, why: str) -> None:
        """The service does not take this batch; it stays, and others go on."""
        self.keep(replace(self.journal, open=(*self._but(batch), replace(batch, refused=why))))

    def discard_refused(self) -> int:
        """Forget what was refused; returns how many rows that were."""
        accepted = tuple(batch for batch in self.journal.open if batch.refused is None)
        gone = sum(batch.rows for batch in self.journal.open) - sum(batch.rows for batch in accepted)
        if gone:
            self.keep(replace(self.journal, open=accepted))
        return gone

    def _but(self, batch: Batch) -> tuple[Batch, ...]:
        return tuple(kept for kept in self.journal.open if kept.key != batch.key)

    def remove_if_done(self) -> None:
        """Remove the file once nothing of it waits and nothing more comes."""
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            if try_lock(descriptor) and not self.journal.open and not self.waiting():
                self.path.unlink()
                self._journal_path.unlink()
        finally:
            os.close(descriptor)
