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


def test_a_simulated_chance_has_its_error() -> None:
    assert chance_of(PowerAt(truth=0.02, discordance=0.1, power=0.066, standard_error=0.01)) == "0.066 ± 0.01"
