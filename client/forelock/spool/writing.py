"""A run's side of the spool: one file per run, arm and measure, which only its own process appends to."""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from forelock import files
from forelock.problem import FileFault
from forelock.spool.locks import try_lock, write_all

SUFFIX = ".ndjson"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Head:
    """What the rows of one file have in common: the first line of it."""

    format: str
    """`results`: rows as they are posted. `inspect` and `lm_eval`: records that the service's reader maps to rows."""
    query: Mapping[str, str] = field(default_factory=dict)
    """`arm` and `population`; of results `endpoint` and `run` too."""
    run: Mapping[str, Any] = field(default_factory=dict)
    """What the harness says of the run, where the plan's mapping may look."""
    whole: bool = False
    """The rows are one import, sent once the run has ended."""

    @classmethod
    def read(cls, line: bytes) -> Self:
        """Return a head from its line."""
        head = json.loads(line)
        if head.pop("version") != VERSION:
            raise ValueError("another version wrote it")
        return cls(**head)

    def line(self) -> bytes:
        """Return the head as a line."""
        return _line({"version": VERSION, **asdict(self)})


class Writer:
    """A file that a run appends its rows to. Each is on the disk when `append` comes back."""

    def __init__(self, folder: Path, head: Head) -> None:
        self._lock = threading.Lock()
        name = f"{time.time_ns():020}-{os.getpid()}-{secrets.token_hex(4)}"
        self.path = folder / (name + SUFFIX)
        new = folder / (name + ".new")
        self._file = -1
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.open(new, os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_WRONLY, 0o600)
            try_lock(self._file)  # held while this process lives: whoever sends sees that more may come
            write_all(self._file, head.line())
            new.rename(self.path)
            files.sync(folder)
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise FileFault(f"{folder}: rows cannot be kept there ({error.strerror})") from error
            raise
        self._size = os.fstat(self._file).st_size

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a row. Where the disk refuses it, nothing of it stays."""
        line = _line(record)
        with self._lock:
            try:
                write_all(self._file, line)
            except OSError as error:
                os.ftruncate(self._file, self._size)
                raise FileFault(f"{self.path.parent}: a row cannot be kept ({error.strerror})") from error
            self._size += len(line)

    def close(self) -> None:
        """No row comes after this."""
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"
