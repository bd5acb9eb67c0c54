"""A chance of a rule is told so that a person can imagine it."""

from __future__ import annotations

import pytest

from service.domain.power.answers.lead import chance_of
from service.domain.power.answers.records import PowerAt


@pytest.mark.parametrize(
    ("chance", "said"),
    [
        (0.0, "0"),
        (0.8123, "0.81"),
        (0.0002, "0.0002"),
        (0.00005, "<0.0001"),
        (0.000005, "<0.00001"),
        (1.8e-09, "<0.000001"),
    ],
)
def test_a_small_chance_is_a_bound_without_powers_of_ten(chance: float, said: str) -> None:
    assert chance_of(PowerAt(truth=0.02, discordance=0.1, power=chance)) == said


@pytest.mark.parametrize(
    ("chance", "error", "said"),
    [
        (0.066, 0.01, "0.066 ± 0.01"),
        (0.0, 0.00025, "<0.0008"),
        (0.0, 0.001, "<0.003"),
        (1.0, 0.00025, ">0.9992"),
    ],
)
def test_none_or_all_of_what_was_simulated_is_a_bound(chance: float, error: float, said: str) -> None:
    at = PowerAt(truth=0.02, discordance=0.1, power=chance, standard_error=error)
    assert chance_of(at) == chance_of(at, chance) == said


def test_such_a_bound_is_the_rule_of_three() -> None:
    """Where a rule holds in 8 of 10,000 studies, fewer than one in twenty lots of 4,000 hold none."""
    assert (1 - 0.0008) ** 4000 < 0.05 < (1 - 0.0007) ** 4000


def test_a_simulated_chance_has_its_error() -> None:
    assert chance_of(PowerAt(truth=0.02, discordance=0.1, power=0.066, standard_error=0.01)) == "0.066 ± 0.01"
