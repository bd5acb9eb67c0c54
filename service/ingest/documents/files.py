"""What an import is read from: one file, several of a run, or an archive that holds them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from fnmatch import fnmatchcase
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from forelock.file_names import names_of
from service.errors import InvalidData
from service.ingest.documents import limits
from service.ingest.documents.archive import Archive
from service.ingest.documents.limits import too_large, unreadable

if TYPE_CHECKING:
    from service.ingest.documents.json_values import Buffer

_BLANK = re.compile(rb"[ \t\r\n\f\v]*+")
_PIECE = 1024 * 1024
_ZIP = (b"PK\3\4", b"PK\5\6")
_OTHERS = (
    (b"\x1f\x8b", "is compressed by gzip: send it as it was before, or in a zip archive"),
    (b"\x28\xb5\x2f\xfd", "is compressed by Zstandard: send it as it was before, or in a zip archive"),
    (b"\xfd7zXZ\0", "is compressed by xz: send it as it was before, or in a zip archive"),
    (b"BZh", "is compressed by bzip2: send it as it was before, or in a zip archive"),
    (b"7z\xbc\xaf", "is a 7z archive: send a zip archive"),
    (b"\xff\xfe\0\0", "is not UTF-8 but UTF-32: save it as UTF-8"),
)
"""How files begin that no reader takes, and what to do about them."""


_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""Spreadsheets save text so."""


def _blank(document: Buffer, position: int) -> int:
    """Where the blank characters end that begin at a position: lines of nothing else cost nothing of their own."""
    blank = _BLANK.match(document, position)
    return position if blank is None else blank.end()


def _from_utf_16(document: Buffer, name: str) -> bytes:
    """Return the text of a document of UTF-16 in UTF-8, with its byte order mark dropped."""
    if len(document) > limits.MOST_UTF_16:
        raise too_large("the file in UTF-16 is larger", f"{limits.MOST_UTF_16 >> 20} MiB of UTF-16")
    try:
        return bytes(document[: len(document)]).decode("utf-16").encode()
    except UnicodeError:
        raise unreadable(name, "begins as UTF-16 and is none: save it as UTF-8") from None


def _count_lines(document: Buffer, begin: int, end: int) -> int:
    """Return how many lines end between two positions."""
    return sum(document[at : min(at + _PIECE, end)].count(b"\n") for at in range(begin, end, _PIECE))


class Files:
    """Named documents; each is read when it is asked for, and none of them is written anywhere."""

    def __init__(self, archive: Archive | None, documents: Mapping[str, BinaryIO]) -> None:
        self.archive = archive
        self._documents = documents

    @classmethod
    def of(cls, file: BinaryIO, name: str = "file", scratch: Path | None = None) -> Files:
        """Return a file, or what is in it when it is a zip archive."""
        file.seek(0)
        zipped = file.read(4) in _ZIP
        return cls(Archive(file, scratch), {}) if zipped else cls(None, {name: file})

    @classmethod
    def at(cls, paths: Sequence[Path], open_files: ExitStack) -> Files:
        """Open files on disk; a folder stands for all that is in it. Files of one name go by their folders as well."""
        files = [file for path in paths for file in (sorted(path.iterdir()) if path.is_dir() else [path])]
        names = names_of([path for path in files if path.is_file()])
        opened = {name: open_files.enter_context(path.open("rb")) for path, name in names.items()}
        if len(opened) == 1:
            (only,) = opened.items()
            return cls.of(only[1], only[0])
        return cls(None, opened)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all documents of the upload."""
        return tuple(self._documents) if self.archive is None else self.archive.names

    def matching(self, *patterns: str) -> list[str]:
        """Return names whose last part matches one of the patterns, sorted."""
        return sorted(
            name
            for name in self.names
            if any(fnmatchcase(name.rpartition("/")[2], pattern) for pattern in patterns)
        )

    def only(self, *patterns: str, what: str, of: str) -> str:
        """Return the one document that matches; a single file of any name is taken for it.

        Raises:
            InvalidData: there is none, or there are several.
        """
        matching = self.matching(*patterns)
        if not matching and len(self.names) == 1:
            matching = list(self.names)
        if len(matching) != 1:
            many = f"{len(matching)} files" if matching else "no file"
            raise InvalidData.field("", f"{many} of this import can be {what}", f"send {of}")
        return matching[0]

    def read(self, name: str) -> Buffer:
        """Return a document, without the byte order mark that some editors write."""
        document = self._read(name)
        begun = document[:6]
        for mark, fault in _OTHERS:
            if begun.startswith(mark):
                raise unreadable(name, fault)
        return _from_utf_16(document, name) if begun.startswith(_UTF_16) else document

    def _read(self, name: str) -> Buffer:
        if self.archive is not None:
            return self.archive.read(name)
        file = self._documents[name]
        size = file.seek(0, 2)
        if size > limits.MOST_INFLATED:
            raise too_large("the file is larger", f"{limits.MOST_INFLATED >> 20} MiB")
        return mmap(file.fileno(), 0, access=ACCESS_READ) if size else b""

    def read_all(self, names: Sequence[str]) -> Iterator[Buffer]:
        """Documents one after the other; those of an archive in less time than one by one."""
        return map(self.read, names) if self.archive is None else self.archive.read_members(names)

    def lines(self, name: str) -> Iterator[tuple[int, bytes]]:
        """Yield the lines of a document that are not blank, with their numbers from 1."""
        document = self.read(name)
        position, number, written = 3 if document[:3] == b"\xef\xbb\xbf" else 0, 0, 0
        while position < len(document):
            begun = _blank(document, position)
            number += 1 + _count_lines(document, position, begun)
            if begun == len(document):
                return
            position = begun
            end = document.find(b"\n", position)
            end = len(document) if end < 0 else end
            if end - position > limits.MOST_ENTRY:
                raise unreadable(f"line {number}", "is too long")
            written += 1
            if written > limits.MOST_SAMPLES:
                raise too_large("the file has more lines", f"{limits.MOST_SAMPLES:,} lines")
            yield number, document[position:end]
            position = end + 1
