"""Very small and very large numbers as people write them: 2.4 × 10⁻⁵, where a machine writes 2.4e-05."""

from __future__ import annotations

import re

from markupsafe import Markup

from service.reports.quoting import marked_up, pieces

_POWER = re.compile(r"(?<![A-Za-z0-9_.-])([+−-]?\d+(?:\.\d+)?)e([+-]\d+)(?![A-Za-z0-9_])")
"""A number with an exponent; no part of a name, an id or an address is one."""
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def raise_powers(text: str) -> str:
    """The text with its exponents as powers of ten.

    Example:
        `raise_powers("p = 2.4e-05")` is `p = 2.4 × 10⁻⁵`; a line ends before the sign, if it has to, and not behind it.
    """
    return _POWER.sub(lambda number: f"{number[1]} ×\u00a010{str(int(number[2])).translate(_RAISED)}", text)


def marked_up_with_powers(text: str) -> Markup:
    """A sentence of ours as HTML: what it quotes stays as it is written, its other numbers are powers of ten."""
    return Markup("").join(
        marked_up(f"`{part}`") if is_code else Markup("{}").format(raise_powers(part))
        for part, is_code in pieces(text)
    )
