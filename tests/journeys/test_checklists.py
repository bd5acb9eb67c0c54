"""Checklists of reporting standards over HTTP, by command and from the page, before the verdict and after."""

from __future__ import annotations

import json
from typing import Any

import pytest

from service.reports.forms.standards import STANDARDS
from tests.journeys.conftest import Service, only_sqlite
from tests.journeys.filings import BASELINE, CANDIDATE, N, judged
from tests.journeys.plans import draft, items, locked, post, small_plan
from tests.journeys.states import path

pytestmark = only_sqlite  # they read what report and evidence card read, which are tested on both


def asked(service: Service, prereg_id: str, form: str, standard: str, **more: str) -> Any:
    return service.client.get(path(prereg_id, f"report.{form}"), params={"form": standard, **more})


def test_a_judged_record_fills_every_checklist_in_every_form(service: Service) -> None:
    prereg_id = judged(service, authors=[{"name": "Ada Lovelace"}])
    service.client.put(
        path(prereg_id, "links", "code"), json={"kind": "other", "url": "https://example.org/code"}
    )
    for standard in STANDARDS:
        answers = {form: asked(service, prereg_id, form, standard) for form in ("md", "html", "json")}
        assert {answer.status_code for answer in answers.values()} == {200}
        content = answers["json"].json()
        assert (content["form"], content["preregistration_id"], content["state"]) == (
            standard,
            prereg_id,
            "judged",
        )
        assert content["in_record"] > 0 < content["not_in_record"]
        for text in (answers["md"].text, answers["html"].text):
            assert "Ada Lovelace" in text
            assert content["version"] in text
        assert f'filename="{prereg_id}-{standard}.md"' in answers["md"].headers["content-disposition"]
    pdf = asked(service, prereg_id, "pdf", "nist", lang="zh")
    assert (pdf.status_code, pdf.content[:5]) == (200, b"%PDF-")
    assert "规范" not in asked(service, prereg_id, "md", "nist").text
    report = asked(service, prereg_id, "json", "nist").json()
    facts = [fact for section in report["sections"] for item in section["items"] for fact in item["facts"]]
    verdict = service.client.get(path(prereg_id, "verdict/sentences")).json()
    headline = verdict["hypotheses"][0]["headline"]["en"]
    assert any(
        headline in line["en"] for each in facts if each["fact"] == "outcomes" for line in each["says"]
    )
    assert any("https://example.org/code" in line["en"] for each in facts for line in each["says"])


def test_before_the_verdict_the_checklist_tells_what_is_open_and_no_outcome(service: Service) -> None:
    plan = small_plan(N)
    blind = []
    for candidate in (CANDIDATE, [0] * N):
        prereg_id = locked(service.client, plan)
        assert post(service.client, prereg_id, "B", items(N), candidate).status_code == 201
        blind.append(asked(service, prereg_id, "json", "reforms").json())
        assert "There is no verdict yet" in asked(service, prereg_id, "md", "reforms").text
    sections = [json.dumps(each["sections"]).replace(each["preregistration_id"], "") for each in blind]
    first, second = ([part for part in each.split('"') if "SHA-256" not in part] for each in sections)
    assert first == second
    assert BASELINE != CANDIDATE
    assert asked(service, draft(service.client, plan), "html", "gpai").status_code == 200


@pytest.mark.parametrize(("form", "standard"), [("md", "stream"), ("tex", "nist"), ("md", "")])
def test_what_there_is_no_checklist_of_is_refused(service: Service, form: str, standard: str) -> None:
    refused = asked(service, draft(service.client, small_plan(N)), form, standard)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["path"] in ("form", "query.form")


def test_another_project_is_told_nothing(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    other = service.key(project_id=service.project("other"))
    headers = {"Authorization": f"Bearer {other}"}
    refused = service.client.get(path(prereg_id, "report.md"), params={"form": "nist"}, headers=headers)
    assert refused.status_code == 404
