"""What the rules of a plan can show, as lint answers it over HTTP."""

from __future__ import annotations

import pytest

from tests.journeys.conftest import Service
from tests.journeys.plans import draft, lock, locked, small_plan

pytestmark = pytest.mark.any_database


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


def test_a_pilot_makes_one_number_of_the_range_and_leaves_nothing_behind(service: Service) -> None:
    prereg_id = draft(service.client, small_plan(500))
    before = service.client.get(f"/v1/preregistrations/{prereg_id}")
    (unknown,) = lint(service, prereg_id)["power"]
    assert (unknown["low"]["power"] < unknown["high"]["power"], unknown["stated"]) == (True, False)
    columns = {"baseline": [1, 0, 1, 1, None] * 20, "candidate": [1, 1, 1, 1, 1] * 19 + [0, 0, 1, 1, 1]}
    answer = service.client.post(f"/v1/preregistrations/{prereg_id}/lint", json={"pilot": [columns]})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    (power,), (pilot,) = found["power"], found["pilot"]
    assert (power["stated"], power["low"], pilot["n_pairs"]) == (True, None, 80)
    assert power["reference"]["discordance"] == found["assumptions"]["discordance"]
    assert pilot["discordance"]["estimate"] < pilot["discordance"]["upper"] < 0.4
    after = service.client.get(f"/v1/preregistrations/{prereg_id}")
    assert (after.headers["ETag"], after.json()) == (before.headers["ETag"], before.json())
    assert lint(service, prereg_id)["power"] == [unknown]
    # pasted, the section has the same power
    pasted = {"assumptions": found["assumptions"]}
    headers = {"If-Match": before.headers["ETag"], "Content-Type": "application/merge-patch+json"}
    patched = service.client.patch(f"/v1/preregistrations/{prereg_id}", json=pasted, headers=headers)
    assert patched.status_code == 200, patched.text
    assert lint(service, prereg_id)["power"] == [power]


def test_a_pilot_that_cannot_be_used_is_refused_by_row_and_without_its_values(service: Service) -> None:
    prereg_id = draft(service.client, small_plan(50))
    columns = {"baseline": [1, 0, 1, 0.375, 1, 1], "candidate": [1, 1, 1, 1, 1, 1]}
    refused = service.client.post(f"/v1/preregistrations/{prereg_id}/lint", json={"pilot": [columns]})
    assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "pilot[0].baseline")
    assert "row 4" in refused.text
    assert "375" not in refused.text
