from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

NOON = datetime(2027, 1, 4, 12, tzinfo=UTC)


class Clock:
    """Two clocks that move when told; both begin at noon."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return NOON + timedelta(seconds=self.seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()
