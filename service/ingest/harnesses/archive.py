"""Zip archives from anybody: counted and measured before anything is inflated, and never unpacked to paths.

The standard library reads the list of entries; entries are inflated here, piece by piece, since their sizes,
their checksums and the window of Zstandard (method 93) have to hold while that happens.
"""

from __future__ import annotations

import struct
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import BinaryIO

from service.ingest.harnesses import limits
from service.ingest.harnesses.limits import too_large, unreadable

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

STORED, DEFLATED, ZSTANDARD = 0, 8, 93
_LOCAL = struct.Struct("<4s5H3L2H")
_END = struct.Struct("<4s4H2LH")
_PIECE = 1024 * 1024
_AT_ONCE = 256 * 1024
_OPTIONS = {int(zstd.DecompressionParameter.window_log_max): limits.WINDOW_LOG}
_FAULTS = (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error, OSError, EOFError, IndexError)


class Archive:
    """A zip archive whose list of entries is within the limits."""

    def __init__(self, file: BinaryIO, scratch: Path | None = None) -> None:
        self._file = file
        self._scratch = scratch
        size = file.seek(0, 2)
        _require_short_list(file, size)
        try:
            with zipfile.ZipFile(file) as listed:
                entries = listed.infolist()
        except _FAULTS:
            raise unreadable(
                "", "the archive is cut off or damaged: its list of entries cannot be read"
            ) from None
        if len(entries) > limits.MOST_ENTRIES:
            raise too_large("the archive has more entries", f"{limits.MOST_ENTRIES:,} entries")
        self._entries: dict[str, zipfile.ZipInfo] = {}
        for entry in entries:
            _check(entry)
            if entry.filename in self._entries:
                raise unreadable("", "the archive has two entries of one name")
            self._entries[entry.filename] = entry
        if sum(entry.compress_size for entry in entries) > size:
            raise unreadable("", "entries of the archive overlap")
        if sum(entry.file_size for entry in entries) > limits.MOST_INFLATED:
            raise too_large("the archive is larger once it is inflated", f"{limits.MOST_INFLATED >> 20} MiB")

    @property
    def names(self) -> tuple[str, ...]:
        """The entries' names, in the archive's order."""
        return tuple(self._entries)

    def size(self, name: str) -> int:
        """Bytes of an entry, once it is inflated."""
        return self._entries[name].file_size

    def read(self, name: str) -> bytes | mmap:
        """An entry: bytes when it is small, otherwise a file that has no name any more, mapped."""
        entry = self._entries[name]
        if entry.file_size <= _AT_ONCE and entry.compress_size <= _AT_ONCE:
            return self._small(entry)
        if entry.file_size <= limits.IN_MEMORY:
            return b"".join(self._inflated(entry))
        with tempfile.TemporaryFile(dir=self._scratch) as kept:
            for piece in self._inflated(entry):
                kept.write(piece)
            kept.flush()
            return mmap(kept.fileno(), 0, access=ACCESS_READ)

    def _small(self, entry: zipfile.ZipInfo) -> bytes:
        """An entry as most are, in one piece and a third of the time."""
        name, extra = len(entry.orig_filename), len(entry.extra)
        self._file.seek(entry.header_offset)
        read = self._file.read(_LOCAL.size + 4 * name + extra + 64 + entry.compress_size)
        try:
            local = _LOCAL.unpack_from(read)
            begin = _LOCAL.size + local[9] + local[10]
            data = read[begin : begin + entry.compress_size]
            if local[0] != b"PK\3\4" or local[3] != entry.compress_type or len(data) != entry.compress_size:
                raise ValueError
            if entry.compress_type == ZSTANDARD:
                frame = zstd.ZstdDecompressor(options=_OPTIONS)
                data = frame.decompress(data, entry.file_size + 1)
            elif entry.compress_type == DEFLATED:
                data = zlib.decompressobj(-15).decompress(data, entry.file_size + 1)
        except (*_FAULTS, zlib.error, zstd.ZstdError):
            data = b""
        if len(data) != entry.file_size or zlib.crc32(data) != entry.CRC:
            return b"".join(
                self._inflated(entry)
            )  # which says what is wrong, or reads what is merely unusual
        return data

    def _inflated(self, entry: zipfile.ZipInfo) -> Iterator[bytes]:
        where = _shown(entry.filename)
        try:
            size = checksum = 0
            for piece in _pieces(entry.compress_type, self._compressed(entry)):
                size, checksum = size + len(piece), zlib.crc32(piece, checksum)
                if size > entry.file_size:
                    raise unreadable(where, "is larger than the archive says")
                yield piece
        except (*_FAULTS, zlib.error, zstd.ZstdError):
            raise unreadable(where, "is cut off or damaged") from None
        if size != entry.file_size or checksum != entry.CRC:
            raise unreadable(where, "is cut off or damaged")

    def _compressed(self, entry: zipfile.ZipInfo) -> Iterator[bytes]:
        self._file.seek(entry.header_offset)
        local = _LOCAL.unpack(self._file.read(_LOCAL.size))
        if local[0] != b"PK\3\4" or local[3] != entry.compress_type:
            raise ValueError
        self._file.seek(local[9] + local[10], 1)
        left = entry.compress_size
        while left:
            piece = self._file.read(min(left, _PIECE))
            if not piece:
                raise EOFError
            left -= len(piece)
            yield piece


def _pieces(method: int, compressed: Iterator[bytes]) -> Iterator[bytes]:
    """What the pieces inflate to, at most `_PIECE` bytes at a time."""
    if method == STORED:
        yield from compressed
        return
    if method == DEFLATED:
        deflated = zlib.decompressobj(-15)
        for piece in compressed:
            while piece:
                yield deflated.decompress(piece, _PIECE)
                piece = deflated.unconsumed_tail
        while not deflated.eof:
            more = deflated.decompress(b"", _PIECE)
            if not more:
                raise EOFError
            yield more
        return
    frame = zstd.ZstdDecompressor(options=_OPTIONS)
    for piece in compressed:
        while piece or not (frame.eof or frame.needs_input):
            if frame.eof:  # frames may follow one another
                frame = zstd.ZstdDecompressor(options=_OPTIONS)
            yield frame.decompress(piece, _PIECE)
            piece = frame.unused_data if frame.eof else b""
    if not frame.eof:
        raise EOFError


def _check(entry: zipfile.ZipInfo) -> None:
    name = entry.filename
    if name.startswith("/") or ".." in name.split("/") or "\0" in entry.orig_filename:
        raise unreadable("", "an entry of the archive has a name that leads out of it")
    if entry.flag_bits & 1:
        raise unreadable("", "the archive is encrypted")
    if entry.compress_type not in (STORED, DEFLATED, ZSTANDARD):
        raise unreadable("", "the archive is compressed by a method other than deflate and Zstandard")
    if entry.file_size > limits.MOST_ENTRY:
        raise too_large("an entry of the archive is larger", f"{limits.MOST_ENTRY >> 20} MiB in one")
    if entry.file_size > max(limits.SMALL_ENTRY, limits.MOST_RATIO * entry.compress_size):
        raise too_large("an entry of the archive inflates further", f"{limits.MOST_RATIO} times its size")


def _require_short_list(file: BinaryIO, size: int) -> None:
    """Look at the archive's last record: the list that it announces is read whole by the library."""
    tail = min(size, 65_535 + _END.size + 20)
    file.seek(size - tail)
    ending = file.read(tail)
    at = ending.rfind(b"PK\5\6")
    if at < 0 or len(ending) - at < _END.size:
        raise unreadable("", "the archive is cut off or damaged: it has no list of entries")
    entries, listed = _END.unpack_from(ending, at)[4:6]
    if at >= 20 and ending[at - 20 : at - 16] == b"PK\6\7":
        (record,) = struct.unpack_from("<Q", ending, at - 12)
        file.seek(min(record, size))
        whole = file.read(56)
        if len(whole) < 56 or whole[:4] != b"PK\6\6":
            raise unreadable("", "the archive is cut off or damaged: it has no list of entries")
        entries, listed = struct.unpack_from("<QQ", whole, 32)
    if entries > limits.MOST_ENTRIES:
        raise too_large("the archive has more entries", f"{limits.MOST_ENTRIES:,} entries")
    if listed > limits.MOST_DIRECTORY:
        raise too_large("the archive's list of entries is longer", f"{limits.MOST_DIRECTORY >> 20} MiB of it")
    file.seek(0)


def _shown(name: str) -> str:
    """An entry's name, fit for a message."""
    printable = name if name.isprintable() else "an entry"
    return printable if len(printable) <= 120 else f"{printable[:119]}…"
