"""What tests of plans share."""

from __future__ import annotations

import pytest

from service.domain.power import rule_power as rule_power


@pytest.fixture
def any_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of rules whatever they claim: those that lint refuses are weighed as well."""
    monkeypatch.setattr(rule_power, "claim_findings", lambda *_: ())
