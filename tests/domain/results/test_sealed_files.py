"""Sealed files: nobody opens them without the key, in another record, or changed; their length tells little."""

from __future__ import annotations

import hashlib
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.domain.results.sealed_files import LEAST, open_file, seal_file, sealed_bytes
from service.domain.results.sealing import new_keypair
from service.domain.results.secret_rows import SealBroken
from tests.drawing import draws

PUBLIC, PRIVATE = new_keypair()
KEY = bytes(range(32))


def sealed(content: bytes, record: str = "a", key: bytes = KEY) -> bytes:
    target = io.BytesIO()
    written = seal_file(
        io.BytesIO(content), len(content), target, key=key, plan_public=PUBLIC, preregistration_id=record
    )
    assert written.sha256 == hashlib.sha256(target.getvalue()).hexdigest()
    assert written.size == len(target.getvalue()) == sealed_bytes(len(content))
    return target.getvalue()


def opened(pieces: list[bytes], size: int, private: bytes = PRIVATE, record: str = "a") -> bytes:
    target = io.BytesIO()
    read = open_file(pieces, size, target, plan_private=private, preregistration_id=record)
    assert read.sha256 == hashlib.sha256(b"".join(pieces)).hexdigest()
    return target.getvalue()


@given(st.integers(0, 3 * LEAST), st.integers(1, 2 * LEAST))
@settings(max_examples=draws(10), deadline=None)
def test_what_was_sealed_is_opened_however_it_is_cut(size: int, piece: int) -> None:
    content = hashlib.shake_256(str(size).encode()).digest(size)
    whole = sealed(content)
    assert opened([whole[at : at + piece] for at in range(0, len(whole), piece)], size) == content


@pytest.mark.parametrize("size", [1 << 20, (1 << 20) + 1, 3 << 20])
def test_files_of_several_blocks_are_opened(size: int) -> None:
    content = hashlib.shake_256(b"x").digest(1 << 16) * (size >> 16) + b"y" * (size & 0xFFFF)
    assert opened([sealed(content)], size) == content


def test_files_of_about_one_length_are_as_long() -> None:
    assert len({len(sealed(bytes(n))) for n in (0, 1, 40_000, LEAST)}) == 1
    assert len({len(sealed(bytes(n))) for n in (LEAST + 1, 2 * LEAST)}) == 1


def test_nothing_of_it_stands_in_the_open_and_equal_files_differ() -> None:
    needle = b"an outcome that nobody may read"
    one, other = sealed(needle * 100, key=KEY), sealed(needle * 100, key=KEY[::-1])
    assert needle not in one
    assert not any(a == b for a, b in zip(_blocks(one), _blocks(other), strict=True))


def _blocks(whole: bytes) -> list[bytes]:
    return [whole[at : at + 64] for at in range(128, len(whole) - 64, 64)]


def test_another_key_record_or_length_opens_nothing() -> None:
    whole = sealed(b"content")
    for attempt in (
        lambda: opened([whole], 7, private=new_keypair()[1]),
        lambda: opened([whole], 7, record="b"),
        lambda: opened([whole], LEAST + 1),
        lambda: opened([whole[:-1]], 7),
        lambda: opened([whole, b"x"], 7),
        lambda: opened([whole, b"", b"x"], 7),
        lambda: opened([], 7),
        lambda: opened([b"x" * len(whole)], 7),
    ):
        with pytest.raises(SealBroken):
            attempt()


@given(st.integers(0, sealed_bytes(7) - 1))
@settings(max_examples=draws(20), deadline=None)
def test_no_changed_byte_goes_unseen(at: int) -> None:
    whole = bytearray(sealed(b"content"))
    whole[at] ^= 1
    with pytest.raises(SealBroken):
        opened([bytes(whole)], 7)


def test_a_file_of_another_length_than_said_is_no_file() -> None:
    for said in (6, 8):
        with pytest.raises(ValueError, match="as long as"):
            seal_file(
                io.BytesIO(b"content"),
                said,
                io.BytesIO(),
                key=KEY,
                plan_public=PUBLIC,
                preregistration_id="a",
            )
