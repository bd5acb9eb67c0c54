"""From plan to words over HTTP: what is missing, several hypotheses, and judges nobody checks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.drawing import mostly_slow

from .conftest import Service
from .plans import draft, items, lock, locked, post, small_plan

pytestmark = pytest.mark.any_database

RECORDS = "/v1/preregistrations"
EQUIVALENCE = {"id": "eq", "test": "equivalence", "version": 1, "parameters": {"method": "tango"}}


def with_fallback(n: int, arms: int = 1, **changes: Any) -> dict[str, Any]:
    """A plan whose hypotheses may turn out equivalent where their rule is false."""
    plan = small_plan(n, **changes)
    plan["tests"] = [*plan["tests"], EQUIVALENCE]
    first = plan["hypotheses"][0] | {"equivalence": "eq"}
    plan["hypotheses"] = [first | {"id": f"H{each}", "candidate": f"B{each}"} for each in range(arms)]
    plan["multiplicity"] = {
        "policy": changes.get("multiplicity", {}).get("policy", "none"),
        "family": [each["id"] for each in plan["hypotheses"]],
    }
    return plan


def codes(service: Service, prereg_id: str) -> list[tuple[str, str, str]]:
    found = service.client.post(f"{RECORDS}/{prereg_id}/lint").json()["findings"]
    return [(each["code"], each["severity"], each["path"]) for each in found]


def test_missing_results_make_no_equivalence(service: Service) -> None:
    """+3.09 pp among 970 of 1,000 items; the others, counted as losses, bring the difference to 0."""
    prereg_id = locked(service.client, with_fallback(1000, missing="worst_case"))
    baseline = [1] * 510 + [0] * 460 + [None] * 30
    candidate = [0] * 10 + [1] * 540 + [0] * 420 + [None] * 30
    for arm, values in (("A", baseline), ("B0", candidate)):
        statuses = ["missing" if each is None else "ok" for each in values]
        answer = post(service.client, prereg_id, arm, items(1000), values, status=statuses)
        assert answer.status_code == 201, answer.text
    assert service.run_jobs() == 1
    (found,) = service.client.get(f"{RECORDS}/{prereg_id}/verdict").json()["hypotheses"]
    assert (found["delta"], found["outcome"], found["excluded"]["filled"]) == (0.0, "not_supported", 30)
    assert (found["filled"], found["fallback"]["way"], found["fallback"]["equivalent"]) == (
        "down",
        "up",
        False,
    )
    assert found["reading"] == "inconclusive"
    (words,) = service.client.get(f"{RECORDS}/{prereg_id}/verdict/sentences").json()["hypotheses"]
    assert words["sentences"]["en"] == found["sentence"]
    assert "30 of them filled in against the claim" in words["sentences"]["en"]
    assert "with the 30 filled in taken for the candidate" in words["sentences"]["en"]
    assert "其中 30 个按对主张最不利的取值填补" in words["sentences"]["zh"]
    assert words["next"]["en"].startswith("Next: ")
    page = service.client.get(f"{RECORDS}/{prereg_id}/evidence.md").text
    assert "30 of them filled in" in page


def test_a_family_that_cannot_pass_is_not_locked(service: Service) -> None:
    plan = small_plan(60)
    plan["populations"][0] |= {"clusters": {"key": "conversation", "n": 6}}
    plan["populations"][0].pop("independence", None)
    plan["tests"] = [{"id": "mcnemar", "test": "clustered-mcnemar", "version": 1, "parameters": {}}]
    plan["hypotheses"] = [
        plan["hypotheses"][0] | {"id": f"H{each}", "candidate": f"B{each}"} for each in range(3)
    ]
    plan["multiplicity"] = {"policy": "holm", "family": ["H0", "H1", "H2"]}
    manifest = {"item_ids": items(60), "clusters": [f"c{each % 6}" for each in range(60)]}
    prereg_id = draft(service.client, plan, {"p": manifest})
    found = service.client.post(f"{RECORDS}/{prereg_id}/lint").json()["findings"]
    errors = [each for each in found if each["severity"] == "error"]
    assert [each["code"] for each in errors] == ["RULE_NEVER_PASSES"] * 3
    assert all("makes it at least 0.09375" in each["message"] for each in errors)
    assert all("plan at least 7 clusters" in each["message"] for each in errors)
    refused = lock(service.client, prereg_id)
    assert (refused.status_code, refused.json()["code"]) == (422, "lint_failed")


@pytest.mark.parametrize("policy", mostly_slow(["holm", "bh"]))
def test_three_near_the_margin_are_not_called_equivalent_one_by_one(service: Service, policy: str) -> None:
    """TOST p is .03 for each: alone below .05, in a family of three not; and under bh nothing corrects it."""
    plan = with_fallback(2000, 3, multiplicity={"policy": policy})
    prereg_id = draft(service.client, plan)
    asked = [code for code, severity, _ in codes(service, prereg_id) if severity == "warning"]
    assert ("EQUIVALENCE_UNCORRECTED" in asked) is (policy == "bh")
    assert lock(service.client, prereg_id).status_code == 200
    baseline = [1] * 1000 + [0] * 1000
    assert post(service.client, prereg_id, "A", items(2000), baseline).status_code == 201
    for each in range(3):
        values = [0] * 24 + [1] * 1024 + [0] * 952
        assert post(service.client, prereg_id, f"B{each}", items(2000), values).status_code == 201
    assert service.run_jobs() == 1
    found = service.client.get(f"{RECORDS}/{prereg_id}/verdict").json()["hypotheses"]
    words = service.client.get(f"{RECORDS}/{prereg_id}/verdict/sentences").json()["hypotheses"]
    for each, said in zip(found, words, strict=True):
        beside = each["fallback"]
        assert beside["equivalent"] is True
        assert 0.05 / 3 < beside["p_value"] < 0.05
        assert each["outcome"] == "not_supported"
        if policy == "holm":
            assert beside["adjusted"] == pytest.approx(3 * beside["p_value"])
            assert "but not adjusted by holm over 3 hypotheses" in said["sentences"]["en"]
        else:
            assert (beside["adjusted"], beside["counts"]) == (None, False)
            assert "so it decides nothing" in said["sentences"]["en"]


def test_a_judge_nobody_checks_is_asked_about_before_the_lock(service: Service) -> None:
    plan = with_fallback(40)
    plan["endpoints"][0] |= {"judge": {"model": "judge-1"}}
    prereg_id = draft(service.client, plan)
    found = codes(service, prereg_id)
    assert ("JUDGE_NOT_AUDITED", "warning", "hypotheses[0].endpoint") in found
    others = sorted({code for code, severity, _ in found if severity == "warning"} - {"JUDGE_NOT_AUDITED"})
    refused = lock(service.client, prereg_id, others)
    assert (refused.status_code, refused.json()["code"]) == (422, "warnings_not_acknowledged")
    assert lock(service.client, prereg_id, [*others, "JUDGE_NOT_AUDITED"]).status_code == 200
    audited = plan | {
        "endpoints": [*plan["endpoints"], {"id": "accuracy.audit", "kind": "binary", "role": "secondary"}]
    }
    assert "JUDGE_NOT_AUDITED" not in [code for code, *_ in codes(service, draft(service.client, audited))]


def test_a_tiny_p_is_not_told_as_zero(service: Service) -> None:
    """60 wins of 100 without a loss: 2 / 2**60; and where no resample reaches the bar, a bound that is above 0."""
    for name, text in (("mcnemar", "1.7e-18"), ("paired-bootstrap", "below 1.0e-200")):
        plan = small_plan(100)
        plan["tests"] = [{"id": "t", "test": name, "version": 1}]
        plan["hypotheses"][0]["rule"] = "delta >= 2.0 pp and t.p_value < 0.05"
        prereg_id = locked(service.client, plan)
        post(service.client, prereg_id, "A", items(100), [0] * 60 + [1] * 40)
        post(service.client, prereg_id, "B", items(100), [1] * 100)
        assert service.run_jobs() == 1
        (words,) = service.client.get(f"{RECORDS}/{prereg_id}/verdict/sentences").json()["hypotheses"]
        assert f"`t.p_value` is {text}, below 0.05" in words["sentences"]["en"]
        assert text.removeprefix("below ") in words["sentences"]["zh"]


def test_the_items_that_lack_are_what_the_new_plan_has_more(service: Service) -> None:
    """Where 7.2 pp matter and 25 of 200 items are discordant, 204 would do: told as about 210, which is 10 more."""
    plan = small_plan(200)
    plan["sesoi"] = {"accuracy": {"value": 7.2, "unit": "pp"}}
    plan["hypotheses"][0] |= {"rule": "delta > 0 and mcnemar.p_value < 0.05", "statement": "B beats A"}
    prereg_id = locked(service.client, plan)
    post(service.client, prereg_id, "A", items(200), [0] * 20 + [1] * 180)
    post(service.client, prereg_id, "B", items(200), [1] * 20 + [0] * 5 + [1] * 175)
    assert service.run_jobs() == 1
    (words,) = service.client.get(f"{RECORDS}/{prereg_id}/verdict/sentences").json()["hypotheses"]
    assert "about 210 items (about 10 more than here, if there are as many)" in words["next"]["en"]
    assert "约 210 个题目（比本次多约 10 个，如果有这么多）" in words["next"]["zh"]
