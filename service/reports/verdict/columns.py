"""Which columns of a report's tables hold words: all others hold numbers, and stand to the right with their heads."""

from __future__ import annotations

from typing import Literal

Table = Literal["statistics", "tests", "intervals", "clauses", "tasks", "slices"]

_WORDS: dict[Table, tuple[int, ...]] = {
    "statistics": (0,),
    "tests": (0, 3, 4),  # a p stands with its side
    "intervals": (0, 2),
    "clauses": (0, 3),
    "tasks": (0, -1),
    "slices": (0, -1),
}
"""By place, from 0 on, or from the end."""


def numbers_in(table: Table, width: int) -> list[bool]:
    """Tell by column of a table so wide whether it holds numbers.

    Example:
        `numbers_in("slices", 7)` is `[False, True, True, True, True, True, False]`.
    """
    words = {place % width for place in _WORDS[table]}
    return [place not in words for place in range(width)]
