"""Numbers as people set them: 2.4 × 10⁻⁵ for 2.4e-05, 0.5 for .5, and none torn from what it belongs to."""

from __future__ import annotations

import re

from markupsafe import Markup

from service.reports.quoting import mark_up, pieces

_POWER = re.compile(r"(?<![A-Za-z0-9_.-])([+−-]?\d+(?:\.\d+)?)e([+-]\d+)(?![A-Za-z0-9_])")
"""A number with an exponent; no part of a name, an id or an address is one."""
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MINUS = re.compile(r"(?<![\w.,+−/=-])-(?=\.?\d)")
"""A hyphen before a number; within a name, a date or a range it stays one."""
_POINT = re.compile(r"(?<![\w.])\.(?=\d)")
"""The point of a number that begins with it."""
_NAMES = {"obrien fleming": "O’Brien-Fleming", "pocock spending": "Pocock spending"}
"""People whom sentences of tests write in small letters, by their codes: stored sentences keep that."""
_TOGETHER = re.compile(r" (±) |(?<=\d) (?=pp\b)|(?<![\w`])([a-zA-Z]{1,2}|alpha) ([=<>≤≥]) (?=[\d.<+−-])")
"""Blanks where no line may end: about a sign, before a unit, and between a letter and its number."""


def raise_powers(text: str) -> str:
    """The text with its exponents as powers of ten.

    Example:
        `raise_powers("p = 2.4e-05")` is `p = 2.4 × 10⁻⁵`; a line ends before the sign, if it has to, and not behind it.
    """
    return _POWER.sub(lambda number: f"{number[1]} ×\u00a010{str(int(number[2])).translate(_RAISED)}", text)


def set_numbers(text: str) -> str:
    """The text with its numbers as people set them.

    Example:
        `set_numbers("-.5 pp ± 1 pp, n = 21")` is `−0.5 pp ± 1 pp, n = 21` with no-break blanks in it.
    """
    with_zero = _POINT.sub("0.", _MINUS.sub("−", raise_powers(text)))
    for code, name in _NAMES.items():
        with_zero = with_zero.replace(code, name)
    return _TOGETHER.sub(lambda blank: blank[0].replace(" ", "\u00a0"), with_zero)


def mark_up_with_numbers(text: str) -> Markup:
    """A sentence of ours as HTML: what it quotes stays as written, its other numbers as people set them."""
    return Markup("").join(
        mark_up(f"`{part}`") if is_code else Markup("{}").format(set_numbers(part))
        for part, is_code in pieces(text)
    )
