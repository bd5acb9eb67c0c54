"""Bitcoin block headers that a reader brings: 80 bytes, their work checked, nothing said of the chain they are in."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime

from forelock.witness.stamp import WitnessFault

HEADER_BYTES = 80
MAX_TARGET = 0xFFFF << 208
"""The easiest work of the main chain."""


@dataclass(frozen=True, slots=True)
class Header:
    """What the 80 bytes of a Bitcoin block header say."""

    hash: str
    merkle_root: bytes
    time: datetime


def read_header(data: bytes) -> Header:
    """Return a header from its 80 bytes, or from these in hexadecimal.

    Raises:
        WitnessFault: neither, or a header without the work that it claims.
    """
    raw = data
    if len(data) != HEADER_BYTES:
        try:
            raw = bytes.fromhex(data.decode("ascii"))
        except (ValueError, UnicodeDecodeError):
            raw = b""
    if len(raw) != HEADER_BYTES:
        raise WitnessFault(
            f"a Bitcoin block header has {HEADER_BYTES} bytes, raw or as {2 * HEADER_BYTES} hex digits"
        )
    digest = hashlib.sha256(hashlib.sha256(raw).digest()).digest()
    if int.from_bytes(digest, "little") > _target(int.from_bytes(raw[72:76], "little")):
        raise WitnessFault(
            "the Bitcoin block header lacks the work that it claims: it was altered or made up"
        )
    time = datetime.fromtimestamp(int.from_bytes(raw[68:72], "little"), UTC)
    return Header(digest[::-1].hex(), raw[36:68], time)


def _target(bits: int) -> int:
    """Return the number that a block's hash may not exceed, from its compact form."""
    exponent, mantissa = bits >> 24, bits & 0x7FFFFF
    target = mantissa << (8 * (exponent - 3)) if exponent >= 3 else mantissa >> (8 * (3 - exponent))
    return target if exponent <= 32 and not bits & 0x800000 and 0 < target <= MAX_TARGET else -1
