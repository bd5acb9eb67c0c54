"""How many units would show what is open: against the definition, one number after another."""

from __future__ import annotations

import math

import numpy as np
import pytest

from service.kernels.multiplicity.corrections import correct_known, holm
from service.kernels.planning.more_units import first_that_shows, units_by_t
from service.kernels.planning.power import t_power


@pytest.mark.parametrize("least", [1, 2, 7, 40])
@pytest.mark.parametrize("first", [1, 2, 3, 39, 40, 64, 65])
def test_the_first_that_shows_is_the_one_that_a_walk_finds(least: int, first: int) -> None:
    assert first_that_shows(lambda units: units >= first, least, 100) == max(least, first)


def test_none_where_the_most_does_not_show() -> None:
    assert first_that_shows(lambda units: units > 100, 2, 100) is None
    assert first_that_shows(lambda units: units >= 100, 2, 100) == 100


@pytest.mark.parametrize(("df", "least"), [(9.0, 2), (4.5, 2), (4.5, 30)])
def test_units_by_t_is_the_least_number_with_the_power(df: float, least: int) -> None:
    least_units = units_by_t(0.2, 0.15, df, 10, least=least, most=10_000, tail=0.025, power=0.8)

    def power_of(units: int) -> float:
        noncentrality = 0.2 / (0.15 * math.sqrt(10 / units))
        return t_power(noncentrality, max(df / 9 * (units - 1), 1.0), 0.025, "greater")

    assert least_units == next(units for units in range(least, 10_000) if power_of(units) >= 0.8)


def test_units_by_t_are_none_beyond_the_most() -> None:
    assert units_by_t(1e-6, 0.15, 9.0, 10, least=2, most=1_000, tail=0.025, power=0.8) is None


def test_a_hypothesis_without_a_p_counts_in_the_family_and_stays_without_one() -> None:
    assert correct_known([0.01, None, 0.02]) == [pytest.approx(0.03), None, pytest.approx(0.04)]
    assert correct_known([0.3, 0.01]) == holm(np.array([0.3, 0.01])).tolist()
    assert correct_known([]) == []
