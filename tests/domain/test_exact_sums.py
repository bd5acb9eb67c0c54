"""Sums without rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.exact_sums import exact_sum

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
TIDY = st.builds(lambda number, places: number / 10**places, st.integers(-(10**9), 10**9), st.integers(0, 7))


@given(st.lists(FLOATS, max_size=12) | st.lists(TIDY, max_size=12) | st.lists(FLOATS | TIDY, max_size=12))
def test_by_definition(values):
    expected = sum((Fraction(repr(value)) for value in values), Fraction(0))
    assert exact_sum(np.asarray(values, dtype=np.float64)) == expected


@pytest.mark.parametrize(
    "values",
    [
        [0.1, 0.2, 0.3],
        [-0.0],
        [1e15, 0.1],
        [999999999999999.0, -0.5],
        [9007199254740993.0, 1.0],
        [5e-324, 1e308],
        [123456789012345.6],
        [0.1 + 0.2],
    ],
)
def test_hard_values(values):
    assert exact_sum(np.asarray(values)) == sum((Fraction(repr(value)) for value in values), Fraction(0))


def test_large_sums_of_integers_do_not_overflow():
    assert exact_sum(np.full((1000, 100), 9.99e14)) == Fraction(999 * 10**12 * 100_000)
    assert exact_sum(np.full(100_000, -1e-15 * 7)) == Fraction(-7 * 100_000, 10**15)
