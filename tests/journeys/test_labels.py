"""Labels by people over HTTP and by command: drawn by the locked plan, blind until the verdict."""

from __future__ import annotations

import copy
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forelock.bundles.draws import draw_items, order_labels
from forelock.bundles.verifying import exit_status, verify
from forelock.cli import main
from service.offline.recomputing import recompute
from tests.drawing import mostly_slow

from .conftest import Service
from .plans import LABEL_SEED as SEED
from .plans import LABELLED, LABELS, draft, items, lock, locked, post, small_plan

pytestmark = pytest.mark.any_database

RECORDS = "/v1/preregistrations"
N = 60


def planned(n: int = N, **changes: Any) -> dict[str, Any]:
    """Two arms that a judge scores, and people who label a part."""
    return copy.deepcopy(small_plan(n, missing="exclude_pair", endpoints=LABELLED) | changes)


def the_list(service: Service, prereg_id: str, **query: Any) -> list[dict[str, Any]]:
    """Every page of the labels that people are asked for."""
    rows: list[dict[str, Any]] = []
    cursor = None
    while True:
        asks = {"limit": 33, **query} | ({"cursor": cursor} if cursor else {})
        page = service.client.get(f"{RECORDS}/{prereg_id}/labels", params=asks)
        assert page.status_code == 200, page.text
        rows += page.json()["items"]
        cursor = page.json()["next_cursor"]
        if not cursor:
            return rows


def label(service: Service, prereg_id: str, arm: str, values: dict[str, float], **more: Any) -> Any:
    return post(
        service.client, prereg_id, arm, list(values), list(values.values()), endpoint="accuracy.audit", **more
    )


def test_the_list_is_the_draw_of_the_locked_plan(service: Service) -> None:
    first = draft(service.client, planned())
    assert service.client.get(f"{RECORDS}/{first}/labels").status_code == 409, "its draw may still change"
    prereg_id = locked(service.client, planned())
    (population,) = service.client.get(f"{RECORDS}/{prereg_id}").json()["plan"]["populations"]
    rows = the_list(service, prereg_id)
    hashed = population["items_sha256"]
    expected = [(f"item-{at}", arm) for at, arm in order_labels(hashed, SEED, N, LABELS, ("A", "B"))]
    assert [(row["item_id"], row["arm"]) for row in rows] == expected
    assert {row["item_id"] for row in rows} == {f"item-{at}" for at in draw_items(hashed, SEED, N, LABELS)}
    assert {row["arm"] for row in rows[:12]} == {"A", "B"}, "the arms come mixed"
    assert not any(row["received"] for row in rows)
    assert [row["arm"] for row in the_list(service, prereg_id, arm="B")] == ["B"] * LABELS
    progress = service.client.get(f"{RECORDS}/{prereg_id}/progress", params={"missing": True}).json()
    assert progress["expected"] == 2 * N + 2 * LABELS
    assert {cell["endpoint"]: cell["expected"] for cell in progress["cells"]} == {
        "accuracy": N,
        "accuracy.audit": LABELS,
    }


def test_labels_are_of_the_drawn_items_and_complete_the_plan(service: Service) -> None:
    prereg_id = locked(service.client, planned())
    rows = the_list(service, prereg_id)
    chosen = {row["item_id"] for row in rows}
    other = next(name for name in items(N) if name not in chosen)
    refused = label(service, prereg_id, "A", {other: 1})
    assert refused.status_code == 422
    assert "not drawn for labels" in refused.text
    for arm in "AB":
        values = [float(at % 3 > 0) for at in range(N)]
        assert post(service.client, prereg_id, arm, items(N), values).json()["state"] == "collecting"
    assert service.client.get(f"{RECORDS}/{prereg_id}/verdict").json()["code"] == "blinded"
    assert service.run_jobs() == 0, "labels are still to come"
    some = {row["item_id"]: 1.0 for row in rows[:10] if row["arm"] == "A"}
    first = label(service, prereg_id, "A", some, key="once")
    assert label(service, prereg_id, "A", dict.fromkeys(some, 0.0), key="once").content == first.content
    assert label(service, prereg_id, "A", some).json()["code"] == "duplicate_results"
    assert sum(row["received"] for row in the_list(service, prereg_id)) == len(some)
    for arm in "AB":
        rest = {row["item_id"]: 1.0 for row in rows if row["arm"] == arm}
        answer = label(service, prereg_id, arm, rest, on_duplicate="skip")
        assert answer.status_code == 201, answer.text
    assert answer.json()["state"] == "complete"
    assert service.run_jobs() == 1
    bundle = service.client.get(f"{RECORDS}/{prereg_id}/bundle").content
    for checked in (verify(io.BytesIO(bundle)), verify(io.BytesIO(bundle), recompute=recompute)):
        assert exit_status(checked) in (0, 10, 11), checked


def test_a_plan_without_labels_has_no_list(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(6))
    answer = service.client.get(f"{RECORDS}/{prereg_id}/labels")
    assert answer.status_code == 404
    assert "`labels`" in answer.json()["detail"]


def test_plans_without_labels_keep_their_bytes(service: Service) -> None:
    plan = service.client.get(f"{RECORDS}/{locked(service.client, small_plan(6))}").json()["plan"]
    assert "labels" not in plan["endpoints"][0]


@pytest.mark.parametrize(
    ("change", "code", "path"),
    [
        ({"id": "other.audit"}, "LABELS", "endpoints[1].labels"),
        ({"labels": {"n": N - 1, "seed": 1}}, "LABELS", "endpoints[1].labels.n"),
        ({"labels": {"n": 12, "seed": 1}}, "LABEL_BUDGET", "endpoints[1].labels.n"),
        ({"kind": "continuous"}, "AUDIT", "endpoints[1]"),
        ({"role": "primary"}, "AUDIT", "endpoints[1]"),
    ],
)
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # lint asks no database
def test_lint_of_the_draw(service: Service, change: dict[str, Any], code: str, path: str) -> None:
    plan = planned()
    plan["endpoints"][1] |= change
    assert (code, path) in codes(service, plan)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_lint_of_what_labels_go_with(service: Service) -> None:
    clean = {code for code, _ in codes(service, planned())}
    assert not clean & {"LABELS", "LABEL_BUDGET", "JUDGE_UNDESCRIBED", "AUDIT"}
    nobody = planned()
    del nobody["endpoints"][0]["judge"]
    assert ("LABELS", "endpoints[0].judge") in codes(service, nobody)
    named = planned()
    named["endpoints"][0]["judge"] = {"model": "judge-1"}
    assert ("JUDGE_UNDESCRIBED", "endpoints[0].judge") in codes(service, named)
    assert ("LABELS", "endpoints[1].labels") in codes(service, planned(missing="worst_case"))
    stopping = {"kind": "group_sequential", "looks": 2}
    assert ("LABELS", "endpoints[1].labels") in codes(service, planned(stopping=stopping))
    alone = planned()
    alone["hypotheses"][0]["endpoint"] = "accuracy.audit"
    assert ("LABELS", "hypotheses[0].endpoint") in codes(service, alone)


def codes(service: Service, plan: dict[str, Any]) -> set[tuple[str, str]]:
    prereg_id = draft(service.client, plan)
    findings = service.client.post(f"{RECORDS}/{prereg_id}/lint").json()["findings"]
    return {(finding["code"], finding["path"]) for finding in findings}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_markdown_reads_back(service: Service, language: str) -> None:
    first = draft(service.client, planned())
    text = service.client.get(f"{RECORDS}/{first}/prereg.md", params={"lang": language}).text
    read = service.client.post(RECORDS, content=text, headers={"Content-Type": "text/markdown"})
    assert read.status_code == 201, read.text
    assert read.json()["plan"] == service.client.get(f"{RECORDS}/{first}").json()["plan"]


def corrected(n: int = 400, labels: int = 160, **changes: Any) -> dict[str, Any]:
    """A claim about what people would say of all items, by the corrected difference."""
    plan = planned(n, **changes)
    plan["endpoints"][1]["labels"]["n"] = labels
    plan["hypotheses"][0] |= {
        "about": "labels",
        "statement": "B answers more questions than A, as people judge answers",
        "rule": "ppi.ci.low > 0",
    }
    plan["tests"] = [{"id": "ppi", "test": "prediction-powered", "version": 1}]
    return plan


def world(n: int, kind: str) -> dict[str, tuple[list[float], list[float]]]:
    """By arm, what the judge says and what people say of every item.

    `fair`: people find B better, and so does the judge but for errors. `fooled`: people find both alike, and the judge
    prefers B's style. `blind`: people find B better, and the judge does not see it.
    """
    rng = np.random.default_rng(5)
    style = rng.random(n) < 0.3
    both = rng.random(n) < 0.5
    better = both | (rng.random(n) < 0.3)
    before = both.astype(float)
    after = np.where(rng.random(n) < 0.2, ~both, both) if kind == "fooled" else better
    after = after.astype(float)
    judged = {"fair": after, "fooled": np.maximum(after, style), "blind": before}[kind]
    errs = rng.random((2, n)) < 0.05
    seen = [np.where(err, 1 - values, values) for err, values in zip(errs, (before, judged), strict=True)]
    return {"A": (seen[0].tolist(), before.tolist()), "B": (seen[1].tolist(), after.tolist())}


@pytest.mark.parametrize(
    ("kind", "outcome"),
    mostly_slow([("fooled", "not_supported"), ("fair", "supported"), ("blind", "supported")]),
)
def test_from_markdown_to_the_bundle(service: Service, tmp_path: Path, kind: str, outcome: str) -> None:
    n = 400
    first = draft(service.client, corrected(n))
    for language in ("en", "zh"):
        text = service.client.get(f"{RECORDS}/{first}/prereg.md", params={"lang": language}).text
        read = service.client.post(RECORDS, content=text, headers={"Content-Type": "text/markdown"})
        assert read.json()["plan"] == service.client.get(f"{RECORDS}/{first}").json()["plan"], read.text
    prereg_id = read.json()["id"]
    service.client.put(f"{RECORDS}/{prereg_id}/populations/p/items", json={"item_ids": items(n)})
    answer = lock(service.client, prereg_id)
    assert answer.status_code == 200, answer.text
    arms = world(n, kind)
    for arm, (judge, _) in arms.items():
        assert post(service.client, prereg_id, arm, items(n), judge).status_code == 201
    assert service.client.get(f"{RECORDS}/{prereg_id}/verdict").json()["code"] == "blinded"
    said: dict[str, dict[str, float]] = {"A": {}, "B": {}}
    for row in the_list(service, prereg_id, limit=200):
        said[row["arm"]][row["item_id"]] = arms[row["arm"]][1][int(row["item_id"][5:])]
    for arm, values in said.items():
        assert label(service, prereg_id, arm, values).status_code == 201
    assert service.run_jobs() == 1
    (judged,) = service.client.get(f"{RECORDS}/{prereg_id}/verdict").json()["hypotheses"]
    assert judged["outcome"] == outcome, judged["sentence"]
    analysis = judged["analyses"]["ppi"]["analysis"]
    assert (analysis["n_labelled"], analysis["n_unlabelled"]) == (160, 240)
    assert judged["n"] == n
    assert "by people's labels" in judged["sentence"] or "as people label" in judged["sentence"]
    if kind == "fooled":
        assert judged["delta"] > 0.05
        assert analysis["ci"]["low"] < 0 < analysis["ci"]["high"]
    words = service.client.get(f"{RECORDS}/{prereg_id}/verdict/sentences").json()["hypotheses"][0]
    assert "人工标注" in words["sentences"]["zh"]
    assert "by people's labels" in words["headline"]["en"]
    for path in (
        "report.md", "report.html", "report.tex", "evidence.md", "evidence", "multiverse", "deviations",
        "charts/forest.json", "charts/arms.json", "charts/power.json",
    ):  # fmt: skip
        assert service.client.get(f"{RECORDS}/{prereg_id}/{path}").status_code == 200, path
    bundle = service.client.get(f"{RECORDS}/{prereg_id}/bundle").content
    expected = {"supported": 0, "not_supported": 10}[outcome]
    assert exit_status(verify(io.BytesIO(bundle))) == expected
    checked = verify(io.BytesIO(bundle), recompute=recompute)
    assert exit_status(checked) == expected, checked
    (tmp_path / "bundle.zip").write_bytes(bundle)
    assert main(["verify", str(tmp_path / "bundle.zip")]) == expected


def test_a_label_that_nobody_could_give_leaves_its_item_out(service: Service) -> None:
    prereg_id = locked(service.client, corrected(100, 40))
    arms = world(100, "fair")
    for arm, (judge, _) in arms.items():
        assert post(service.client, prereg_id, arm, items(100), judge).status_code == 201
    rows = the_list(service, prereg_id, limit=200)
    for arm, (_, people) in arms.items():
        names = [row["item_id"] for row in rows if row["arm"] == arm]
        values: list[float | None] = [people[int(name[5:])] for name in names]
        status = ["ok"] * len(names)
        if arm == "B":
            values[0], status[0] = None, "missing"
        sent = post(service.client, prereg_id, arm, names, values, endpoint="accuracy.audit", status=status)
        assert sent.status_code == 201, sent.text
    assert service.run_jobs() == 1
    (judged,) = service.client.get(f"{RECORDS}/{prereg_id}/verdict").json()["hypotheses"]
    analysis = judged["analyses"]["ppi"]["analysis"]
    assert (analysis["n_labelled"], analysis["n_unlabelled"], judged["n"]) == (39, 60, 99)
    assert judged["excluded"]["pairs"] == 1


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_lint_of_rules_on_labels(service: Service) -> None:
    plan = corrected()
    assert not {code for code, _ in codes(service, plan)} & {"CLAIM_NOT_ASSERTED", "ABOUT_DIFFERS", "LABELS"}
    undrawn = copy.deepcopy(plan)
    del undrawn["endpoints"][1]["labels"]
    assert ("LABELS", "hypotheses[0].rule") in codes(service, undrawn)
    for rule in ("ppi.estimate > 0", "ppi.p_value < 0.05", "ppi.judge_alone > 0"):
        plan["hypotheses"][0]["rule"] = rule
        assert ("CLAIM_NOT_ASSERTED", "hypotheses[0].rule") in codes(service, plan), rule
    plan["hypotheses"][0] |= {"rule": "ppi.ci.low > 0", "about": "mean"}
    assert ("ABOUT_DIFFERS", "hypotheses[0].about") in codes(service, plan)


def of_one_arm(**hypothesis: Any) -> dict[str, Any]:
    """A claim about one arm's share as people label its answers."""
    plan = corrected(600, 200)
    plan["hypotheses"][0] |= {
        "claim": "at_least",
        "statement": "B answers at least 80 % of questions, as people judge answers",
        "candidate": "B",
        "reference": {"value": 80, "unit": "%"},
        "rule": "ppi.ci.low >= 80%",
    } | hypothesis
    del plan["hypotheses"][0]["baseline"]
    plan["multiplicity"] = {"policy": "none", "family": [plan["hypotheses"][0]["id"]]}
    return plan


def one_arm_world(kind: str) -> tuple[list[float], list[float]]:
    """What the judge says of 600 items, and what people say.

    `fair`: 90 % are right, and the judge seldom errs. `flattered`: people call 70 % right, the judge 90 %. `strict`:
    people call 90 % right, the judge 75 %.
    """
    rng = np.random.default_rng(7)
    people = (rng.random(600) < (0.7 if kind == "flattered" else 0.9)).astype(float)
    turned = {"fair": 0.02, "flattered": 0.7, "strict": 0.17}[kind]
    wrongly = rng.random(600) < turned
    judge = np.where(wrongly & (people == (0 if kind == "flattered" else 1)), 1 - people, people)
    return judge.tolist(), people.tolist()


@pytest.mark.parametrize(
    ("kind", "outcome"),
    mostly_slow([("flattered", "not_supported"), ("fair", "supported"), ("strict", "supported")]),
)
def test_one_arm_from_markdown_to_the_bundle(
    service: Service, tmp_path: Path, kind: str, outcome: str
) -> None:
    first = draft(service.client, of_one_arm())
    for language in ("en", "zh"):
        text = service.client.get(f"{RECORDS}/{first}/prereg.md", params={"lang": language}).text
        read = service.client.post(RECORDS, content=text, headers={"Content-Type": "text/markdown"})
        assert read.json()["plan"] == service.client.get(f"{RECORDS}/{first}").json()["plan"], read.text
    prereg_id = read.json()["id"]
    service.client.put(f"{RECORDS}/{prereg_id}/populations/p/items", json={"item_ids": items(600)})
    answer = lock(service.client, prereg_id)
    assert answer.status_code == 200, answer.text
    judge, people = one_arm_world(kind)
    assert post(service.client, prereg_id, "B", items(600), judge).status_code == 201
    rows = the_list(service, prereg_id, limit=200)
    assert {row["arm"] for row in rows} == {"B"}
    assert service.client.get(f"{RECORDS}/{prereg_id}/verdict").json()["code"] == "blinded"
    said = {row["item_id"]: people[int(row["item_id"][5:])] for row in rows}
    assert label(service, prereg_id, "B", said).status_code == 201
    assert service.run_jobs() == 1
    (judged,) = service.client.get(f"{RECORDS}/{prereg_id}/verdict").json()["hypotheses"]
    assert judged["outcome"] == outcome, judged["sentence"]
    analysis = judged["analyses"]["ppi"]["analysis"]
    assert (analysis["n_labelled"], analysis["n_unlabelled"], analysis["delta"]) == (200, 400, None)
    assert analysis["ci"]["method"] == "t_skewed"
    assert judged["mean"] == pytest.approx(sum(judge) / 600)
    assert (judged["mean"] < 0.8) == (kind == "strict")
    corrected_to = f"{100 * analysis['estimate']:.2f}%"
    assert f"corrects it by people's labels ({corrected_to})" in judged["sentence"], judged["sentence"]
    words = service.client.get(f"{RECORDS}/{prereg_id}/verdict/sentences").json()["hypotheses"][0]
    assert "人工标注" in words["sentences"]["zh"]
    assert f"by people's labels {corrected_to}" in words["headline"]["en"], words["headline"]
    for path in (
        "report.md", "report.html", "report.tex", "evidence.md", "evidence", "multiverse", "deviations",
        "charts/forest.json", "charts/arms.json", "charts/power.json",
    ):  # fmt: skip
        told = service.client.get(f"{RECORDS}/{prereg_id}/{path}")
        assert told.status_code == 200, (path, told.text)
    bundle = service.client.get(f"{RECORDS}/{prereg_id}/bundle").content
    expected = {"supported": 0, "not_supported": 10}[outcome]
    checked = verify(io.BytesIO(bundle), recompute=recompute)
    assert exit_status(checked) == expected, checked
    (tmp_path / "bundle.zip").write_bytes(bundle)
    assert main(["verify", str(tmp_path / "bundle.zip")]) == expected


@pytest.mark.parametrize(
    ("hypothesis", "code"),
    [
        ({"rule": "ppi.estimate >= 80%"}, "CLAIM_NOT_ASSERTED"),
        ({"rule": "ppi.ci.low >= 70%"}, "CLAIM_NOT_ASSERTED"),
        ({"rule": "ppi.judge_alone >= 80%"}, "CLAIM_NOT_ASSERTED"),
        ({"rule": "ppi.p_value < 0.05"}, "TEST_ARMS"),
        ({"about": "mean"}, "ABOUT_DIFFERS"),
        ({"rule": "ppi.ci.low >= 99%", "reference": {"value": 99, "unit": "%"}}, "RULE_NEVER_PASSES"),
    ],
)
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # lint asks no database
def test_what_does_not_bear_out_a_corrected_claim_of_one_arm(
    service: Service, hypothesis: dict[str, Any], code: str
) -> None:
    assert code in {found for found, _ in codes(service, of_one_arm(**hypothesis))}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_scores_and_clusters_of_one_arm_are_not_corrected(service: Service) -> None:
    assert not {code for code, _ in codes(service, of_one_arm())} & {
        "CLAIM_NOT_ASSERTED", "ABOUT_DIFFERS", "LABELS", "LEVEL_ABOVE_ALPHA", "TEST_ARMS",
    }  # fmt: skip
    clustered = of_one_arm()
    clustered["populations"][0]["clusters"] = {"key": "doc", "n": 30}
    scores = of_one_arm(
        reference={"value": 0.8, "unit": "score"}, rule="ppi.ci.low >= 0.8", statement="B reaches 0.8"
    )
    for endpoint in scores["endpoints"]:
        endpoint |= {"kind": "continuous", "bounds": {"low": 0, "high": 1}}
    scores["sesoi"] = {"accuracy": {"value": 0.02, "unit": "score"}}
    for plan in (clustered, scores):
        created = service.client.post(RECORDS, json=plan)
        assert created.status_code == 201, created.text
        found = service.client.post(f"{RECORDS}/{created.json()['id']}/lint").json()["findings"]
        assert ("LABELS", "hypotheses[0].rule") in {(each["code"], each["path"]) for each in found}, found
