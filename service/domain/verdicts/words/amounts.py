"""A difference with its unit, as a message: the digits are those that keep it on its side of every threshold."""

from __future__ import annotations

import math

from service.domain.verdicts.words.facts import Facts
from service.domain.verdicts.words.numbers import points, score
from service.words import Value, message


def amount(value: float | None, facts: Facts) -> Value:
    """A difference on the side of 0 and of every threshold on which it lies."""
    if value is None:
        return message("verdicts.undefined_end")
    if math.isinf(value):
        return message("verdicts.infinity" if value > 0 else "verdicts.minus_infinity")
    return difference(value, *facts.apart, binary=facts.binary)


def difference(value: float, *apart: float, binary: bool, signed: bool = True) -> Value:
    """A difference in percentage points, or in score units; an unsigned one is a size."""
    digits = points(value, *apart) if binary else score(value, *apart)
    digits = digits if signed else digits.lstrip("+")
    return message("verdicts.points", value=digits) if binary else digits


def both_ways(value: float, facts: Facts) -> Value:
    """A margin in both directions: `±2.00 pp`."""
    size = abs(value)
    unsigned = (
        amount(size, facts)
        if math.isinf(size)
        else difference(size, *facts.apart, binary=facts.binary, signed=False)
    )
    return message("verdicts.both_ways", amount=unsigned)
