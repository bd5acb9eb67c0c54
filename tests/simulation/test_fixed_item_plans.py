"""Rules about these items: what the page promises is what lint says, and what locked tests of many data sets give."""

from __future__ import annotations

import math

import pytest

from tests.simulation.fixed_item_plans import CASES, SETS, promised, recorded
from tests.simulation.promises import standard_error

ROWS = {name: row for name, *row in recorded()}
BY_NAME = {case.name: case for case in CASES}
QUICK = CASES[0].name


def test_every_plan_is_on_the_page() -> None:
    assert list(ROWS) == list(BY_NAME)


def test_what_is_promised_is_what_lint_says() -> None:
    level, power = promised(BY_NAME[QUICK])
    told, _, of_power, _ = ROWS[QUICK]
    assert (told, of_power) == (pytest.approx(level, abs=6e-4), pytest.approx(power, abs=6e-3))


@pytest.mark.parametrize("name", BY_NAME)
def test_levels_and_power_are_within_simulation_error(name: str) -> None:
    """Lint's own power is of 400 data sets as well."""
    level, realised, power, of_data = ROWS[name]
    assert level is not None
    assert power is not None
    assert realised <= level + 3.29 * standard_error(level, SETS)
    assert abs(of_data - power) <= 3.29 * math.sqrt(2) * standard_error(power, SETS)


@pytest.mark.slow
def test_shares_are_as_recorded() -> None:
    case, (_, level, _, power) = BY_NAME[QUICK], ROWS[QUICK]
    assert case.share(0.0, 1) == pytest.approx(level, abs=6e-4)
    assert case.share(case.truth, 101) == pytest.approx(power, abs=6e-3)
