"""The strip of a hypothesis: its places, its open ends, and when there is none."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.verdicts.words.headline import Figure
from service.web.preregistrations.strips import WIDTH, strip_of

numbers = st.floats(-1e6, 1e6)


def test_places_by_definition() -> None:
    """From -.02 to .02 with an eighth of a half at either edge: 600 units are .0464."""
    strip = strip_of(Figure(0.01, -0.02, 0.02, 0.0, 0.005))
    assert strip is not None
    unit = WIDTH / (0.04 * 1.16)
    assert (strip.low, strip.high) == (round(0.0032 * unit, 1), round(0.0432 * unit, 1))
    assert (strip.value, strip.against) == (round(0.0332 * unit, 1), 300.0)
    assert strip.band == (round(0.0182 * unit, 1), round(0.0282 * unit, 1))
    assert not strip.open_low
    assert not strip.open_high


@given(st.lists(numbers, min_size=4, max_size=4), st.none() | st.floats(0, 1e6))
def test_the_order_of_numbers_is_the_order_of_places(values: list[float], sesoi: float | None) -> None:
    low, value, high = sorted(values[:3])
    strip = strip_of(Figure(value, low, high, values[3], sesoi))
    if strip is None:
        assert max(*values, *(() if sesoi is None else (values[3] + sesoi,))) <= min(values)
        return
    assert 0 <= strip.low <= strip.value <= strip.high <= WIDTH
    places = sorted(
        zip((low, value, high, values[3]), (strip.low, strip.value, strip.high, strip.against), strict=True)
    )
    assert all(first <= second for (_, first), (_, second) in pairwise(places))


def test_an_open_end_reaches_the_edge() -> None:
    strip = strip_of(Figure(0.9, 0.85, None, 0.8, None))
    assert strip is not None
    assert (strip.high, strip.open_high, strip.open_low, strip.band) == (float(WIDTH), True, False, None)


@pytest.mark.parametrize(
    "figure", [None, Figure(0.1, None, None, 0.0, 0.02), Figure(0.0, 0.0, 0.0, 0.0, None)]
)
def test_nothing_is_drawn_without_an_interval(figure: Figure | None) -> None:
    assert strip_of(figure) is None
