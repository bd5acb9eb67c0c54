"""The columns of a batch that hold outcomes, and the bytes that are sealed of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from service.errors import ForelockError

ROW_BYTES = 17  # value 8, status 1, observed_at 8
NO_TIME = int(np.iinfo(np.int64).min)
"""In `observed_at`: this row has no time."""


class SealBroken(ForelockError):
    """Sealed bytes do not open: another key, another place, or changed bytes."""

    code, title = "seal_broken", "Sealed rows cannot be opened"


@dataclass(frozen=True, slots=True, eq=False)
class SecretRows:
    """The columns of a batch that hold outcomes, each of shape (n,). Its repr tells none.

    `values` is NaN where there is none, `statuses` 0 ok, 1 error, 2 missing, `observed_at`
    microseconds since 1970 UTC or `NO_TIME`; `None` when no row has a time.
    """

    values: NDArray[np.float64] = field(repr=False)
    statuses: NDArray[np.uint8] = field(repr=False)
    observed_at: NDArray[np.int64] | None = field(default=None, repr=False)

    def where(self, chosen: NDArray[np.bool_]) -> SecretRows:
        """Return the rows that a mask of shape (n,) chooses."""
        times = None if self.observed_at is None else self.observed_at[chosen]
        return SecretRows(self.values[chosen], self.statuses[chosen], times)

    def to_bytes(self) -> bytes:
        """Write fixed width, one column after the other, little endian: the length tells the row count only."""
        return bytes(self.with_salt(b""))

    def with_salt(self, salt: bytes) -> bytearray:
        """Return the salt and then the columns of `to_bytes`: what is sealed, written once, where it is sealed from."""
        n = len(self.values)
        if len(self.statuses) != n or (self.observed_at is not None and len(self.observed_at) != n):
            raise ValueError("the secret columns of a batch differ in length")
        sealed = bytearray(len(salt) + n * ROW_BYTES)
        sealed[: len(salt)] = salt
        values = np.frombuffer(sealed, "<f8", n, len(salt))
        values[:] = self.values
        values[np.isnan(values)] = np.nan  # one NaN, without a payload
        np.frombuffer(sealed, "u1", n, len(salt) + 8 * n)[:] = self.statuses
        times = np.frombuffer(sealed, "<i8", n, len(salt) + 9 * n)
        # The column is always there, so that the length does not tell whether rows have times.
        times[:] = NO_TIME if self.observed_at is None else self.observed_at
        return sealed

    @classmethod
    def from_bytes(cls, data: bytes) -> SecretRows:
        """Read what `to_bytes` wrote: column after column, so that one block has n values, n statuses, n times.

        Raises:
            SealBroken: the block is not a whole number of rows.
        """
        n, rest = divmod(len(data), ROW_BYTES)
        if rest:
            raise SealBroken("the opened block is not a whole number of rows")
        times = np.frombuffer(data, "<i8", n, 9 * n).astype(np.int64)
        return cls(
            values=np.frombuffer(data, "<f8", n).astype(np.float64),
            statuses=np.frombuffer(data, "u1", n, 8 * n).astype(np.uint8),
            observed_at=None if bool(np.all(times == NO_TIME)) else times,
        )
