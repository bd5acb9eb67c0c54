"""The container: one spelling of a zip, and nothing else is opened."""

from __future__ import annotations

import io
import resource
import struct
import zipfile
from collections.abc import Callable, Iterator

import pytest

from forelock.bundles import container
from forelock.bundles.container import MAX_MEMBERS, Reader, Writer
from forelock.bundles.faults import Broken

MEMBERS = {
    "a.json": b"{}",
    "documents/B.md": b"words\n" * 1000,
    "rows.bin": bytes(range(256)) * 10,
    "empty": b"",
}


def written(members: dict[str, bytes] = MEMBERS) -> bytes:
    file = io.BytesIO()
    writer = Writer(file)
    for name, data in members.items():
        writer.add(name, data)
    assert writer.end() == len(file.getvalue())
    return file.getvalue()


def read(data: bytes) -> dict[str, bytes]:
    reader = Reader(io.BytesIO(data))
    return {name: b"".join(reader.pieces(name, 100)) for name in reader.members}


def test_what_was_written_is_read() -> None:
    assert read(written()) == MEMBERS
    assert written() == written()


def test_any_zip_program_opens_it() -> None:
    with zipfile.ZipFile(io.BytesIO(written())) as opened:
        assert opened.testzip() is None
        assert {name: opened.read(name) for name in opened.namelist()} == MEMBERS
        assert {each.date_time for each in opened.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_a_stream_is_written_as_it_comes() -> None:
    file = io.BytesIO()
    writer = Writer(file)
    writer.add_stream("rows.bin", 6, iter([b"ab", b"", b"cdef"]))
    writer.end()
    assert file.getvalue() == written({"rows.bin": b"abcdef"})


def test_a_stream_of_another_size_than_announced_is_refused() -> None:
    with pytest.raises(Broken, match="announced"):
        Writer(io.BytesIO()).add_stream("rows.bin", 7, [b"abcdef"])


def test_a_stream_whose_size_is_not_known_is_written_as_it_comes() -> None:
    file = io.BytesIO()
    written_before = []

    def pieces() -> Iterator[bytes]:
        for piece in (b"abc", b"", b"def"):
            written_before.append(len(file.getvalue()))
            yield piece

    writer = Writer(file)
    writer.add_stream("rows.bin", None, pieces())
    writer.end()
    assert file.getvalue() == written({"rows.bin": b"abcdef"})
    assert written_before == [written_before[0], written_before[0] + 3, written_before[0] + 3]


def test_a_stream_beyond_what_a_bundle_holds_ends_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "MAX_BYTES", 1000)
    taken = []
    with pytest.raises(Broken, match="1000 bytes at most"):
        Writer(io.BytesIO()).add_stream("rows.bin", None, (taken.append(n) or b"x" * 100 for n in range(50)))
    assert len(taken) < 12


def test_every_flipped_byte_shows() -> None:
    whole = written({"a.json": b"{}", "b/c": b"words"})
    for place in range(len(whole)):
        for mask in (1, 128):
            changed = whole[:place] + bytes([whole[place] ^ mask]) + whole[place + 1 :]
            try:
                assert read(changed) != read(whole), place  # another name for the same bytes: the index tells
            except Broken:
                continue
            names = set(read(changed))
            assert names != {"a.json", "b/c"}, place


def test_every_cut_and_every_addition_shows() -> None:
    whole = written({"a.json": b"{}", "b/c": b"words"})
    for changed in [
        *(whole[:size] for size in range(len(whole))),
        whole + b"\0",
        b"\0" + whole,
        whole + whole,
    ]:
        with pytest.raises(Broken):
            read(changed)


def deflated() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("bomb", bytes(50_000_000))
    return file.getvalue()


def stored(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name in names:
            made.writestr(zipfile.ZipInfo(name), b"x")
    return file.getvalue()


def overlapping() -> bytes:
    """Two entries of the directory share one member's bytes."""
    whole = written({"a": b"x" * 100})
    directory = whole[whole.index(b"PK\x01\x02") : whole.index(b"PK\x05\x06")]
    start = whole.index(b"PK\x01\x02")
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 2, 2, 2 * len(directory), start, 0)
    return whole[:start] + directory + directory.replace(b"a", b"b") + end


def duplicate() -> bytes:
    whole = written({"aa": b"1", "ab": b"2"})
    return whole.replace(b"ab", b"aa")


def traversing(name: bytes) -> bytes:
    return written({"x" * len(name): b"1"}).replace(b"x" * len(name), name)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "compressed": deflated,
    "of another program": lambda: stored("a"),
    "overlapping": overlapping,
    "a name twice": duplicate,
    "up": lambda: traversing(b"../../etc/passwd"),
    "absolute": lambda: traversing(b"/etc/passwd"),
    "hidden": lambda: traversing(b".bashrc"),
    "backslashes": lambda: traversing(b"..\\..\\x"),
    "another byte": lambda: traversing(b"a\0b"),
    "no name": lambda: traversing(b"/"),
    "empty": lambda: b"",
    "text": lambda: b"not a zip at all, but long enough to be looked at",
    "end alone": lambda: struct.pack(
        "<4sHHHHIIH", b"PK\x05\x06", 0, 0, 65535, 65535, 2**32 - 1, 2**32 - 1, 0
    ),
    "many announced": lambda: struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 65534, 65534, 0, 0, 0),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_not_opened(name: str) -> None:
    with pytest.raises(Broken):
        read(HOSTILE[name]())


@pytest.mark.parametrize("name", ["../x", "/x", "a//b", "a/", ".x", "a b", "ä", "a/b/c/d/e", "x" * 121, ""])
def test_such_names_are_not_written(name: str) -> None:
    with pytest.raises((Broken, UnicodeEncodeError)):
        Writer(io.BytesIO()).add(name, b"")


def test_a_name_is_written_once() -> None:
    writer = Writer(io.BytesIO())
    writer.add("a", b"")
    with pytest.raises(Broken):
        writer.add("a", b"")


def test_no_more_members_than_a_zip_counts() -> None:
    file = io.BytesIO()
    writer = Writer(file)
    for number in range(MAX_MEMBERS):
        writer.add(f"m{number}", b"")
    with pytest.raises(Broken, match="at most"):
        writer.add("one-more", b"")
    writer.end()
    assert len(Reader(file).members) == MAX_MEMBERS


def test_a_member_larger_than_it_may_be_is_not_read() -> None:
    with pytest.raises(Broken, match="larger"):
        Reader(io.BytesIO(written())).read("rows.bin", 100)


def test_lines_are_bounded_and_end() -> None:
    data = written({"l": b"one\n" + b"x" * 1000 + b"\n", "open": b"one\ntwo"})
    reader = Reader(io.BytesIO(data))
    assert [len(line) for line in reader.lines("l", 1000)] == [3, 1000]
    with pytest.raises(Broken, match="longer"):
        list(reader.lines("l", 999))
    with pytest.raises(Broken, match="does not end"):
        list(reader.lines("open", 10))


def test_a_large_member_is_read_in_little_memory(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("large") / "bundle.zip"
    with path.open("wb+") as file:
        writer = Writer(file)
        writer.add_stream("rows.bin", 96 << 20, (bytes(1 << 20) for _ in range(96)))
        writer.end()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        Reader(file).sha256("rows.bin")
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 * 1024
