"""Numbers in sentences as people set them: 2.4 × 10⁻⁵ for 2.4e-05, and a minus for the hyphen of a machine."""

from __future__ import annotations

import re

_POWER = re.compile(r"(?<![A-Za-z0-9_.=-])([+−-]?\d+(?:\.\d+)?)e([+-]\d+)(?![A-Za-z0-9_])|`[^`]*`")
"""A number with an exponent, no part of a name, an id or an address; or a piece of code, which stays as it is."""
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MINUS = re.compile(r"(?<![\w.,+−/=-])-(?=\.?\d)")
"""A hyphen before a number; within a name, a date or a range it stays one."""


def raise_powers(text: str) -> str:
    """The text with its exponents as powers of ten.

    Example:
        `raise_powers("p = 2.4e-05")` is `p = 2.4 × 10⁻⁵`; a line ends before the sign, if it has to, and not behind it.
    """
    return _POWER.sub(
        lambda number: (
            f"{number[1]} ×\u00a010{str(int(number[2])).translate(_RAISED)}" if number[1] else number[0]
        ),
        text,
    )


def set_minus(text: str) -> str:
    """The text with a minus before its negative numbers.

    Example:
        `set_minus("-2.00 pp of gpt-4")` is `−2.00 pp of gpt-4`.
    """
    return _MINUS.sub("−", text)


def prints_powers(encoding: str | None) -> bool:
    """Whether an encoding has the signs that powers of ten are written with."""
    try:
        "×\u00a0⁻⁰¹²³⁴⁵⁶⁷⁸⁹".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
