"""What the plan's mapping leaves open in a file, counted by the line that would decide it."""

from __future__ import annotations

from typing import Any

from service.domain.faults import SHOWN
from service.errors import Fault, InvalidData
from service.ingest.documents.limits import printable


class OpenLines:
    """Faults of samples, each by the line of the mapping to write, its first place, and how many there are."""

    def __init__(self) -> None:
        self._faults: dict[tuple[str, str, str], list[Any]] = {}

    def add(self, line: str, message: str, fix: str, where: str) -> None:
        """Add one more sample with this fault."""
        counted = self._faults.setdefault((line, message, fix), [0, where])
        counted[0] += 1

    def refuse(self) -> None:
        """Refuse the file where there is any.

        Raises:
            InvalidData: `import_unmapped`, with the first faults.
        """
        if not self._faults:
            return
        faults = [
            Fault(
                line,
                f"{count} samples {message}" + (f"; the first is {printable(where)}" if where else ""),
                fix,
            )
            for (line, message, fix), (count, where) in list(self._faults.items())[:SHOWN]
        ]
        first = faults[0]
        raise InvalidData(f"{first.path}: {first.message}; {first.fix}", faults, code="import_unmapped")
