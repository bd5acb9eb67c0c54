"""Claims about one arm over HTTP: from Markdown to the verified bundle, blind until the verdict."""

from __future__ import annotations

import copy
import io
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from forelock.bundles.verifying import exit_status, verify
from forelock.cli import main
from service.offline.recomputing import recompute
from tests.drawing import mostly_slow

from .conftest import Service
from .plans import draft, items, lock, post, reread, small_plan

pytestmark = pytest.mark.any_database

RECORDS = "/v1/preregistrations"
CHARTS = ("forest", "arms", "cumulative", "power")


def planned(n: int = 100, **changes: Any) -> dict[str, Any]:
    """One arm that is to reach 80 %."""
    plan = small_plan(n)
    hypothesis = {
        "id": "H1",
        "claim": "at_least",
        "statement": "B answers at least 80 % of questions",
        "population": "p",
        "candidate": "B",
        "reference": {"value": 80, "unit": "%"},
        "endpoint": "accuracy",
        "rule": "score.ci.low >= 80%",
    }
    tests = [{"id": "score", "test": "one-sample-mean", "version": 1}]
    plan |= {"hypotheses": [hypothesis], "tests": tests, "multiplicity": {"policy": "none", "family": ["H1"]}}
    plan["hypotheses"][0] |= changes.pop("hypothesis", {})
    return copy.deepcopy(plan | changes)


@pytest.mark.parametrize(
    ("right", "outcome", "told", "chinese"),
    mostly_slow(
        [
            (92, "supported", "lies above 80.00%", "高于 80.00%"),
            (85, "not_supported", "This does not show that it falls short of 80.00%.", "并不表明它达不到"),
            (60, "not_supported", "lies below 80.00%", "低于 80.00%"),
        ]
    ),
)
def test_from_markdown_to_the_bundle(
    service: Service, tmp_path: Path, right: int, outcome: str, told: str, chinese: str
) -> None:
    first = draft(service.client, planned())
    prereg_id = reread(service.client, first)
    service.client.put(f"{RECORDS}/{prereg_id}/populations/p/items", json={"item_ids": items(100)})
    answer = lock(service.client, prereg_id)
    assert answer.status_code == 200, answer.text
    page = TestClient(service.app, base_url="https://testserver")
    assert page.post("/login", data={"key": service.key()}, follow_redirects=False).status_code == 303
    assert "80% or better" in page.get(f"/preregistrations/{prereg_id}").text
    progress = service.client.get(f"{RECORDS}/{prereg_id}/progress").json()
    assert progress["expected"] == 100
    refused = service.client.get(f"{RECORDS}/{prereg_id}/verdict").json()
    assert refused["code"] == "blinded"
    assert "an import with `complete` says of a run that is over" in refused["detail"]
    assert post(service.client, prereg_id, "A", items(100), [1] * 100).status_code == 422
    assert (
        post(service.client, prereg_id, "B", items(100), [1] * right + [0] * (100 - right)).status_code == 201
    )
    assert service.run_jobs() == 1
    (judged,) = service.client.get(f"{RECORDS}/{prereg_id}/verdict").json()["hypotheses"]
    assert judged["outcome"] == outcome, judged["sentence"]
    assert told in judged["sentence"]
    assert "baseline" not in judged
    assert (judged["mean"], judged["delta_exact"]) == (right / 100, f"{right - 80}/100") or judged["delta"]
    words = service.client.get(f"{RECORDS}/{prereg_id}/verdict/sentences").json()["hypotheses"][0]
    assert chinese in words["sentences"]["zh"]
    for name in CHARTS:
        drawn = service.client.get(f"{RECORDS}/{prereg_id}/charts/{name}.json")
        assert drawn.status_code == 200, (name, drawn.text)
    assert "80" in service.client.get(f"{RECORDS}/{prereg_id}/charts/power.json").text
    intervals = str(service.client.get(f"{RECORDS}/{prereg_id}/charts/forest.json").json())
    assert "mean minus reference (pp)" in intervals
    assert "candidate − baseline" not in intervals
    evidence = service.client.get(f"{RECORDS}/{prereg_id}/evidence").json()
    assert evidence["score"] >= evidence["most"] - 2, evidence["pieces"]
    for path in ("report.md", "report.html", "report.tex", "prereg.md", "evidence.md", "multiverse"):
        report = service.client.get(f"{RECORDS}/{prereg_id}/{path}")
        assert report.status_code == 200, (path, report.text)
        assert path == "prereg.md" or "None" not in report.text, path
    assert "score.ci.low" in service.client.get(f"{RECORDS}/{prereg_id}/report.md").text
    for language in ("en", "zh"):
        shown = page.get(f"/preregistrations/{prereg_id}", params={"lang": language})
        assert shown.status_code == 200
        assert (told if language == "en" else chinese) in shown.text.replace("&#39;", "'")
    bundle = service.client.get(f"{RECORDS}/{prereg_id}/bundle").content
    checked = verify(io.BytesIO(bundle), recompute=recompute)
    expected = {"supported": 0, "not_supported": 10}[outcome]
    assert exit_status(checked) == expected, checked
    (tmp_path / "bundle.zip").write_bytes(bundle)
    assert main(["verify", str(tmp_path / "bundle.zip")]) == expected


@pytest.mark.parametrize(
    ("hypothesis", "code"),
    [
        ({"rule": "score.mean >= 80%"}, "CLAIM_NOT_ASSERTED"),
        ({"rule": "score.ci excludes 80%"}, "CLAIM_NOT_ASSERTED"),
        ({"rule": "score.ci.low >= 70%"}, "CLAIM_NOT_ASSERTED"),
        ({"rule": "score.ci.high <= 80%"}, "CLAIM_NOT_ASSERTED"),
        ({"rule": "score.against.p_falls_short > 0.05"}, "ABSENCE_OF_EVIDENCE"),
        ({"rule": "not score.ci.high < 80%"}, "CLAIM_NOT_ASSERTED"),
        ({"rule": "score.intervals.cr0_z.low >= 80%"}, "CLAIM_NOT_ASSERTED"),
        ({"rule": "delta > 0 and score.ci.low >= 80%"}, "RULE_FIELD_TYPE"),
        ({"rule": "score.ci.low >= 80 pp"}, "UNIT"),
        ({"rule": "score.ci.low >= 80"}, "UNIT"),
        ({"rule": "score.against.p_meets < 2%"}, "UNIT"),
        ({"rule": "mcnemar.p_value < 0.05"}, "TEST_ARMS"),
        ({"about": "median"}, "ABOUT_DIFFERS"),
        ({"about": "pass_hat_k"}, "CLAIM_NOT_ASSERTED"),
        ({"reference": {"value": 80, "unit": "score"}}, "UNIT"),
        ({"reference": {"value": 100, "unit": "%"}}, "UNIT"),
        ({"rule": "score.ci.low >= 97%", "reference": {"value": 97, "unit": "%"}}, "RULE_NEVER_PASSES"),
    ],
)
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # lint asks no database
def test_what_does_not_bear_out_the_claim_is_refused(
    service: Service, hypothesis: dict[str, Any], code: str
) -> None:
    plan = planned(hypothesis=hypothesis)
    plan["tests"].append({"id": "mcnemar", "test": "mcnemar", "version": 1})
    prereg_id = draft(service.client, plan)
    found = service.client.post(f"{RECORDS}/{prereg_id}/lint").json()["findings"]
    assert code in {each["code"] for each in found if each["severity"] == "error"}, found
    assert lock(service.client, prereg_id).status_code == 422


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_lint_says_how_many_items_can_show_it(service: Service) -> None:
    plan = planned(3, hypothesis={"rule": "score.ci.low >= 90%", "reference": {"value": 90, "unit": "%"}})
    plan["hypotheses"][0]["statement"] = "B answers at least 90 % of questions"
    for level, least in ((0.95, 36), (0.9, 29)):
        plan["tests"][0]["parameters"] = {"level": level}
        answer = service.client.post(f"{RECORDS}/{draft(service.client, plan)}/lint").json()
        (never,) = [each for each in answer["findings"] if each["code"] == "RULE_NEVER_PASSES"]
        assert "with all of 3 items right" in never["message"]
        assert f"{least} items would do" in never["message"]
        assert answer["power"][0]["can_pass"] is False


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_either_arm_or_number_is_compared_with(service: Service) -> None:
    for wrong, name in (
        ({"baseline": "A"}, "baseline"),
        ({"reference": None}, "reference"),
        ({"claim": "superiority"}, "baseline"),
        ({"claim": "superiority", "baseline": "A"}, "reference"),
    ):
        plan = planned(hypothesis=wrong)
        plan["hypotheses"][0] = {k: v for k, v in plan["hypotheses"][0].items() if v is not None}
        answer = service.client.post(RECORDS, json=plan)
        assert answer.status_code == 422, wrong
        assert name in answer.text


def test_a_published_number_is_marked_as_one(service: Service) -> None:
    reference = {"value": 80, "unit": "%", "published": {"source": "Doe et al. 2026, table 3", "n": 50}}
    prereg_id = draft(service.client, planned(hypothesis={"reference": reference}))
    found = service.client.post(f"{RECORDS}/{prereg_id}/lint").json()["findings"]
    assert "REFERENCE_PUBLISHED" in {each["code"] for each in found}
    assert lock(service.client, prereg_id, []).json()["code"] == "warnings_not_acknowledged"
    assert lock(service.client, prereg_id).status_code == 200
    post(service.client, prereg_id, "B", items(100), [1] * 95 + [0] * 5)
    assert service.run_jobs() == 1
    (judged,) = service.client.get(f"{RECORDS}/{prereg_id}/verdict").json()["hypotheses"]
    assert judged["outcome"] == "supported"
    assert "was published (Doe et al. 2026, table 3): it is taken as it is" in judged["sentence"]
    assert judged["reference"]["ci"]["low"] == pytest.approx(0.6628, abs=1e-3)


RUNS = {"id": "accuracy", "kind": "binary", "role": "primary", "replicates": 40}
RELIABILITY = [{"id": "reliability", "test": "reliability", "version": 1, "parameters": {"k": [4]}}]


@pytest.mark.parametrize(
    ("about", "rule", "wrong", "outcome"),
    mostly_slow(
        [
            ("every_item", "reliability.least_low >= 80%", 0, "supported"),
            ("pass_hat_k", "reliability.pass_hat_k.ci.low >= 80%", 0, "supported"),
            ("every_item", "reliability.least_low >= 80%", 10, "not_supported"),
        ]
    ),
)
def test_rules_over_repeats(service: Service, about: str, rule: str, wrong: int, outcome: str) -> None:
    value = int(rule.split()[-1].rstrip("%"))
    plan = planned(
        20,
        hypothesis={
            "about": about, "rule": rule, "reference": {"value": value, "unit": "%"},
            "statement": f"every question is answered at least {value} % of the time",
        },
        endpoints=[RUNS],
        tests=RELIABILITY,
    )  # fmt: skip
    prereg_id = draft(service.client, plan)
    answer = lock(service.client, prereg_id)
    assert answer.status_code == 200, answer.text
    ids = [name for name in items(20) for _ in range(40)]
    sent = service.client.post(
        f"{RECORDS}/{prereg_id}/results",
        json={
            "arm": "B", "endpoint": "accuracy", "item_ids": ids,
            "values": [0] * wrong + [1] * (800 - wrong), "replicates": [run for _ in range(20) for run in range(1, 41)],
        },
        headers={"Idempotency-Key": "one-arm-runs"},
    )  # fmt: skip
    assert sent.status_code == 201, sent.text
    assert service.run_jobs() == 1
    (judged,) = service.client.get(f"{RECORDS}/{prereg_id}/verdict").json()["hypotheses"]
    assert judged["outcome"] == outcome, judged["sentence"]
    bound = "By `reliability.least_low` every item is shown to be right at least"
    assert (bound in judged["sentence"]) is (about == "every_item")
    bundle = service.client.get(f"{RECORDS}/{prereg_id}/bundle").content
    checked = verify(io.BytesIO(bundle), recompute=recompute)
    assert exit_status(checked) == {"supported": 0, "not_supported": 10}[outcome], checked


def test_of_these_items_alone_from_markdown_to_the_bundle(service: Service) -> None:
    """17 of 20 items are always right and 3 never: these items reach 70 %, and of items like these nothing is shown."""
    endpoint = {
        "id": "accuracy",
        "kind": "binary",
        "role": "primary",
        "replicates": 5,
        "estimand": "these_items",
    }
    hypothesis = {
        "statement": "B answers at least 70 % of questions",
        "rule": "score.ci.low >= 70%",
        "reference": {"value": 70, "unit": "%"},
    }
    first = draft(service.client, planned(20, endpoints=[endpoint], hypothesis=hypothesis))
    prereg_id = reread(service.client, first)
    service.client.put(f"{RECORDS}/{prereg_id}/populations/p/items", json={"item_ids": items(20)})
    answer = lock(service.client, prereg_id)
    assert answer.status_code == 200, answer.text
    values = [float(at < 17) for at in range(20) for _ in range(5)]
    runs = {"replicates": [run for _ in range(20) for run in range(1, 6)]}
    ids = [name for name in items(20) for _ in range(5)]
    assert post(service.client, prereg_id, "B", ids, values, **runs).status_code == 201
    assert service.run_jobs() == 1
    (judged,) = service.client.get(f"{RECORDS}/{prereg_id}/verdict").json()["hypotheses"]
    assert judged["outcome"] == "supported", judged["sentence"]
    assert "It speaks of these 20 items alone" in judged["sentence"]
    for path in ("report.md", "report.html", "report.tex", "evidence", "multiverse", "charts/forest.json"):
        assert service.client.get(f"{RECORDS}/{prereg_id}/{path}").status_code == 200, path
    assert (
        "这 20 个题目" in service.client.get(f"{RECORDS}/{prereg_id}/report.md", params={"lang": "zh"}).text
    )
    bundle = service.client.get(f"{RECORDS}/{prereg_id}/bundle").content
    assert exit_status(verify(io.BytesIO(bundle), recompute=recompute)) == 0
