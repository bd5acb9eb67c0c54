"""A small table of texts in a terminal: columns as wide as they have to be, or folded where all are too wide."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from forelock.folding import fold
from forelock.words import width_of

GAP = 2
"""Blanks between two columns."""
LEAST = 8
"""Columns of the terminal below which no column of a table is narrowed."""


def lay_out(rows: Sequence[Sequence[str]], width: int, indent: str) -> str:
    """Return rows of as many cells as lines of so many columns; the last of a row is not filled up.

    Example:
        >>> print(lay_out([("Goal", "Items"), ("no worse", "940")], 40, "  "))
          Goal      Items
          no worse  940
    """
    widths = [max(width_of(cell) for cell in column) for column in zip(*rows, strict=True)]
    room = width - width_of(indent) - GAP * (len(widths) - 1)
    while sum(widths) > room and max(widths) > LEAST:
        widths[widths.index(max(widths))] -= 1
    lines = []
    for row in rows:
        cells = [fold(cell, size, "", "").split("\n") for cell, size in zip(row, widths, strict=True)]
        for parts in zip_longest(*cells, fillvalue=""):
            filled = (part + " " * (size - width_of(part)) for part, size in zip(parts, widths, strict=True))
            lines.append((indent + (" " * GAP).join(filled)).rstrip())
    return "\n".join(lines)
