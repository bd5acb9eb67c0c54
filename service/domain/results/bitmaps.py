"""Which items of a cell are in: a bit per manifest position, least significant first.

Nothing here knows an outcome: whether positions are free depends on which were received, never on what was.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from service.domain.faults import list_ids
from service.errors import Conflict, Fault


class Filled:
    """The items of one cell, while batches come in. Made of a bitmap, and becomes one again."""

    def __init__(self, bitmap: bytes | bytearray) -> None:
        self._bytes = np.frombuffer(bitmap, dtype=np.uint8).copy()
        self.changed = False

    @classmethod
    def empty(cls, n_items: int) -> Filled:
        """Return a bitmap in which no item is marked."""
        return cls(bytes((n_items + 7) // 8))

    @property
    def received(self) -> int:
        """How many items are in."""
        return int(np.bitwise_count(self._bytes).sum(dtype=np.int64))

    def holds(self, positions: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Tell which of the positions are in."""
        return np.asarray((self._bytes[positions >> 3] & _bit(positions)) != 0)

    def require_free(self, positions: NDArray[np.int32], item_ids: Sequence[str]) -> None:
        """Refuse positions that are in already.

        A repeat with the same value and one with another value read the same.

        Raises:
            Conflict: `duplicate_results`.
        """
        taken = positions[self.holds(positions)]
        if len(taken):
            ids = list_ids((item_ids[position] for position in taken), len(taken))
            raise Conflict(
                f"{len(taken)} of the items already have a result: {ids}",
                [Fault("item_id", "already has a result", "post every item once; void a wrong batch first")],
                code="duplicate_results",
            )

    def add(self, positions: NDArray[np.int32]) -> None:
        """Mark positions as received; ask `require_free` first."""
        self._write(positions, 1)

    def release(self, positions: NDArray[np.int32]) -> None:
        """Free the positions of a voided batch."""
        self._write(positions, 0)

    def _write(self, positions: NDArray[np.int32], bit: int) -> None:
        """Set the bit of each of these manifest positions to `bit`, 0 or 1."""
        if len(positions) >= len(self._bytes):  # so many that all of them unpacked are written faster
            bits = np.unpackbits(self._bytes, bitorder="little")
            bits[positions] = bit
            self._bytes = np.packbits(bits, bitorder="little")
        elif bit:
            np.bitwise_or.at(self._bytes, positions >> 3, _bit(positions))
        else:
            np.bitwise_and.at(self._bytes, positions >> 3, ~_bit(positions))
        self.changed = True

    def bitmap(self) -> bytes:
        """Return the bitmap as the store keeps it."""
        return self._bytes.tobytes()


def _bit(positions: NDArray[np.int32]) -> NDArray[np.uint8]:
    """Return the bit of each position in its byte."""
    return np.left_shift(np.uint8(1), (positions & 7).astype(np.uint8))
