"""From EXPERIMENTS_PREREG.md to a verdict and back: gaps, lock, results, PREREG.md, DEVIATIONS.md, card, words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from service.api.examples.deviations import FILING
from service.api.parsing.markdown import MAX_MARKDOWN
from service.domain.plans.plan import Plan
from service.reports.prereg.markdown import parse_plan
from service.reports.prereg.print import print_plan
from service.store.verdicts import verdicts
from tests.api.conftest import bearer
from tests.reports.prereg.files import CHINESE, FILLED, TEMPLATE

from .conftest import Service
from .plans import draft, idempotent, items, lock, locked, post, small_plan

pytestmark = pytest.mark.any_database

MARKDOWN = {"Content-Type": "text/markdown"}
RECORDS = "/v1/preregistrations"


def posted(service: Service, text: str, **headers: str) -> Any:
    return service.client.post(RECORDS, content=text.encode(), headers={**MARKDOWN, **headers})


def put(service: Service, prereg_id: str, population: str, n: int, clusters: int | None = None) -> None:
    body: dict[str, Any] = {"item_ids": items(n)}
    if clusters is not None:
        body["clusters"] = [f"conversation {item % clusters}" for item in range(n)]
    answered = service.client.put(f"{RECORDS}/{prereg_id}/populations/{population}/items", json=body)
    assert answered.status_code == 200, answered.text


def fill(service: Service, prereg_id: str, plan: dict[str, Any]) -> None:
    """Every planned result: in LongMemEval-S C3 wins ten items, in LoCoMo nothing changes."""
    for population in plan["populations"]:
        name, n = population["id"], population["n"]
        arms = ("C1", "C3") if name == "LongMemEval-S" else ("C3", "C4")
        for arm in arms:
            better = arm == "C3" and name == "LongMemEval-S"
            values = [1 if item < n // 2 + (10 if better else 0) else 0 for item in range(n)]
            answered = post(service.client, prereg_id, arm, items(n), values, population=name)
            assert answered.status_code == 201, answered.text
            if name == "LoCoMo":
                scores = post(
                    service.client, prereg_id, arm, items(n), [0.25] * n, population=name, endpoint="token-F1"
                )
                assert scores.status_code == 201, scores.text


def test_the_template_is_posted_filled_locked_run_and_printed(service: Service) -> None:
    template = posted(service, TEMPLATE)
    assert template.status_code == 201, template.text
    gaps = template.json()["gaps"]
    assert {"MISSING_SECTION", "INDEPENDENCE_NOT_STATED", "RULE_NEVER_PASSES", "ASSUMED", "UNREAD"} <= {
        gap["code"] for gap in gaps
    }
    assert {"code", "path", "line", "message"} == set(gaps[0])
    refused = lock(service.client, template.json()["id"])
    assert (refused.status_code, refused.json()["code"]) == (422, "lint_failed")

    filled = posted(service, FILLED)
    assert filled.status_code == 201, filled.text
    assert filled.headers["Location"] == f"{RECORDS}/{filled.json()['id']}"
    assert {gap["code"] for gap in filled.json()["gaps"]} == {"ASSUMED", "UNREAD", "MISSING_MANIFEST"}
    prereg_id, plan = filled.json()["id"], filled.json()["plan"]
    sizes = {each["id"]: each["n"] for each in plan["populations"]}
    put(service, prereg_id, "LongMemEval-S", sizes["LongMemEval-S"])
    put(service, prereg_id, "LoCoMo", sizes["LoCoMo"], clusters=8)
    answered = lock(service.client, prereg_id)
    assert answered.status_code == 200, answered.text
    filing = FILING | {"change": {"kind": "other"}}
    assert service.client.post(f"{RECORDS}/{prereg_id}/deviations", json=filing).status_code == 201
    fill(service, prereg_id, plan)
    assert service.run_jobs() == 1

    stored = service.client.get(f"{RECORDS}/{prereg_id}").json()["plan"]
    for lang, heading in (("en", "## Hypotheses"), ("zh", "## 假设")):
        printed = service.client.get(f"{RECORDS}/{prereg_id}/prereg.md?lang={lang}")
        assert printed.headers["Content-Type"] == "text/markdown; charset=utf-8"
        assert heading in printed.text
        assert parse_plan(printed.text)[0] == Plan.from_dict(stored)
    deviations = service.client.get(f"{RECORDS}/{prereg_id}/deviations.md").text
    assert "## Deviation 1: H1a sample size 500 to 400" in deviations
    assert "**Reason**: The API budget." in deviations
    assert "What they do to the verdict" in deviations
    card = service.client.get(f"{RECORDS}/{prereg_id}/evidence").json()
    verdict = service.client.get(f"{RECORDS}/{prereg_id}/verdict").json()
    assert {each["hypothesis"]: each["outcome"] for each in card["hypotheses"]} == {
        each["id"]: each["outcome"] for each in verdict["hypotheses"]
    }
    assert (card["results_received"], card["most"]) == (2 * 60 + 4 * 80, 10)
    assert {each["id"]: each["score"] for each in card["pieces"]}["preregistration"] == 1
    for lang, heading in (("en", "# Five pieces of evidence"), ("zh", "# 五件证据")):
        page = service.client.get(f"{RECORDS}/{prereg_id}/evidence.md?lang={lang}").text
        assert page.startswith(heading)
        assert f"{card['score']} " in page


def test_the_file_in_chinese_is_a_draft_too(service: Service) -> None:
    answered = posted(service, CHINESE)
    assert answered.status_code == 201
    assert [each["id"] for each in answered.json()["plan"]["hypotheses"]] == ["H1a", "H1b"]


def test_a_plan_as_json_is_answered_as_before(service: Service) -> None:
    answered = service.client.post(RECORDS, json=small_plan())
    assert answered.status_code == 201
    assert "gaps" not in answered.json()


def test_a_printed_plan_posted_again_is_the_same_plan(service: Service) -> None:
    plan = small_plan(title="Pipes | `ticks` and *stars*", missing="fail")
    first = service.client.post(RECORDS, json=plan).json()
    for lang in ("en", "zh"):
        text = service.client.get(f"{RECORDS}/{first['id']}/prereg.md?lang={lang}").text
        again = posted(service, text).json()
        assert again["plan"] == first["plan"]
        assert {gap["code"] for gap in again["gaps"]} == {"MISSING_MANIFEST"}


def test_a_retry_makes_one_draft(service: Service) -> None:
    headers = idempotent()
    answers = [posted(service, FILLED, **headers) for _ in range(2)]
    assert answers[0].content == answers[1].content
    assert len(service.client.get(RECORDS).json()["items"]) == 1


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "empty_body"),
        (b"\xff\xfe", 400, "invalid_encoding"),
        (b"# A\0", 400, "invalid_text"),
        (b"a" * (MAX_MARKDOWN + 1), 413, "body_too_large"),
    ],
)
def test_what_is_no_text_is_refused(service: Service, body: bytes, status: int, code: str) -> None:
    answered = service.client.post(RECORDS, content=body, headers=MARKDOWN)
    assert (answered.status_code, answered.json()["code"]) == (status, code)


def judged(service: Service, candidate: list[int] | None = None) -> str:
    prereg_id = locked(service.client, small_plan(30))
    assert post(service.client, prereg_id, "A", items(30), [1] * 10 + [0] * 20).status_code == 201
    assert (
        post(service.client, prereg_id, "B", items(30), candidate or [1] * 20 + [0] * 10).status_code == 201
    )
    assert service.run_jobs() == 1
    return prereg_id


def test_the_words_of_a_verdict_leave_it_and_its_hash_as_they_are(service: Service) -> None:
    prereg_id = judged(service)
    before = service.client.get(f"{RECORDS}/{prereg_id}/verdict").content
    words = service.client.get(f"{RECORDS}/{prereg_id}/verdict/sentences").json()
    verdict = json.loads(before)
    (found,) = words["hypotheses"]
    assert found["sentences"]["en"] == verdict["hypotheses"][0]["sentence"]
    assert found["sentences"]["zh"].startswith("假设 H1a 得到支持")
    assert [note["code"] for note in found["notes"]] == ["WINNERS_CURSE"]
    with service.database.read() as session:
        stored = verdicts.find(session, service.project_id, prereg_id)
    assert stored is not None
    assert words["verdict_sha256"] == stored.sha256()
    assert service.client.get(f"{RECORDS}/{prereg_id}/verdict").content == before


def views(service: Service, prereg_id: str) -> dict[str, Any]:
    """What the card, the files and the lint of words answer, without what names the record or the time."""
    paths = (
        "evidence", "evidence.md", "evidence.md?lang=zh", "prereg.md", "deviations.md", "verdict/sentences",
    )  # fmt: skip
    answers = {path: service.client.get(f"{RECORDS}/{prereg_id}/{path}") for path in paths}
    body = {"text": "H1a is supported. There is no effect.", "preregistration_id": prereg_id}
    answers["wording"] = service.client.post("/v1/wording", json=body)
    record = service.client.get(f"{RECORDS}/{prereg_id}").json()
    found = {}
    for path, answered in answers.items():
        text = answered.text.replace(prereg_id, "ID")
        for name in ("locked_at", "created_at"):
            text = text.replace(str(record[name]), "AT").replace(
                str(record[name]).replace("Z", "+00:00"), "AT"
            )
        card = json.loads(text) if path == "evidence" else {}
        for moment in [card.get("first_result_at")]:
            text = text.replace(str(moment), "AT")
        found[path] = (answered.status_code, len(text) if path.startswith("evidence.md") else text)
    return found


def test_before_the_verdict_nothing_depends_on_outcomes(service: Service) -> None:
    """Two records that differ in their sealed outcomes alone look alike, one batch short of complete."""
    seen = []
    for outcome in (0, 1):
        prereg_id = locked(service.client, small_plan(30))
        assert post(service.client, prereg_id, "A", items(30), [outcome] * 30).status_code == 201
        assert post(service.client, prereg_id, "B", items(29), [outcome] * 29).status_code == 201
        seen.append(views(service, prereg_id))
    assert seen[0].keys() == seen[1].keys()
    first, second = seen
    assert first["verdict/sentences"][0] == 409
    for path in ("prereg.md", "deviations.md", "wording", "verdict/sentences"):
        assert first[path] == second[path], path
    assert first["evidence.md"] == second["evidence.md"]
    cards = [json.loads(each["evidence"][1]) for each in seen]
    for card in cards:  # the ledger's sequence numbers stand in the words of one check
        del card["pieces"][0]["checks"][1]["says"]
    assert cards[0] == cards[1]


def test_another_project_sees_none_of_it(service: Service) -> None:
    prereg_id = judged(service)
    stranger = bearer(service.key(project_id=service.project("other")))
    for path in ("prereg.md", "deviations.md", "evidence", "evidence.md", "verdict/sentences"):
        answered = service.client.get(f"{RECORDS}/{prereg_id}/{path}", headers=stranger)
        assert (answered.status_code, answered.json()["code"]) == (404, "not_found"), path
    body = {"text": "H1a is supported.", "preregistration_id": prereg_id}
    assert service.client.post("/v1/wording", json=body, headers=stranger).status_code == 404


@pytest.mark.parametrize(
    ("scope", "allowed"),
    [("read", {"evidence", "prereg.md"}), ("tests:run", {"paper", "wording"}), ("plans:write", {"draft"})],
)
def test_each_route_has_its_scope(service: Service, scope: str, allowed: set[str]) -> None:
    prereg_id = draft(service.client, small_plan())
    key = bearer(service.key(scope))
    client, about = service.client, f"{RECORDS}/{prereg_id}"
    answers = {
        "evidence": client.get(f"{about}/evidence", headers=key),
        "prereg.md": client.get(f"{about}/prereg.md", headers=key),
        "paper": client.post("/v1/evidence", json={}, headers=key),
        "wording": client.post("/v1/wording", json={"text": "equal"}, headers=key),
        "draft": client.post(RECORDS, content=FILLED.encode(), headers=key | MARKDOWN),
    }
    assert {name for name, answered in answers.items() if answered.status_code < 300} == allowed
    assert {answers[name].status_code for name in set(answers) - allowed} == {403}
    about_record = {"text": "equal", "preregistration_id": prereg_id}
    if scope == "tests:run":
        assert client.post("/v1/wording", json=about_record, headers=key).status_code == 403


def test_words_are_judged_by_what_the_record_shows(service: Service) -> None:
    prereg_id = judged(service, candidate=[1] * 10 + [0] * 20)
    text = "H1a is supported, and the arms are equivalent."
    body = {"text": text, "preregistration_id": prereg_id}
    found = service.client.post("/v1/wording", json=body).json()["findings"]
    assert [each["code"] for each in found] == ["OUTCOME_CONTRADICTED", "EQUIVALENCE_WITHOUT_TEST"]
    sentence = service.client.get(f"{RECORDS}/{prereg_id}/verdict").json()["hypotheses"][0]["sentence"]
    assert {each["better"] for each in found} == {sentence}


def test_words_are_judged_by_the_analyses_that_are_sent(service: Service) -> None:
    counts = {"both_correct": 1500, "only_baseline": 5, "only_candidate": 5, "both_wrong": 490}
    request = counts | {"margin": {"value": 2, "unit": "pp"}}
    analysis = service.client.post("/v1/tests/equivalence", json=request).json()
    assert analysis["analysis"]["equivalent"] is True
    text = {"text": "The arms are equivalent within 2 pp."}
    assert service.client.post("/v1/wording", json=text | {"analyses": [analysis]}).json()["findings"] == []
    assert len(service.client.post("/v1/wording", json=text).json()["findings"]) == 1


def test_a_draft_has_a_file_and_a_card_but_no_deviations(service: Service) -> None:
    prereg_id = draft(service.client, small_plan())
    plan = Plan.from_dict(small_plan())
    assert service.client.get(f"{RECORDS}/{prereg_id}/prereg.md").text == print_plan(plan)
    assert service.client.get(f"{RECORDS}/{prereg_id}/evidence").json()["score"] == 0
    assert service.client.get(f"{RECORDS}/{prereg_id}/deviations.md").status_code == 409
    assert service.client.get(f"{RECORDS}/{prereg_id}/prereg.md?lang=fr").status_code == 422
