"""The bitmap of what is in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.domain.results.bitmaps import Filled
from service.errors import Conflict

IDS = [f"q{i}" for i in range(50)]


def positions(*numbers):
    return np.array(numbers, dtype=np.int32)


@settings(deadline=None)
@given(st.lists(st.sets(st.integers(0, 49), min_size=1), max_size=6))
def test_a_bitmap_is_the_set_of_added_positions(batches):
    filled, taken = Filled.empty(50), set()
    for batch in batches:
        column, before = positions(*sorted(batch)), filled.bitmap()
        if batch & taken:
            with pytest.raises(Conflict) as caught:
                filled.require_free(column, IDS)
            assert caught.value.problem_code == "duplicate_results"
            assert filled.bitmap() == before
            continue
        filled.require_free(column, IDS)
        filled.add(column)
        taken |= batch
        assert filled.received == len(taken)
        filled = Filled(filled.bitmap())
    bitmap = filled.bitmap()
    assert {i for i in range(50) if bitmap[i >> 3] >> (i & 7) & 1} == taken


def test_a_conflict_names_the_items_that_are_in():
    filled = Filled.empty(50)
    filled.add(np.arange(30, dtype=np.int32))
    with pytest.raises(Conflict) as caught:
        filled.require_free(np.arange(28, 32, dtype=np.int32), IDS)
    assert caught.value.detail == "2 of the items already have a result: 'q28', 'q29'"
    with pytest.raises(Conflict, match="'q19' and 10 more"):
        filled.require_free(np.arange(30, dtype=np.int32), IDS)


def test_released_positions_are_free_again():
    filled = Filled.empty(50)
    filled.add(positions(1, 49))
    filled.release(positions(49))
    assert filled.received == 1
    filled.require_free(positions(49, 0), IDS)
    filled.add(positions(49, 0))
    assert filled.received == 3


def test_bitmaps_take_a_bit_per_item():
    assert [len(Filled.empty(n).bitmap()) for n in (0, 1, 8, 9, 1_000_000)] == [0, 1, 1, 2, 125_000]


def test_only_what_was_written_to_has_changed():
    filled = Filled.empty(8)
    filled.require_free(positions(3), IDS)
    assert not filled.changed
    filled.add(positions(3))
    assert filled.changed
