"""The model of tomorrow: an arm is locked by a criterion, named before its results, and the verdict says as what."""

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
from tests.journeys.states import amend, path, verdict

pytestmark = pytest.mark.any_database

N = 6
CRITERION = "the first model of the family X that is released after the lock"
ARMS: list[dict[str, Any]] = [
    {"id": "A", "model": {"name": "x-1"}},
    {"id": "B", "criterion": CRITERION, "decoding": {"temperature": 0}, "on_difference": "flag"},
]
NAMING = {
    "card": {"model": {"name": "x-2", "revision": "2027-02-11"}, "tools": ["search"]},
    "evidence": {"text": "x-2 was released on 2027-02-11,\nand none before", "sha256": "e" * 64},
}


def name(service: Service, prereg_id: str, arm: str = "B", **changes: Any) -> Any:
    return service.client.post(path(prereg_id, "arms", arm), json=NAMING | changes)


def results(service: Service, prereg_id: str, arm: str, **more: Any) -> Any:
    return post(service.client, prereg_id, arm, items(N), [float(arm == "B")] * N, **more)


def test_an_arm_is_named_before_its_results_and_the_verdict_says_so(service: Service) -> None:
    prereg_id = draft(service.client, small_plan(N) | {"arms": ARMS})
    file = service.client.get(path(prereg_id, "prereg.md"), params={"lang": "zh"})
    again = service.client.post(
        "/v1/preregistrations", content=file.content, headers={"Content-Type": "text/markdown"}
    )
    assert again.json()["plan"] == service.client.get(path(prereg_id)).json()["plan"]
    assert name(service, prereg_id).json()["code"] == "conflict"
    assert lock(service.client, prereg_id).status_code == 200
    before = service.client.get(path(prereg_id))
    assert results(service, prereg_id, "A").status_code == 201
    refused = results(service, prereg_id, "B")
    assert (refused.status_code, refused.json()["code"]) == (409, "arm_unnamed")
    bound = service.client.post(path(prereg_id, "runs"), json={"arm": "B"})
    assert (bound.status_code, bound.json()["code"]) == (409, "arm_unnamed")
    (waiting,) = service.client.get(path(prereg_id, "runs")).json()["marks"]
    assert (waiting["code"], waiting["effect"]) == ("arm_unnamed", "note")

    named = name(service, prereg_id)
    assert named.status_code == 200, named.text
    ((shown),) = named.json()["named_arms"]
    assert (shown["arm"], shown["criterion"], shown["receipt"]["kind"]) == ("B", CRITERION, "arm_named")
    assert named.json()["plan_sha256"] == before.json()["plan_sha256"]
    after = service.client.get(path(prereg_id))
    assert after.json()["named_arms"] == named.json()["named_arms"]
    assert after.headers["ETag"] == named.headers["ETag"] != before.headers["ETag"]
    twice = name(service, prereg_id)
    assert (twice.status_code, twice.json()["code"]) == (409, "arm_named")
    run = {"arm": "B", "environment": {"model.name": "x-3", "decoding.temperature": "0"}}
    bound = service.client.post(path(prereg_id, "runs"), json=run)
    assert results(service, prereg_id, "B", run=bound.json()["run"]).status_code == 201

    judged = verdict(service, prereg_id)
    differs, mark = judged["marks"]
    assert (differs["code"], differs["effect"]) == ("arm_differs", "flag")
    assert "model.name" in differs["says"]
    assert (mark["code"], mark["effect"], mark["at"]) == ("arm_named", "note", shown["at"])
    for part in (
        CRITERION,
        "model.name x-2, model.revision 2027-02-11, tools search",
        "none before",
        "e" * 64,
    ):
        assert part in mark["says"]
    for language, words in (("en", ("named before its results", "arm named")), ("zh", ("指明为", "指明组"))):
        report = service.client.get(path(prereg_id, "report.md"), params={"lang": language}).text
        assert all(word in report for word in words)
        assert CRITERION in report
    visitor = TestClient(service.app, follow_redirects=False)
    assert visitor.post("/login", data={"key": service.key()}).status_code == 303
    page = visitor.get(f"/preregistrations/{prereg_id}").text
    assert "Arm named" in page
    assert "model.revision 2027-02-11" in page
    assert failures(checked(bundle(service, prereg_id))) == []


def test_only_what_is_open_is_named_and_an_amendment_keeps_it(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N) | {"arms": ARMS})
    assert name(service, prereg_id, "A").status_code == 422
    assert (
        name(service, prereg_id, card={"model": {"name": "x-2"}, "decoding": {"temperature": 1}})
        .json()["detail"]
        .endswith("(decoding.temperature)")
    )
    assert name(service, prereg_id, evidence={}).status_code == 422
    assert name(service, prereg_id).status_code == 200
    changed = amend(service, prereg_id, {"arms": [ARMS[0], ARMS[1] | {"criterion": "the second of 2027"}]})
    assert (changed.status_code, changed.json()["errors"][0]["path"]) == (422, "changes.arms")
    kept = amend(service, prereg_id, {"title": "another"})
    assert kept.status_code == 200, kept.text
    assert [each["arm"] for each in kept.json()["named_arms"]] == ["B"]
    stranger = TestClient(service.app)
    stranger.headers["Authorization"] = f"Bearer {service.key('results:write')}"
    assert stranger.post(path(prereg_id, "arms", "B"), json=NAMING).status_code == 403


def test_a_file_is_held_against_what_was_named(service: Service) -> None:
    plan = imported_plan() | {"arms": [{"id": "B", "criterion": CRITERION}]}
    prereg_id = locked(service.client, plan, {"p": manifest()})
    wanted: dict[str, Any] = {"on_duplicate": "skip", "complete": True}
    candidate = folder("inspect") / "candidate.eval"
    refused = send(service, prereg_id, candidate, arm="B", **wanted)
    assert (refused.status_code, refused.json()["code"]) == (409, "arm_unnamed")
    assert name(service, prereg_id).status_code == 200
    sent = send(service, prereg_id, candidate, arm="B", **wanted)
    assert sent.json()["batches"][0]["card_differs"] == ["model.name"]
    assert send(service, prereg_id, folder("inspect") / "baseline.eval", **wanted).status_code == 201
    assert [each["code"] for each in verdict(service, prereg_id)["marks"]] == ["arm_differs", "arm_named"]
    assert failures(checked(bundle(service, prereg_id))) == []
