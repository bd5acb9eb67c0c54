"""Numbers as tables write them, and as people do."""

from __future__ import annotations

import re
from collections.abc import Mapping

DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}([., '\u00a0\u2009\u202f][0-9]{3})+([.,][0-9]+)?")


def percent(text: str) -> float | None:
    """Return a number with a percent sign as the share that it is.

    Example:
        `percent("65 %")` is 0.65.
    """
    plain = text.strip()
    number = plain[:-1].strip() if plain.endswith("%") else ""
    return float(number) / 100 if DECIMAL.fullmatch(number) else None


def describe_mending(text: str) -> str | None:
    """Return what to do with a number that is written as people read it."""
    plain = text.strip()
    if _THOUSANDS.fullmatch(plain):
        return "write 1500 for 1,500 if its comma separates thousands, and 1.5 if it stands for the point"
    if DECIMAL.fullmatch(plain.replace(",", ".", 1)):
        return "write numbers with a point, and without spaces"
    return None


def numeric(values: Mapping[str, float | str]) -> dict[float, float | str]:
    """Return what numbers count as, by their value."""
    return {float(text): meaning for text, meaning in values.items() if DECIMAL.fullmatch(text)}
