"""The container: a zip with one spelling, so that every byte of it means something.

Members are stored and not compressed, follow one another without gaps, have the same time and no attributes. Any zip
program opens it; what another program writes is refused here. So it is as long as what it holds, and neither a bomb
nor a path nor a hidden byte fits in. Format: PKWARE's APPNOTE, sections 4.3.7, 4.3.12 and 4.3.16, without zip64.
"""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from forelock.bundles.faults import Broken

MAX_BYTES = 2**32 - 2**16
"""What a zip holds without zip64."""
MAX_MEMBERS = 65_534
NAME = re.compile(rb"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*){0,3}")
MAX_NAME = 120
CHUNK = 1 << 20

_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_CENTRAL = struct.Struct("<4sHHHHHHIIIHHHHHII")
_END = struct.Struct("<4sHHHHIIH")
_VERSION, _TIME, _DATE = 10, 0, 0x21  # 1980-01-01, the first day of a zip


@dataclass(frozen=True, slots=True)
class Member:
    """Where the bytes of one file in a bundle stand, with their number and checksum."""

    name: str
    start: int
    size: int
    crc: int


class Writer:
    """Writes members one after the other; `end` makes it a bundle."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._at = 0
        self._central: list[bytes] = []
        self.sha256: dict[str, str] = {}
        """Of every member so far."""

    def add(self, name: str, data: bytes) -> None:
        """Write one file into the bundle, under a name that no other file of it has.

        Raises:
            Broken: a name that is there, or more than a bundle holds.
        """
        self.add_stream(name, len(data), [data])

    def add_stream(self, name: str, size: int | None, pieces: Iterable[bytes]) -> None:
        """Add a member piece by piece; its sum, and a size that is not known yet, are written by going back."""
        encoded = name.encode("ascii")
        if name in self.sha256 or not NAME.fullmatch(encoded) or len(encoded) > MAX_NAME:
            raise Broken(f"{name} is no name of a member, or there twice")
        self._require_room(size or 0, len(self._central) + 1)
        start, crc, digest, written = self._at, 0, hashlib.sha256(), 0
        self._write(_local(encoded, 0, size or 0))
        for piece in pieces:
            self._require_room(len(piece))
            crc, written = zlib.crc32(piece, crc), written + len(piece)
            digest.update(piece)
            self._write(piece)
        if size not in (None, written):
            raise Broken(f"{name} has {written} bytes, and {size} were announced")
        self._file.seek(start)
        self._file.write(_local(encoded, crc, written))
        self._file.seek(self._at)
        self._central.append(_entry(encoded, crc, written, start))
        self.sha256[name] = digest.hexdigest()

    def end(self) -> int:
        """Write the directory; returns the bundle's size."""
        start = self._at
        for entry in self._central:
            self._write(entry)
        self._write(_end(len(self._central), start, self._at - start))
        return self._at

    def _require_room(self, size: int, members: int = 0) -> None:
        if members > MAX_MEMBERS or self._at + size > MAX_BYTES:
            raise Broken(f"a bundle holds {MAX_MEMBERS} members and {MAX_BYTES} bytes at most")

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._at += len(data)


class Reader:
    """The members of a bundle. Opening it reads the directory alone; no two members share a byte."""

    def __init__(self, file: BinaryIO) -> None:
        """Read the directory.

        Raises:
            Broken: it is not a container of this spelling.
        """
        self._file = file
        self.members = {member.name: member for member in _directory(file)}

    def read(self, name: str, most: int) -> bytes:
        """Return a member's bytes.

        Raises:
            Broken: it is not there, larger than `most`, or damaged.
        """
        if self.size(name) > most:
            raise Broken(f"{name} is larger than the {most} bytes it may have")
        return b"".join(self.pieces(name))

    def size(self, name: str) -> int:
        """Return how many bytes a file of the bundle has.

        Raises:
            Broken: it is not there.
        """
        if name not in self.members:
            raise Broken(f"{name} is not in the bundle")
        return self.members[name].size

    def pieces(self, name: str, piece: int = CHUNK) -> Iterator[bytes]:
        """Yield a member's bytes, piece by piece; the last step compares the sum."""
        left, crc = self.size(name), 0
        member = self.members[name]
        at = member.start
        while left:
            self._file.seek(at)
            data = self._file.read(min(piece, left))
            if not data:
                raise Broken("the file ends too early")
            crc, left, at = zlib.crc32(data, crc), left - len(data), at + len(data)
            yield data
        if crc != member.crc:
            raise Broken(f"{name} is damaged: its checksum is another one")

    def lines(self, name: str, longest: int) -> Iterator[bytes]:
        """Yield a member's lines without their newlines; every line has to end with one.

        Raises:
            Broken: a line longer than `longest`, or a last one without an end.
        """
        rest = b""
        for data in self.pieces(name):
            *whole, rest = (rest + data).split(b"\n")
            if len(rest) > longest or any(len(line) > longest for line in whole):
                raise Broken(f"{name} has a line longer than {longest} bytes")
            yield from whole
        if rest:
            raise Broken(f"the last line of {name} does not end")

    def sha256(self, name: str) -> str:
        """Return the SHA-256 of a member's bytes, in hexadecimal."""
        digest = hashlib.sha256()
        for data in self.pieces(name):
            digest.update(data)
        return digest.hexdigest()


def _directory(file: BinaryIO) -> Iterator[Member]:
    """The members by the zip's directory, after comparing every byte of it and of their headers with what a bundle has.

    Raises:
        Broken: the file is not laid out as a bundle is, or holds bytes of no member.
    """
    total = file.seek(0, 2)
    if not _END.size < total <= MAX_BYTES + (1 << 24):
        raise Broken("the file is too short or too long to be a bundle")
    file.seek(total - _END.size)
    tail = file.read(_END.size)
    _, _, _, count, _, length, start, _ = _END.unpack(tail)
    if tail != _end(count, start, length) or start + length + _END.size != total:
        raise Broken("the file is not a bundle, or was cut off")
    if count > MAX_MEMBERS or length > count * (_CENTRAL.size + MAX_NAME):
        raise Broken(f"a bundle has {MAX_MEMBERS} members at most")
    file.seek(start)
    directory = file.read(length)
    at, place, names = 0, 0, set()
    for _ in range(count):
        if len(directory) < at + _CENTRAL.size:
            raise Broken("the directory of the bundle was cut off")
        fields = _CENTRAL.unpack_from(directory, at)
        crc, size, name_length = fields[7], fields[9], fields[10]
        name = directory[at + _CENTRAL.size : at + _CENTRAL.size + name_length]
        if len(name) > MAX_NAME or not NAME.fullmatch(name) or name in names:
            raise Broken("a member has a name that no bundle has, or one that is there twice")
        entry = _entry(name, crc, size, place)
        if directory[at : at + len(entry)] != entry:
            raise Broken(f"the entry of {name.decode()} is not as a bundle has it")
        header = _local(name, crc, size)
        file.seek(place)
        if place + len(header) + size > start or file.read(len(header)) != header:
            raise Broken(f"the header of {name.decode()} is not as a bundle has it")
        yield Member(name.decode(), place + len(header), size, crc)
        names.add(name)
        at, place = at + len(entry), place + len(header) + size
    if at != length or place != start:
        raise Broken("the bundle holds bytes that belong to no member")


def _local(name: bytes, crc: int, size: int) -> bytes:
    return _LOCAL.pack(b"PK\x03\x04", _VERSION, 0, 0, _TIME, _DATE, crc, size, size, len(name), 0) + name


def _entry(name: bytes, crc: int, size: int, start: int) -> bytes:
    """Return the directory's entry of a member, as the one way to write a bundle has it."""
    fixed = _CENTRAL.pack(
        b"PK\x01\x02",
        _VERSION,
        _VERSION,
        0,
        0,
        _TIME,
        _DATE,
        crc,
        size,
        size,
        len(name),
        0,
        0,
        0,
        0,
        0,
        start,
    )
    return fixed + name


def _end(count: int, start: int, length: int) -> bytes:
    return _END.pack(b"PK\x05\x06", 0, 0, count, count, length, start, 0)
