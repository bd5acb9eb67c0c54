"""The multiverse over HTTP: closed until the verdict, then every choice on record both ways."""

from __future__ import annotations

import pytest

from service.actions.verdicts import opening
from tests.api.conftest import bearer
from tests.journeys.fewer_items import FEWER
from tests.journeys.filings import BASELINE, CANDIDATE, N, deviations, file, judged

from .conftest import Service
from .plans import draft, items, locked, post, small_plan

pytestmark = pytest.mark.any_database


def path(prereg_id: str) -> str:
    return f"/v1/preregistrations/{prereg_id}/multiverse"


def test_before_the_verdict_it_is_closed_as_the_verdict_is(service: Service) -> None:
    unlocked = draft(service.client, small_plan(N))
    prereg_id = locked(service.client, small_plan(N))
    assert file(service, prereg_id, FEWER).status_code == 201
    states = [unlocked, prereg_id]
    refused = [service.client.get(path(each)) for each in states]
    assert post(service.client, prereg_id, "A", items(N), BASELINE).status_code == 201
    refused.append(service.client.get(path(prereg_id)))
    assert [(each.status_code, each.json()["code"]) for each in refused] == [(409, "blinded")] * 3
    assert post(service.client, prereg_id, "B", items(N), CANDIDATE).status_code == 201
    waiting = service.client.get(path(prereg_id))
    assert (waiting.status_code, waiting.json()["code"]) == (409, "verdict_pending")
    verdict = service.client.get(f"/v1/preregistrations/{prereg_id}/verdict")
    assert waiting.json() == verdict.json()


def test_two_records_with_other_outcomes_answer_alike_until_judged(service: Service) -> None:
    answers = []
    for values in (CANDIDATE, [1 - each for each in CANDIDATE]):
        prereg_id = locked(service.client, small_plan(N))
        post(service.client, prereg_id, "B", items(N), values)
        answers.append(service.client.get(path(prereg_id)).text.replace(prereg_id, "ID"))
    assert answers[0] == answers[1]


def test_after_the_verdict_every_choice_is_taken_both_ways(service: Service) -> None:
    prereg_id = judged(service)
    assert service.client.get(path(prereg_id)).json()["total"] == 1
    assert file(service, prereg_id, FEWER).status_code == 201
    assert file(service, prereg_id, {"kind": "missing_policy", "missing": "fail"}).status_code == 201
    assert file(service, prereg_id).status_code == 201  # another n: nothing to apply
    found = service.client.get(path(prereg_id)).json()
    assert (found["total"], found["computed"]) == (4, 4)
    assert [each["deviation"] for each in found["not_computed"]] == [3]
    (hypothesis,) = found["hypotheses"]
    assert (hypothesis["passes"], hypothesis["share"]) == (2, 0.5)
    assert hypothesis["decided_by"] == ["deviation 1"]
    listed = service.client.get(deviations(prereg_id)).json()["consequences"]
    run = next(each for each in found["universes"] if each["position"] == "as_run")
    assert run["hypotheses"]["H1a"]["outcome"] == listed["as_run"]["hypotheses"][0]["outcome"]
    verdict = service.client.get(f"/v1/preregistrations/{prereg_id}/verdict").json()["hypotheses"][0]
    planned = found["universes"][0]["hypotheses"]["H1a"]
    assert (planned["outcome"], planned["delta"]) == (verdict["outcome"], verdict["delta"])
    assert service.client.get(path(prereg_id)).json() == found


def test_a_record_with_too_many_rows_keeps_its_verdict(service: Service, monkeypatch) -> None:
    prereg_id = judged(service)
    file(service, prereg_id, FEWER)
    monkeypatch.setattr(opening, "MAX_ROWS", 10)
    found = service.client.get(path(prereg_id)).json()
    assert (found["computed"], found["universes"][0]["position"]) == (1, "as_planned")
    assert "at most" in found["reasons"][0]


def test_another_project_and_other_scopes_see_nothing(service: Service) -> None:
    prereg_id = judged(service)
    stranger = bearer(service.key(project_id=service.project("other")))
    answered = service.client.get(path(prereg_id), headers=stranger)
    assert (answered.status_code, answered.json()["code"]) == (404, "not_found")
    assert (
        service.client.get(path(prereg_id), headers=bearer(service.key("results:write"))).status_code == 403
    )
