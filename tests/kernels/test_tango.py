"""Tango's interval of many tables at once against the same interval of one table at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.kernels.pairs import tango

tables = st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(0, 400)).filter(any)


@settings(deadline=None, max_examples=60)
@given(st.lists(tables, min_size=1, max_size=30), st.sampled_from([0.5, 1.645, 1.96, 3.5]))
def test_many_tango_intervals_are_the_single_ones(cells, z):
    b, c, same = np.array(cells, dtype=float).T
    low, high = tango.intervals(b, c, b + c + same, z)
    for index, (wins, losses, rest) in enumerate(cells):
        expected = tango.interval(wins, losses, wins + losses + rest, z)
        assert (low[index], high[index]) == expected


def test_tango_of_huge_counts():
    cells = [(1, 0, 10**9), (0, 0, 10**9), (4 * 10**8, 10**8, 10**9), (10**9, 0, 10**9)]
    b, c, n = np.array(cells, dtype=float).T
    low, high = tango.intervals(b, c, n, 1.96)
    for index, cell in enumerate(cells):
        assert (low[index], high[index]) == tango.interval(*cell, 1.96)


def test_golden_tango():
    low, high = tango.intervals(np.array([40.0]), np.array([20.0]), np.array([160.0]), 1.959963984540054)
    assert (low[0], high[0]) == pytest.approx((0.030865, 0.218064), abs=5e-7)
