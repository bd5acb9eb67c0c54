"""What a comparison of databases saw: its calls, and those that were answered in two ways."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tests.chaos.ending import by_status


@dataclass
class Difference:
    """One call that was answered in two ways."""

    call: int
    operation: str
    sent: str
    one: str
    other: str

    def __str__(self) -> str:
        at = next((i for i, (a, b) in enumerate(zip(self.one, self.other, strict=False)) if a != b), 0)
        near = slice(max(0, at - 150), at + 150)
        return (
            f"call {self.call}, {self.operation} {self.sent[:400]}\n"
            f"    {self.one[near]!r}\n    {self.other[near]!r}"
        )


@dataclass
class Found:
    """What a comparison saw."""

    database: str
    calls: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    operations: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.database}: {self.calls} calls to {len(self.operations)} operations in {self.seconds:.0f} s "
            f"({by_status(self.statuses)}); {len(self.differences)} differences"
        )
