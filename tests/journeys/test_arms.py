"""Arm cards from the lock to the bundle: results of another system are marked as the card says."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.ingest.truth import folder
from tests.journeys.bundles import bundle, checked, failures
from tests.journeys.conftest import Service
from tests.journeys.imported import manifest, send
from tests.journeys.imported import plan as imported_plan
from tests.journeys.plans import draft, items, lock, locked, post, small_plan
from tests.journeys.states import path, verdict

pytestmark = pytest.mark.any_database

N = 6
MODEL = {"name": "mockllm/model"}


def cards(effect: str, **model: str) -> list[dict[str, Any]]:
    return [
        {"id": "A", "model": MODEL},
        {"id": "B", "model": MODEL | model, "decoding": {"temperature": 0}, "on_difference": effect},
    ]


def results(service: Service, prereg_id: str, arm: str, **environment: str) -> None:
    answer = service.client.post(path(prereg_id, "runs"), json={"arm": arm, "environment": environment})
    assert answer.status_code == 201, answer.text
    run = answer.json()["run"]
    posted = post(service.client, prereg_id, arm, items(N), [float(arm == "B")] * N, run=run)
    assert posted.status_code == 201, posted.text


@pytest.mark.parametrize("effect", ["invalid", "flag", "note"])
def test_a_run_of_another_system_does_what_the_card_says(service: Service, effect: str) -> None:
    plan = small_plan(N) | {"arms": cards(effect, revision="2027-01-04")}
    prereg_id = draft(service.client, plan)
    file = service.client.get(path(prereg_id, "prereg.md"), params={"lang": "zh"})
    again = service.client.post(
        "/v1/preregistrations", content=file.content, headers={"Content-Type": "text/markdown"}
    )
    assert again.json()["plan"] == service.client.get(path(prereg_id)).json()["plan"]
    assert lock(service.client, prereg_id).status_code == 200
    results(service, prereg_id, "A", **{"model.name": "mockllm/model", "decoding.temperature": "9"})
    results(service, prereg_id, "B", **{"model.revision": "2027-02-01", "decoding.temperature": "0.0"})
    (mark,) = service.client.get(path(prereg_id, "runs")).json()["marks"]
    told = verdict(service, prereg_id)
    assert [(each["code"], each["says"]) for each in told["marks"]] == [("arm_differs", mark["says"])]
    assert (mark["code"], mark["effect"], mark["batches"]) == ("arm_differs", effect, [2])
    assert mark["says"].endswith("describes for arm 'B' (model.revision)")
    (judged,) = told["hypotheses"]
    assert judged["outcome"] == ("invalid" if effect == "invalid" else "supported")
    assert (mark["says"] in judged["sentence"]) is (effect != "note")
    for language, word in (("en", "another system"), ("zh", "不同的系统")):
        report = service.client.get(path(prereg_id, "report.md"), params={"lang": language}).text
        assert word in report
        assert "model.name mockllm/model, model.revision 2027-01-04, decoding.temperature 0" in report
    for form in ("html", "tex", "json"):
        assert "2027-01-04" in service.client.get(path(prereg_id, f"report.{form}")).text, form
    visitor = TestClient(service.app, follow_redirects=False)
    assert visitor.post("/login", data={"key": service.key()}).status_code == 303
    assert "model.revision 2027-01-04" in visitor.get(f"/preregistrations/{prereg_id}").text
    assert failures(checked(bundle(service, prereg_id))) == []


def test_a_file_of_another_system_is_on_record_before_the_verdict_and_in_the_bundle(service: Service) -> None:
    plan = imported_plan() | {"arms": cards("flag")}
    plan["arms"][1]["harness"] = {"name": "inspect_ai", "version": "0.3.200"}
    prereg_id = locked(service.client, plan, {"p": manifest()})
    first = send(service, prereg_id, folder("inspect") / "baseline.eval")
    assert first.json()["batches"][0]["card_differs"] == []
    second = send(
        service, prereg_id, folder("inspect") / "candidate.eval", on_duplicate="skip", complete=True, arm="B"
    )
    assert second.json()["batches"][0]["card_differs"] == ["harness.version"]
    (mark,) = service.client.get(path(prereg_id, "runs")).json()["marks"]
    assert (mark["code"], mark["effect"], mark["batches"]) == ("arm_differs", "flag", [2])
    told = verdict(service, prereg_id)
    assert [each["code"] for each in told["marks"]] == ["arm_differs"]
    assert mark["says"] in told["hypotheses"][0]["sentence"]
    assert failures(checked(bundle(service, prereg_id))) == []


def test_cards_of_the_system_that_ran_leave_no_mark(service: Service) -> None:
    prereg_id = locked(service.client, imported_plan() | {"arms": cards("invalid")}, {"p": manifest()})
    for arm in ("baseline", "candidate"):
        sent = send(service, prereg_id, folder("inspect") / f"{arm}.eval", on_duplicate="skip", complete=True)
        assert sent.status_code == 201, sent.text
    assert "marks" not in verdict(service, prereg_id)
