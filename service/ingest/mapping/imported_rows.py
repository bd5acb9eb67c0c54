"""What was read of one import: rows of every arm and endpoint as columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Rows:
    """Rows of one arm and endpoint as columns of one length. Its repr tells no outcome."""

    arm: str
    endpoint: str
    item_ids: list[str] = field(default_factory=list, repr=False)
    replicates: list[int] = field(default_factory=list, repr=False)
    clusters: list[str | None] = field(default_factory=list, repr=False)
    values: list[float] = field(default_factory=list, repr=False)
    statuses: bytearray = field(default_factory=bytearray, repr=False)
    where: list[str] = field(default_factory=list, repr=False)
    orders: list[int] = field(default_factory=list, repr=False)
    place: int = 0
    """Where the run's configuration has the arm, among others, so far as the file says it."""
    times: list[int] = field(default_factory=list, repr=False)
    """Microseconds since 1970, `NO_TIME` where there is none; empty where the plan reads none."""
    contents: list[tuple[str | None, str | None]] = field(default_factory=list, repr=False)
    """What tells each item's content, and the first words of its input; empty where nobody asked."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What was read of one import. The counts are outcomes, and sealed like them."""

    rows: tuple[Rows, ...] = field(repr=False)
    events: Mapping[str, int] = field(repr=False)
    """How many samples had what beside their score, or instead of one."""
    statuses: Mapping[str, int] = field(repr=False)
    card_differs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By arm the fields of its card of which the file says something else. No outcome."""
