"""Gathers the faults of a body: every fault is counted, the first twenty are named."""

from __future__ import annotations

from collections.abc import Iterable

from service.errors import Fault, InvalidData

SHOWN = 20
"""Faults, and ids, that one answer names."""


class Faults:
    """Faults found so far. A fault names a field and a row, and never a value."""

    def __init__(self) -> None:
        self.total = 0
        self._shown: list[Fault] = []

    def add(self, path: str, message: str, fix: str) -> None:
        """Note one fault of a field."""
        self.total += 1
        if len(self._shown) < SHOWN:
            self._shown.append(Fault(path, message, fix))

    def row(self, path: str, index: int, message: str, fix: str) -> None:
        """Note one fault of a field in the row of that index; people count rows from 1."""
        self.add(path, f"row {index + 1} {message}", fix)

    def rows(self, path: str, indices: Iterable[int], message: str, fix: str) -> None:
        """Note the same fault in several rows."""
        for index in indices:
            self.row(path, index, message, fix)

    def raise_if_any(self) -> None:
        """Raise InvalidData when a fault was found."""
        if not self.total:
            return
        first = self._shown[0]
        sentence = f"{first.path}: {first.message}" if first.path else first.message
        if self.total > 1:
            more = f", the first {SHOWN} are listed" if self.total > SHOWN else ""
            sentence = f"{self.total} faults{more}; the first: {sentence}"
        raise InvalidData(sentence, self._shown)


def list_ids(ids: Iterable[str], total: int) -> str:
    """List up to twenty of `total` ids in quotes, and how many more there are."""
    names = ", ".join(f"'{item_id}'" for _, item_id in zip(range(SHOWN), ids, strict=False))
    return names if total <= SHOWN else f"{names} and {total - SHOWN} more"
