"""Numbers and base64 with one spelling each: what could be written in two ways is refused."""

from __future__ import annotations

import base64
import binascii

from forelock.transparency.faults import Malformed

MAX_SIZE = 2**63 - 1
"""Largest tree size, as in Go's implementations, which count in int64."""
_DIGITS = len(str(MAX_SIZE))


def decimal(text: str, what: str) -> int:
    """Return a count in ASCII digits, without sign, space or leading zero, up to `MAX_SIZE`.

    Raises:
        Malformed: anything else.

    Example:
        >>> decimal("20852163", "the tree size")
        20852163
    """
    plain = text.isascii() and text.isdigit() and len(text) <= _DIGITS
    if not plain or (text[0] == "0" and text != "0") or int(text) > MAX_SIZE:
        raise Malformed(f"{what} is not a number in plain digits up to 2^63 - 1")
    return int(text)


def base64_bytes(text: str, what: str, *, length: int | None = None) -> bytes:
    """Return the bytes of standard base64 (RFC 4648 section 4), which has to be the text that encoding them gives.

    Raises:
        Malformed: another alphabet, missing padding, bits left over, or another length than asked for.

    Example:
        >>> base64_bytes("AQI=", "the root")
        b'\\x01\\x02'
    """
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error):
        raise Malformed(f"{what} is not base64") from None
    if base64.b64encode(data).decode() != text:
        raise Malformed(f"{what} is not base64 in its one spelling")
    if length is not None and len(data) != length:
        raise Malformed(f"{what} has {len(data)} bytes, not {length}")
    return data


def base64_text(data: bytes) -> str:
    """Standard base64 (RFC 4648 section 4) of some bytes: the one text that `base64_bytes` reads as these."""
    return base64.b64encode(data).decode()
