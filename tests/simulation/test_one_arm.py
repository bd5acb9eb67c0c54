"""Claims about one arm: what the page promises is what lint says, and what locked tests of many data sets give."""

from __future__ import annotations

import pytest

from tests.simulation.one_arm import CASES, SETS, promised, recorded
from tests.simulation.promises import standard_error

ROWS = {name: row for name, *row in recorded()}
BY_NAME = {case.name: case for case in CASES}
QUICK = ("36 items", "20 clusters of 10", "these 20 items, 10 runs")


def test_every_plan_is_on_the_page() -> None:
    assert list(ROWS) == list(BY_NAME)


@pytest.mark.parametrize("name", QUICK)
def test_what_is_promised_is_what_lint_says(name: str) -> None:
    level, _, power = promised(BY_NAME[name])
    told, _, of_power, _ = ROWS[name]
    assert (told, of_power) == (pytest.approx(level, abs=6e-4), pytest.approx(power, abs=6e-3))


@pytest.mark.parametrize("name", BY_NAME)
def test_no_level_is_more_than_promised(name: str) -> None:
    level, realised, *_ = ROWS[name]
    assert level is not None
    assert realised <= level + 3.29 * standard_error(level, SETS)


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_shares_are_as_recorded(name: str) -> None:
    case, (_, level, _, power) = BY_NAME[name], ROWS[name]
    seed = CASES.index(case)
    assert case.share(case.reference, seed) == pytest.approx(level, abs=6e-4)
    assert case.share(case.truth, seed + 100) == pytest.approx(power, abs=6e-3)
