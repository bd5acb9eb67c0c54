"""Results as an eval job holds them: columns of one arm and endpoint, cut into batches for the wire.

The size of a batch on the wire tells nothing about its outcomes: values and statuses are padded to one
width and stay uncompressed inside the gzip stream; only what is public is compressed.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal

from forelock.problem import FileFault

Value = float | int | None
OnDuplicate = Literal["refuse", "skip"]
"""What the service does with results that it has: refuse the batch, or leave them out of it."""

VALUE_WIDTH = 24  # `-1.2345678901234567e-100`
STATUS_WIDTH = 9  # `"missing"`
STORED_BLOCK = 0xFFFF


@dataclass(frozen=True, slots=True)
class Results:
    """What one arm scored on one endpoint, item by item. Columns have one entry per item."""

    arm: str
    endpoint: str
    item_ids: Sequence[str]
    values: Sequence[Value]
    population: str | None = None
    run: str | None = None
    replicates: Sequence[int] | None = None
    observed_at: Sequence[str] | None = None
    status: Sequence[str] | None = None

    def __post_init__(self) -> None:
        for name, column in self._columns():
            if len(column) != len(self.item_ids):
                raise FileFault(f"{name} has {len(column)} entries where item_ids has {len(self.item_ids)}")
        if not all(value is None or math.isfinite(value) for value in self.values):
            raise FileFault("values holds numbers that are not finite; send null with a status instead")

    def __len__(self) -> int:
        return len(self.item_ids)

    def batches(self, size: int) -> Iterator[Results]:
        """Yield the same results in pieces of at most `size` items, in order."""
        if size < 1:
            raise ValueError("a batch holds at least one item")
        for start in range(0, len(self), size):
            piece = {name: column[start : start + size] for name, column in self._columns()}
            yield replace(self, **piece)  # type: ignore[arg-type]

    def public(self, on_duplicate: OnDuplicate = "refuse") -> bytes:
        """Return the JSON body up to the first secret column."""
        secret = ("values", "status")
        members = {} if on_duplicate == "refuse" else {"on_duplicate": on_duplicate}
        members |= {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in secret and getattr(self, field.name) is not None
        }
        listed = {name: value if isinstance(value, str) else list(value) for name, value in members.items()}
        return json.dumps(listed, separators=(",", ":"))[:-1].encode()

    def secret(self) -> bytes:
        """Return the rest of the JSON body: values and statuses, every entry padded to one width."""
        texts = ["null" if value is None else repr(float(value)) for value in self.values]
        text = f',"values":[{_pad(texts, VALUE_WIDTH)}]'
        if self.status is not None:
            text += f',"status":[{_pad([json.dumps(s) for s in self.status], STATUS_WIDTH)}]'
        return (text + "}").encode()

    def body(self, on_duplicate: OnDuplicate = "refuse") -> bytes:
        """Return the request body, as a gzip stream."""
        return gzip_hiding(self.public(on_duplicate), self.secret())

    def _columns(self) -> Iterator[tuple[str, Sequence[object]]]:
        for name in ("item_ids", "values", "replicates", "observed_at", "status"):
            column = getattr(self, name)
            if column is not None:
                yield name, column


def _pad(texts: Sequence[str], width: int) -> str:
    return ",".join(text.ljust(width) for text in texts)


def gzip_hiding(public: bytes, secret: bytes) -> bytes:
    """One gzip member (RFC 1952): `public` deflated, `secret` in stored blocks: only its length shows."""
    deflate = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflate.compress(public) + deflate.flush(zlib.Z_FULL_FLUSH)
    for start in range(0, len(secret), STORED_BLOCK):
        piece = secret[start : start + STORED_BLOCK]
        body += struct.pack("<BHH", 0, len(piece), len(piece) ^ 0xFFFF) + piece
    body += struct.pack("<BHH", 1, 0, 0xFFFF)
    header = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    whole = zlib.crc32(secret, zlib.crc32(public))
    return header + body + struct.pack("<II", whole, (len(public) + len(secret)) & 0xFFFFFFFF)
