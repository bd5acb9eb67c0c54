"""Power of whole plans: what the page promises is what lint says, and what judging many of them gives."""

from __future__ import annotations

import math

import pytest

from service.domain.lint.lint import lint
from tests.domain.sample import without_numbers
from tests.drawing import mostly_slow
from tests.simulation.whole_plans import CASES, chance, count, manifests_of, plan_of, promised, recorded

ROWS = {name: rest for name, *rest in recorded()}
QUICK = ("500 items", "Holm, one of three", "two looks", "worst case")


def spread(name: str, error: float) -> float:
    """Standard error of the difference of the two columns."""
    return math.hypot(error, promised(name).standard_error or 0.0)


def test_every_plan_is_on_the_page() -> None:
    assert list(ROWS) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_the_plans_that_are_judged_could_be_locked(name: str) -> None:
    facts = {key: each.facts() for key, each in manifests_of(name).items()}
    with without_numbers():
        found = {each.code for each in lint(plan_of(name), facts) if each.severity == "error"}
    assert found == set()


@pytest.mark.parametrize("name", mostly_slow(QUICK))
def test_what_is_promised_is_what_lint_says(name: str) -> None:
    assert chance(promised(name), CASES[name]) == pytest.approx(ROWS[name][1], abs=6e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", [each for each in CASES if each not in QUICK])
def test_all_of_what_is_promised_is_what_lint_says(name: str) -> None:
    assert chance(promised(name), CASES[name]) == pytest.approx(ROWS[name][1], abs=6e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_promises_are_kept(name: str) -> None:
    """Within 3 points, or within what as many plans can tell apart."""
    _, told, realised, error = ROWS[name]
    assert abs(told - realised) <= max(0.03, 3.29 * spread(name, error))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_rates_are_as_recorded(name: str) -> None:
    runs = 200
    _, _, realised, error = ROWS[name]
    rate = count((name, 10_000, 10_000 + runs))[1] / runs
    assert abs(rate - realised) < 4 * math.hypot(
        error, math.sqrt(max(realised * (1 - realised), 0.002) / runs)
    )


def test_promises_differ_from_what_is_kept_by_chance_alone() -> None:
    """Over all plans together the differences are no larger than their standard errors make them."""
    squares = [
        ((told - realised) / math.hypot(error, 0.008)) ** 2 for _, told, realised, error in ROWS.values()
    ]
    assert sum(squares) / len(squares) < 2
