"""Sealed files: what was imported, as nobody can read it before the verdict, and as long whatever its outcomes are.

A file of its own key, which is sealed to the plan's by HPKE: whoever erases the plan's key erases the files. It is
filled up to a power of two, so that its length tells next to nothing, and read and written block by block.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from service.domain.canonical import canonical
from service.domain.results.sealing import seal, unseal
from service.domain.results.secret_rows import SealBroken

HEAD = b"forelock sealed file 1\n"
KEY_BYTES, WRAPPED_BYTES, TAG_BYTES = 32, 80, 16
LEAST, BLOCK = 1 << 16, 1 << 20


class Written(Protocol):
    """Whatever opened bytes are written to: an open file, or a hash."""

    def write(self, data: bytes, /) -> int:
        """Take the next bytes; how many were taken."""


@dataclass(frozen=True, slots=True)
class SealedFile:
    """A sealed file as it was written: hash and size of its bytes as they lie on disk."""

    sha256: str
    size: int


def sealed_bytes(size: int) -> int:
    """Return how many bytes a file of this size has once it is sealed."""
    filled = _pad_size(size)
    return len(HEAD) + WRAPPED_BYTES + filled + filled // min(filled, BLOCK) * TAG_BYTES


def seal_file(
    source: BinaryIO, size: int, target: BinaryIO, *, key: bytes, plan_public: bytes, preregistration_id: str
) -> SealedFile:
    """Write the `size` bytes of the source sealed to a plan. `key` is drawn for this file alone."""
    filled, digest, written = _pad_size(size), hashlib.sha256(), 0
    block, cipher = min(filled, BLOCK), ChaCha20Poly1305(key)

    def write(data: bytes) -> None:
        nonlocal written
        digest.update(data)
        written += target.write(data)

    write(HEAD + seal(key, plan_public, _info(preregistration_id)))
    source.seek(0)
    for number in range(filled // block):
        plain = source.read(block)
        write(cipher.encrypt(_nonce(number), plain.ljust(block, b"\0"), HEAD))
    if source.read(1) or source.tell() != size:
        raise ValueError("the file is not as long as was said")
    return SealedFile(digest.hexdigest(), written)


def open_file(
    pieces: Iterable[bytes], size: int, target: Written, *, plan_private: bytes, preregistration_id: str
) -> SealedFile:
    """Write what was sealed, `size` bytes, to a file; the hash is that of the bytes that were read.

    Raises:
        SealBroken: another key, another record, changed bytes, or too few or too many of them.
    """
    filled, digest = _pad_size(size), hashlib.sha256()
    block = min(filled, BLOCK)
    blocks = _cut(pieces, [len(HEAD) + WRAPPED_BYTES, *[block + TAG_BYTES] * (filled // block)])
    left = size
    head = next(blocks)
    digest.update(head)
    if not head.startswith(HEAD):
        raise SealBroken("this is no sealed file")
    cipher = ChaCha20Poly1305(unseal(head[len(HEAD) :], plan_private, _info(preregistration_id)))
    for number, sealed in enumerate(blocks):
        digest.update(sealed)
        try:
            plain = cipher.decrypt(_nonce(number), sealed, HEAD)
        except InvalidTag:
            raise SealBroken("a block of a sealed file does not open") from None
        target.write(plain[:left])
        left = max(0, left - len(plain))
    return SealedFile(digest.hexdigest(), size)


def _cut(pieces: Iterable[bytes], lengths: Iterable[int]) -> Iterator[bytes]:
    """Yield the same bytes in pieces of these lengths, and nothing before or behind them."""
    waiting, more = bytearray(), iter(pieces)
    for length in lengths:
        while len(waiting) < length:
            piece = next(more, None)
            if piece is None:
                raise SealBroken("a sealed file is shorter than it was")
            waiting += piece
        yield bytes(waiting[:length])
        del waiting[:length]
    if waiting or any(more):
        raise SealBroken("a sealed file is longer than it was")


def _pad_size(size: int) -> int:
    return max(LEAST, 1 << max(0, size - 1).bit_length())


def _nonce(number: int) -> bytes:
    """The key is this file's alone, so that the number of a block is never used twice with it."""
    return number.to_bytes(12, "big")


def _info(preregistration_id: str) -> bytes:
    return canonical({"purpose": "forelock/file/1", "preregistration_id": preregistration_id})
