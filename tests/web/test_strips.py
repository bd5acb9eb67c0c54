"""The strip of a hypothesis: its places, its open ends, and when there is none."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.verdicts.words.headline import Figure
from service.web.preregistrations.strips import WIDTH, Strip, strips_of, strips_of_record

numbers = st.floats(-1e6, 1e6)


def strip_of(figure: Figure | None) -> Strip | None:
    return strips_of([figure])[0]


def test_places_by_definition() -> None:
    """From -.02 to .02 with an eighth of a half at either edge: 100 units are .0464."""
    strip = strip_of(Figure(0.01, -0.02, 0.02, 0.0, 0.005))
    assert strip is not None
    unit = WIDTH / (0.04 * 1.16)
    assert (strip.low, strip.high) == (round(0.0032 * unit, 2), round(0.0432 * unit, 2))
    assert (strip.value, strip.against) == (round(0.0332 * unit, 2), 50.0)
    assert strip.band == (round(0.0182 * unit, 2), round(0.0282 * unit, 2))
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


def test_a_scale_has_round_numbers_and_names_its_unit_once() -> None:
    (points,) = strips_of([Figure(0.0082, -0.0329, 0.0494, 0.0, 0.02, "pp")])
    assert points is not None
    assert [tick.text for tick in points.ticks] == ["−2", "0", "+2", "+4 pp"]
    assert points.ticks[1].place == points.against
    (share,) = strips_of([Figure(0.85, 0.7647, 0.9135, 0.8, None, "%")])
    assert share is not None
    assert [tick.text for tick in share.ticks] == ["80", "85", "90%"]
    (score,) = strips_of([Figure(0.5, 0.25, 0.75, 0.0, None)])
    assert score is not None
    assert [tick.text for tick in score.ticks] == ["0", "+0.2", "+0.4", "+0.6"]


def test_both_ends_of_the_band_are_on_the_scale_and_no_number_touches_them() -> None:
    (strip,) = strips_of([Figure(0.0082, -0.0329, 0.0494, 0.0, 0.015, "pp")])
    assert strip is not None
    assert strip.band is not None
    assert [tick.text for tick in strip.ticks] == ["−1.5", "0", "+1.5", "+4 pp"]
    assert (strip.ticks[0].place, strip.ticks[2].place) == strip.band


def test_the_last_number_keeps_its_unit_clear_of_the_band_on_a_phone() -> None:
    (strip,) = strips_of([Figure(0.1778, 0.097, 0.2403, 0.0, 0.15, "pp")])
    assert strip is not None
    places = [tick.place for tick in strip.ticks]
    assert strip.ticks[-1].text == "+15 pp"  # +20 pp would touch it
    assert min(after - before for before, after in pairwise(places)) >= 12


@given(st.lists(numbers, min_size=3, max_size=3, unique=True), st.sampled_from(["pp", "%", ""]))
def test_ticks_lie_on_the_strip_in_order(values: list[float], unit: str) -> None:
    low, value, high = sorted(values)
    (strip,) = strips_of([Figure(value, low, high, 0.0, None, unit)])  # type: ignore[arg-type]
    if strip is not None:
        places = [tick.place for tick in strip.ticks]
        assert places == sorted(places)
        assert all(0 <= place <= WIDTH for place in places)
        assert len(places) <= 6


def test_hypotheses_of_one_unit_share_a_scale() -> None:
    wide, narrow = Figure(0.01, -0.03, 0.05, 0.0, 0.02, "pp"), Figure(-0.01, -0.02, 0.01, 0.0, 0.02, "pp")
    score = Figure(0.5, 0.25, 0.75, 0.0, None)
    first, second, third = strips_of_record([wide, score, narrow])
    assert first is not None
    assert second is not None
    assert third is not None
    assert (first.against, first.band, first.ticks) == (third.against, third.band, third.ticks)
    assert second == strip_of(score)


def test_an_interval_that_could_hardly_be_seen_has_its_own_scale() -> None:
    wide, narrow = Figure(0.4, 0.1, 0.8, 0.0, 0.02, "pp"), Figure(0.01, 0.0, 0.02, 0.0, 0.02, "pp")
    assert strips_of_record([wide, None, narrow]) == [strip_of(wide), None, strip_of(narrow)]
