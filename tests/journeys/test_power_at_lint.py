"""What the rules of a plan can show, as lint answers it over HTTP."""

from __future__ import annotations

import pytest

from tests.journeys.conftest import Service
from tests.journeys.plans import draft, lock, locked, small_plan


def lint(service: Service, prereg_id: str) -> dict:
    answer = service.client.post(f"/v1/preregistrations/{prereg_id}/lint")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_lint_answers_the_power_of_every_rule(service: Service) -> None:
    prereg_id = draft(service.client, small_plan(500))
    found = lint(service, prereg_id)
    (power,) = found["power"]
    assert (power["method"], power["can_pass"], power["least_discordant"]) == ("exact", True, 10)
    at = next(each for each in power["power"] if (each["discordance"], each["truth"]) == (0.1, 0.02))
    assert at["power"] == pytest.approx(0.2494, abs=1e-4)
    warned = [each for each in found["findings"] if each["code"] == "LOW_POWER"]
    assert [each["severity"] for each in warned] == ["warning"]
    kept = lock(service.client, prereg_id, acknowledge=[])  # a small study is its author's choice
    assert (kept.status_code, kept.json()["acknowledged"]) == (200, [])
    assert lint(service, prereg_id) == found


def test_a_rule_that_no_outcome_meets_cannot_be_locked(service: Service) -> None:
    plan = small_plan(12)
    plan["hypotheses"][0]["rule"] = "mcnemar.p_value < 0.05 and delta < 20 pp and delta >= 2 pp"
    prereg_id = draft(service.client, plan)
    found = lint(service, prereg_id)
    assert [each["code"] for each in found["findings"] if each["severity"] == "error"] == [
        "RULE_NEVER_PASSES"
    ]
    assert found["power"][0]["can_pass"] is False
    refused = lock(service.client, prereg_id)
    assert (refused.status_code, refused.json()["code"]) == (422, "lint_failed")


def test_power_says_nothing_of_results(service: Service) -> None:
    """The same answer whatever was posted."""
    prereg_id = locked(service.client, small_plan(10))
    before = lint(service, prereg_id)
    body = {
        "arm": "A",
        "endpoint": "accuracy",
        "item_ids": [f"item-{i}" for i in range(10)],
        "values": [1] * 10,
    }
    headers = {"Idempotency-Key": "one"}
    posted = service.client.post(f"/v1/preregistrations/{prereg_id}/results", json=body, headers=headers)
    assert posted.status_code == 201, posted.text
    assert lint(service, prereg_id) == before
