"""Rules that could hold without their claim: refused before the lock, and seen to again at the verdict."""

from __future__ import annotations

import re
from typing import Any

import pytest

from .conftest import Service
from .plans import draft, items, lock, locked, post, small_plan

pytestmark = pytest.mark.any_database

CLAIM_CODES = {"CLAIM_NOT_ASSERTED", "ABSENCE_OF_EVIDENCE"}
TESTS = [
    {"id": "cm", "test": "mcnemar", "version": 1},
    {"id": "greater", "test": "mcnemar", "version": 1, "parameters": {"alternative": "greater"}},
    {"id": "bootstrap", "test": "paired-bootstrap", "version": 1},
    {"id": "tost", "test": "equivalence", "version": 1},
]


def planned(
    claim: str, rule: str, statement: str = "B is right more often than A", n: int = 200
) -> dict[str, Any]:
    plan = small_plan(n)
    plan["hypotheses"][0] |= {"claim": claim, "rule": rule, "statement": statement}
    return plan | {"tests": TESTS}


def lint(service: Service, prereg_id: str) -> dict[str, Any]:
    answer = service.client.post(f"/v1/preregistrations/{prereg_id}/lint")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def about_claim(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in found["findings"] if each["code"] in CLAIM_CODES]


REFUSED = [
    ("superiority", "cm.p_value < 0.05", "CLAIM_NOT_ASSERTED"),
    ("superiority", "bootstrap.ci excludes 0", "CLAIM_NOT_ASSERTED"),
    ("superiority", "delta >= -3 pp and cm.p_value < 0.05", "CLAIM_NOT_ASSERTED"),
    ("superiority", "delta > 0 or cm.p_value < 0.05", "CLAIM_NOT_ASSERTED"),
    ("equivalence", "cm.p_value > 0.05", "ABSENCE_OF_EVIDENCE"),
    ("equivalence", "not bootstrap.ci excludes 0", "ABSENCE_OF_EVIDENCE"),
    ("equivalence", "tost.noninferior is true", "CLAIM_NOT_ASSERTED"),
    ("non_inferiority", "not cm.p_value < 0.05", "ABSENCE_OF_EVIDENCE"),
    ("non_inferiority", "delta > -2 pp", "CLAIM_NOT_ASSERTED"),
    ("minimum_effect", "delta >= 2 pp and cm.p_value < 0.05", "CLAIM_NOT_ASSERTED"),
]


@pytest.mark.slow
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # lint asks no database
def test_a_rule_that_can_hold_without_its_claim_is_refused_with_the_clause_that_mends_it(
    service: Service,
) -> None:
    for claim, rule, code in REFUSED:
        plan = planned(claim, rule, n=60)
        prereg_id = draft(service.client, plan)
        (finding,) = about_claim(lint(service, prereg_id))
        assert (finding["code"], finding["severity"], finding["path"]) == (
            code,
            "error",
            "hypotheses[0].rule",
        ), rule
        refused = lock(service.client, prereg_id)
        assert (refused.status_code, refused.json()["code"]) == (422, "lint_failed")
        clause, mended = re.search(r"add the clause `([^`]+)`: `([^`]+)`", finding["message"]).groups()  # type: ignore[union-attr]
        assert clause in mended
        plan["hypotheses"][0]["rule"] = mended
        assert about_claim(lint(service, draft(service.client, plan))) == [], mended


def test_the_rule_that_is_advised_rests_on_no_absence_and_says_nothing_twice(service: Service) -> None:
    for claim, rule, advised in (
        ("equivalence", "tost.equivalent is false", "tost.equivalent is true"),
        (
            "equivalence",
            "cm.p_value > 0.05 and tost.noninferior is true",
            "tost.noninferior is true and tost.eq",
        ),
        ("non_inferiority", "not cm.p_value < 0.05", "tost.noninferior is true"),
        (
            "equivalence",
            "tost.ci.low > -2 pp and delta > -2 pp",
            "tost.ci.low > -2 pp and delta > -2 pp and tost.equivalent is true",
        ),
        ("equivalence", "cm.ci.low > -2 pp", "cm.ci.low > -2 pp and "),
    ):
        (finding,) = about_claim(lint(service, draft(service.client, planned(claim, rule))))
        message = finding["message"]
        assert ("leave that out and add" in message) == (finding["code"] == "ABSENCE_OF_EVIDENCE")
        mended = message.rpartition(": `")[2].rstrip("`")
        assert mended.startswith(advised), mended
        assert len(set(mended.split(" and "))) == len(mended.split(" and "))


def test_a_rule_that_asks_for_the_opposite_is_told_to_turn_round_or_to_say_which_way_is_better(
    service: Service,
) -> None:
    plan = planned(
        "superiority", "delta <= -2.0 pp and cm.p_value < 0.05", "B errs less often by at least 2 pp"
    )
    (finding,) = about_claim(lint(service, draft(service.client, plan)))
    assert "`better`: 'lower'" in finding["message"]
    plan["endpoints"][0]["better"] = "lower"
    assert about_claim(lint(service, draft(service.client, plan))) == []


def test_the_size_that_a_statement_names_is_asked_of_the_observed_difference(service: Service) -> None:
    said = "B is right more often than A by at least 3 points"
    plan = planned("superiority", "delta > 0 and cm.p_value < 0.05", said)
    (finding,) = about_claim(lint(service, draft(service.client, plan)))
    assert "`delta >= 3 pp`" in finding["message"]
    plan["hypotheses"][0]["rule"] = "delta >= 3 pp and cm.p_value < 0.05"
    prereg_id = draft(service.client, plan)
    found = lint(service, prereg_id)
    assert about_claim(found) == []
    (advice,) = [each for each in found["findings"] if each["code"] == "SIZE_NOT_TESTED"]
    assert advice["severity"] == "warning"
    assert "no more than above 0 pp" in advice["message"]
    kept = lock(service.client, prereg_id, acknowledge=[])  # the lock does not ask for advice
    assert kept.status_code == 200, kept.text


def test_a_rule_above_its_alpha_is_a_warning_with_its_level_that_the_lock_asks_for(service: Service) -> None:
    prereg_id = draft(service.client, planned("superiority", "delta >= 0 and cm.p_value < 0.5", n=500))
    found = lint(service, prereg_id)
    (warned,) = [each for each in found["findings"] if each["code"] == "LEVEL_EXCEEDED"]
    assert "0.22" in warned["message"]
    assert found["levels"][0]["level"] == pytest.approx(0.2246, abs=1e-3)
    refused = lock(service.client, prereg_id, acknowledge=[])
    assert refused.status_code == 422, refused.text
    assert lock(service.client, prereg_id, acknowledge=["LEVEL_EXCEEDED"]).status_code == 200


def test_a_rule_above_its_alpha_over_its_looks_is_asked_about_with_its_level(service: Service) -> None:
    """Two looks and p < .5: without a true difference it holds one time in four."""
    for threshold, level, asked in (("0.5", 0.25, 1), ("0.05", 0.025, 0)):
        plan = planned("superiority", f"delta > 0 and seq.p_value < {threshold}", n=400)
        plan["tests"] = [
            {"id": "seq", "test": "sequential", "version": 1, "parameters": {"method": "group_sequential"}}
        ]
        plan["stopping"] = {"kind": "group_sequential", "looks": 2, "spending": "obrien_fleming"}
        plan["populations"][0]["order_seed"] = 7
        prereg_id = draft(service.client, plan)
        found = lint(service, prereg_id)
        (told,) = found["levels"]
        assert abs(told["level"] - level) < 4 * told["standard_error"] + 0.01, threshold
        warned = [each["message"] for each in found["findings"] if each["code"] == "LEVEL_EXCEEDED"]
        assert len(warned) == asked, threshold
        assert all(f"{told['level']:.2g} (simulated" in each for each in warned)
        assert lock(service.client, prereg_id, acknowledge=[]).status_code == (422 if asked else 200)


def judged(service: Service, plan: dict[str, Any], wins: int, losses: int) -> dict[str, Any]:
    """The hypothesis of a verdict on `wins` items that only B and `losses` that only A answers."""
    prereg_id = locked(service.client, plan)
    n = plan["populations"][0]["n"]
    post(service.client, prereg_id, "A", items(n), [0] * wins + [1] * (n - wins))
    post(service.client, prereg_id, "B", items(n), [1] * wins + [0] * losses + [1] * (n - wins - losses))
    service.run_jobs()
    answer = service.client.get(f"/v1/preregistrations/{prereg_id}/verdict")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["hypotheses"][0]
    return found


OLD_PLANS = [
    ("superiority", "cm.p_value < 0.05", 0, 20, "not_supported"),
    ("superiority", "cm.p_value < 0.05", 20, 0, "supported"),
    ("superiority", "bootstrap.ci excludes 0", 0, 20, "not_supported"),
    ("superiority", "delta >= -30 pp and cm.p_value < 0.05", 0, 20, "not_supported"),
    ("superiority", "delta <= -2.0 pp and cm.p_value < 0.05", 0, 20, "not_supported"),
    ("superiority", "delta >= -3 pp and cm.p_value > 0.05", 10, 9, "supported"),
    ("superiority", "cm.p_value > 0.05", 10, 9, "inconclusive"),
    ("equivalence", "cm.p_value > 0.05", 3, 8, "inconclusive"),
    ("equivalence", "not bootstrap.ci excludes 0", 10, 10, "inconclusive"),
    ("non_inferiority", "not cm.p_value < 0.05", 9, 10, "inconclusive"),
    ("equivalence", "cm.p_value > 0.05 or tost.equivalent is true", 0, 0, "equivalent"),
]


def test_a_plan_locked_by_an_earlier_version_is_seen_to_at_the_verdict(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.actions.plans.preregistrations.lint", lambda plan, facts: ())
    for claim, rule, wins, losses, outcome in OLD_PLANS:
        found = judged(service, planned(claim, rule), wins, losses)
        assert (found["outcome"], found["rule_holds"]) == (outcome, True), rule
        if outcome in ("not_supported", "inconclusive"):
            assert found["reason"]
            assert f"holds, but {found['reason']}" in found["sentence"]


def test_a_stated_size_that_is_missed_is_not_supported(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.actions.plans.preregistrations.lint", lambda plan, facts: ())
    plan = planned("superiority", "delta > 0 and cm.p_value < 0.05", "B beats A by at least 20 points")
    found = judged(service, plan, 20, 0)
    assert (found["outcome"], found["rule_holds"]) == ("not_supported", True)
    assert "20 pp" in found["reason"]
