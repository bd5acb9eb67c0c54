"""What tests of plans share."""

from __future__ import annotations

import pytest

from service.domain.power import hypothesis_numbers, rule_power
from service.domain.power.two_arms import table
from service.domain.recent import Recent


@pytest.fixture
def any_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of rules whatever they claim: those that lint refuses are weighed as well."""
    monkeypatch.setattr(rule_power, "claim_findings", lambda *_: ())


@pytest.fixture
def no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Power without the sizes and differences that would have enough of it, whose search takes most of the time."""
    monkeypatch.setattr(hypothesis_numbers, "_known", Recent(hypothesis_numbers.REMEMBERED))
    for name in ("compute_detectable", "compute_required"):
        monkeypatch.setattr(table, name, lambda _: ())


@pytest.fixture
def no_power(no_search: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """No power at all, for tests of what else lint says."""
    monkeypatch.setattr(rule_power, "compute_table", lambda *_, **__: {})
