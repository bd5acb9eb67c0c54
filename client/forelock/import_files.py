"""Result files of harnesses on their way in: which format they are, which belong together, and how they are sent."""

from __future__ import annotations

import json
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import BinaryIO

from forelock.file_names import names_of
from forelock.formats import FORMATS, HEADERS, MARKS, NAMES, SUFFIXES, TOGETHER, WANTED
from forelock.problem import FileFault

_PIECE, _HEAD = 1024 * 1024, 65_536
_MOST_LOOKED_AT = 16 * 1024 * 1024
_SCHEMA = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"schema"\s*:\s*\{\s*"fields"\s*:')
"""How a data frame begins that is written with its schema."""
_SEPARATOR = re.compile(rb"[,;\t]")
_COLUMNS = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"[^"]*"\s*:\s*\[\s*[^\s\[{]')
"""How a JSON object of columns begins."""
_OF_OBJECTS = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"[^"]*"\s*:\s*\{')
_OF_ROWS = (None, "helm", "lm_eval")
"""What the name of a column may be taken for: these formats write no arrays of texts or numbers first."""


class UnknownFormat(FileFault):
    """Neither the name nor the beginning of a file tells what wrote it."""


@dataclass(frozen=True, slots=True)
class OneImport:
    """The files of one import."""

    paths: tuple[Path, ...]

    @property
    def name(self) -> str:
        """The name by which messages speak of the file."""
        first = str(self.paths[0])
        return first if len(self.paths) == 1 else f"{first} and {len(self.paths) - 1} more"


class FileBody:
    """A file as a body: read as it is sent, and again when it has to be sent again."""

    def __init__(self, file: BinaryIO, on_sent: Callable[[int, int], object]) -> None:
        self._file = file
        self._size = file.seek(0, 2)
        self._on_sent = on_sent

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[bytes]:
        self._file.seek(0)
        while piece := self._file.read(_PIECE):
            yield piece
            self._on_sent(self._file.tell(), self._size)


_PACKED = {
    **dict.fromkeys((".gz", ".bz2", ".xz", ".zst"), "is compressed: unpack it first"),
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "is a workbook: save the sheet as CSV, with commas, in UTF-8"),
}


def imports_of(paths: Sequence[str], form: str | None) -> tuple[str, list[OneImport]]:
    """Return the format of the files, and which of them are imported together; folders stand for what is in them.

    Raises:
        FileFault: a file cannot be read, leads out of its folder, or it cannot be told what wrote it.
    """
    files: list[Path] = []
    for name in paths:
        path = Path(name)
        if not path.exists():
            raise FileFault(f"{name}: No such file or directory")
        files += sorted(_inside(path)) if path.is_dir() else [path]
    if not files:
        raise FileFault(f"{paths[0]}: holds no file")
    known = form or format_of(files)
    if known in WANTED:
        patterns = WANTED[known].split()
        files = [
            path for path in files if any(fnmatchcase(path.name, pattern) for pattern in patterns)
        ] or files
    if known in TOGETHER:
        return known, [OneImport(tuple(files))]
    return known, [OneImport((file,)) for file in files]


def _inside(folder: Path) -> Iterator[Path]:
    """Files of a folder and of those in it; what is hidden, such as locks and notes of a file manager, is no result.

    Raises:
        FileFault: a link leads out of the folder. A folder that came from elsewhere would send any file of this
            machine under the name of a result.
    """
    within = folder.resolve()
    for path in folder.rglob("*"):
        if any(part.startswith(".") for part in path.relative_to(folder).parts) or not path.is_file():
            continue
        if path.is_symlink() and not path.resolve().is_relative_to(within):
            raise FileFault(
                f"{path}: is a link that leads out of {folder}: name the file itself, or copy the folder with what its "
                "links lead to (cp -rL)"
            )
        yield path


def format_of(paths: Sequence[Path]) -> str:
    """Return what wrote these files, by their names and beginnings."""
    for pattern, form in NAMES.items():
        if any(fnmatchcase(path.name, pattern) for path in paths):
            return form
    forms = {file_form for path in paths if (file_form := _format_of(path)) is not None}
    if len(forms) == 1:
        return forms.pop()
    packed = next((path for path in paths if path.suffix.lower() in _PACKED), None)
    if packed is not None:
        raise FileFault(f"{packed}: {_PACKED[packed.suffix.lower()]}")
    inner = _rows_within(paths[0])
    if inner is not None:
        raise UnknownFormat(
            f"{paths[0]}: it cannot be told what wrote it; its rows seem to stand under {inner}: write that list into "
            "a file of its own, a JSON array of objects"
        )
    raise UnknownFormat(
        f"{paths[0]}: it cannot be told what wrote it; read are {', '.join(FORMATS)}, the last three with a row for "
        "every item"
    )


def _rows_within(path: Path) -> str | None:
    """Return the name of the one member of a JSON object that is a list of objects."""
    try:
        if path.suffix.lower() != ".json" or path.stat().st_size > _MOST_LOOKED_AT:
            return None
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    lists = [
        name
        for name, member in (document.items() if isinstance(document, dict) else ())
        if isinstance(member, list) and member and all(isinstance(row, dict) for row in member)
    ]
    return json.dumps(lists[0]) if len(lists) == 1 else None


def _format_of(path: Path) -> str | None:
    """Tell a file's format by its name and how it begins; None where neither tells."""
    if path.suffix.lower() in SUFFIXES:
        return SUFFIXES[path.suffix.lower()]
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise FileFault(f"{path}: {error.strerror or 'cannot be read'}") from error
    if path.suffix.lower() == ".csv":
        first = head.partition(b"\n")[0]
        return next((form for column, form in HEADERS.items() if column in first), "csv")
    if path.suffix.lower() in (".tsv", ".txt") and head.lstrip()[:1] not in (b"{", b"["):
        return "csv" if _SEPARATOR.search(head.partition(b"\n")[0]) else None
    if _SCHEMA.match(head):
        return "ndjson"
    marked = next((form for mark, form in MARKS.items() if mark in head), None)
    lines = path.suffix.lower() in (".ndjson", ".jsonl")
    if marked in _OF_ROWS and not lines and _COLUMNS.match(head):
        return "ndjson"
    rows = lines or head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"[" or _is_plain(head)
    return marked or ("ndjson" if rows else None)


def _is_plain(head: bytes) -> bool:
    """Whether JSON is an object a line, or one of objects that hold plain cells, such as a data frame's columns."""
    first, _, rest = head.strip().partition(b"\n")
    if first[:1] == b"{" and first.rstrip()[-1:] == b"}" and rest.lstrip()[:1] == b"{":
        return True
    begins = _OF_OBJECTS.match(head)
    if begins is None:
        return False
    within = head[begins.end() :] if len(head) < _HEAD else head[begins.end() :].partition(b"}")[0]
    return b"[" not in within and all(
        b"{" not in part for part in re.split(rb"\}\s*,\s*\"[^\"]*\"\s*:\s*\{", within)
    )


class Packed:
    """The files of one import as one body: a single file as it is, several as an archive that is gone afterwards."""

    def __init__(
        self, one: OneImport, on_sent: Callable[[int, int], object] = lambda _sent, _of: None
    ) -> None:
        self._one, self._on_sent = one, on_sent

    def __enter__(self) -> FileBody:
        paths = self._one.paths
        try:
            if len(paths) == 1:
                self._file: BinaryIO = paths[0].open("rb")
            else:
                self._file = tempfile.TemporaryFile()
                with zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED) as archive:
                    for path, name in names_of(paths).items():
                        archive.write(path, name)
        except OSError as error:
            raise FileFault(f"{self._one.name}: {error.strerror or 'cannot be read'}") from error
        return FileBody(self._file, self._on_sent)

    def __exit__(self, *_: object) -> None:
        self._file.close()
