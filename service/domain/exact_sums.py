"""Sums of floats as the decimals they print as, without rounding."""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

MAX_DIGITS = 15
"""A double holds every decimal of that many digits apart from its neighbours."""


def exact_sum(values: NDArray[np.float64]) -> Fraction:
    """Return the sum of the decimals that `repr` prints for each value, exactly. Values are finite, any shape.

    A million values with at most 15 digits take some 20 ms, others about a second.
    """
    flat = np.ravel(values)
    total = _scaled_sum(flat)
    return _decimal_sum(flat) if total is None else total


def _scaled_sum(values: NDArray[np.float64]) -> Fraction | None:
    """Return the sum when all values are whole multiples of one power of ten, otherwise None.

    m / 10^k is correctly rounded and m has at most 15 digits, so equality with the value
    means that the value's shortest decimal is m / 10^k itself.
    """
    largest = float(np.abs(values).max(initial=0.0))
    for digits in range(MAX_DIGITS + 1):
        scale = 10.0**digits
        if largest * scale >= 10.0**MAX_DIGITS:
            return None
        whole = np.rint(values * scale)
        if np.array_equal(whole / scale, values):
            integers = whole.astype(np.int64)
            high, low = int((integers >> 24).sum()), int((integers & 0xFFFFFF).sum())
            return Fraction((high << 24) + low, 10**digits)
    return None


def _decimal_sum(values: NDArray[np.float64]) -> Fraction:
    context = Context(prec=2000, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])
    total = Decimal(0)
    for text in map(repr, values.tolist()):
        total = context.add(total, Decimal(text))
    return Fraction(total)
