"""Times on a page: for machines, and for people."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class TimeView:
    """Something that happened, and when."""

    what: str
    iso: str
    text: str


def time_view(what: str, when: datetime) -> TimeView:
    """Return a time as ISO 8601 says it, and to the second with its zone."""
    return TimeView(what, when.isoformat(), f"{when:%Y-%m-%d %H:%M:%S %Z}")
