"""Rows as a bundle holds them: one block per batch, whose SHA-256 is the commitment that the ledger has.

A block is the batch's salt (16 bytes), then its columns one after the other, little endian: positions in the manifest
(int32), replicates (uint16, from 1), values (float64, NaN where there is none), statuses (uint8: 0 ok, 1 error,
2 missing) and times (int64, microseconds since 1970 UTC; the least number where there is none).
"""

from __future__ import annotations

import hashlib
import re
import sys
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from forelock.bundles.container import Reader
from forelock.bundles.faults import Broken

ROWS = "rows.bin"
SALT_BYTES = 16
PUBLIC_BYTES, SECRET_BYTES = 6, 17
SHA256 = re.compile(r"[0-9a-f]{64}")
MAX_ROWS = 1_000_000
"""Of one batch, as many as a service takes."""
MAX_BATCHES = 2_000_000
MAX_NAMES = 1 << 22
"""Characters of all names of populations, arms, endpoints and runs that batches are of."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What the ledger says of a batch."""

    sequence: int
    population: str
    arm: str
    endpoint: str
    run: str | None
    n: int
    commitment_sha256: str

    @classmethod
    def of(cls, body: dict[str, Any], where: str) -> Batch:
        """Return the batch of an entry's body.

        Raises:
            Broken: a member is absent or of another type.
        """
        names = ("population", "arm", "endpoint", "commitment_sha256")
        texts = {name: body.get(name) for name in names}
        sequence, n, run = body.get("batch"), body.get("n"), body.get("run")
        counts = type(sequence) is int and type(n) is int and 0 < n <= MAX_ROWS
        if not counts or not all(isinstance(text, str) for text in texts.values()):
            raise Broken(f"{where} does not describe a batch")
        if run is not None and not isinstance(run, str):
            raise Broken(f"{where} does not describe a batch")
        return cls(sequence=sequence, run=run, n=n, **texts)  # type: ignore[arg-type]

    @property
    def size(self) -> int:
        """How many bytes its block has."""
        return SALT_BYTES + self.n * (PUBLIC_BYTES + SECRET_BYTES)


class Batches:
    """What the ledger says of many batches, in columns: about 60 bytes for each of them, and their names once."""

    def __init__(self) -> None:
        self._index, self._n, self._of = array("q"), array("l"), array("l")
        self._commitments = bytearray()
        self._named: dict[tuple[str, str, str, str | None], int] = {}
        self._names: list[tuple[str, str, str, str | None]] = []
        self._characters = 0

    def __len__(self) -> int:
        return len(self._index)

    def append(self, index: int, batch: Batch) -> None:
        """Add the next batch, whose entry stands at an index of the log.

        Raises:
            Broken: there are more, or longer names, than a bundle can show; or a commitment that is no SHA-256.
        """
        names = batch.population, batch.arm, batch.endpoint, batch.run
        if names not in self._named:
            self._characters += sum(len(name or "") for name in names) + len(names) * 20
            self._named[names] = len(self._names)
            self._names.append(names)
        if len(self) == MAX_BATCHES or self._characters > MAX_NAMES:
            raise Broken("the record has more batches, or longer names, than a bundle can show")
        if not SHA256.fullmatch(batch.commitment_sha256):
            raise Broken(f"batch {batch.sequence} is committed to what is no hash")
        self._index.append(index)
        self._n.append(batch.n)
        self._of.append(self._named[names])
        self._commitments += bytes.fromhex(batch.commitment_sha256)

    def __getitem__(self, place: int) -> tuple[int, Batch]:
        """The index of an entry, and its batch."""
        population, arm, endpoint, run = self._names[self._of[place]]
        hashed = self._commitments[32 * place : 32 * place + 32].hex()
        return self._index[place], Batch(place + 1, population, arm, endpoint, run, self._n[place], hashed)

    def __iter__(self) -> Iterator[tuple[int, Batch]]:
        return (self[place] for place in range(len(self)))


@dataclass(frozen=True, slots=True)
class OpenBatch:
    """A batch with its rows. Its repr tells no outcome."""

    facts: Batch
    block: bytes = field(repr=False)

    @property
    def positions(self) -> memoryview[int]:
        """The position of every row's item in the manifest, from 0; shape (n,)."""
        return memoryview(_native("i", self._bytes(0, 4)))

    @property
    def replicates(self) -> memoryview[int]:
        """The replicate of every row, from 1; shape (n,)."""
        return memoryview(_native("H", self._bytes(4, 2)))

    @property
    def values(self) -> bytes:
        """The values of the rows, as float64 of little endian."""
        return bytes(self._bytes(6, 8))

    @property
    def statuses(self) -> bytes:
        """The statuses of the rows, as uint8."""
        return bytes(self._bytes(14, 1))

    @property
    def times(self) -> bytes:
        """The times of the rows, as int64 of little endian."""
        return bytes(self._bytes(15, 8))

    def matches_commitment(self) -> bool:
        """Tell whether the block is what the ledger has the hash of."""
        return hashlib.sha256(self.block).hexdigest() == self.facts.commitment_sha256

    def _bytes(self, before: int, width: int) -> memoryview[int]:
        start = SALT_BYTES + before * self.facts.n
        return memoryview(self.block)[start : start + width * self.facts.n]


def _native(code: Literal["i", "H"], column: memoryview[int]) -> array[int]:
    """Little-endian integers as this machine counts."""
    values = array(code, column.tobytes())
    if sys.byteorder == "big":
        values.byteswap()
    return values


class Blocks:
    """Takes blocks off the rows of a bundle, in the order of the batches."""

    def __init__(self, reader: Reader) -> None:
        self._pieces: Iterator[bytes] = reader.pieces(ROWS)
        self._piece, self._at = b"", 0

    def take(self, batch: Batch) -> OpenBatch:
        """Return the next batch with its rows, read from the bundle.

        Raises:
            Broken: the rows end before it does.
        """
        block = bytearray()
        while len(block) < batch.size:
            if self._at == len(self._piece):
                self._piece, self._at = next(self._pieces, b""), 0
                if not self._piece:
                    raise Broken(f"{ROWS} ends before batch {batch.sequence} does")
            part = self._piece[self._at : self._at + batch.size - len(block)]
            block += part
            self._at += len(part)
        return OpenBatch(batch, bytes(block))

    def end(self) -> None:
        """Refuse rows that belong to no batch.

        Raises:
            Broken: there are such rows.
        """
        if self._at < len(self._piece) or next(self._pieces, None) is not None:
            raise Broken(f"{ROWS} holds rows that belong to no batch")
