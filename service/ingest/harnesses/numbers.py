"""Numbers as tables write them, and as people do."""

from __future__ import annotations

import re
from collections.abc import Mapping

DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def mended(text: str) -> str | None:
    """What to do with a number that is written as people read it."""
    plain = text.strip()
    if plain.endswith("%") and DECIMAL.fullmatch(plain[:-1].strip()):
        return "write proportions or scores, without the percent sign"
    if DECIMAL.fullmatch(plain.replace(",", ".", 1)):
        return "write numbers with a point, and without spaces"
    return None


def numeric(values: Mapping[str, float | str]) -> dict[float, float | str]:
    """What numbers count as, by their value."""
    return {float(text): said for text, said in values.items() if DECIMAL.fullmatch(text)}
