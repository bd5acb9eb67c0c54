"""Calibration over HTTP: a job on a judged record's rows, or on the caller's pilot data at any time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from scipy import stats

from service.actions.verdicts import calibration as actions
from service.domain.calibration.case import unpack
from service.store.jobs import job_work
from tests.api.conftest import bearer
from tests.journeys.filings import BASELINE, CANDIDATE, N, judged

from .conftest import Service
from .plans import draft, items, locked, post, small_plan

pytestmark = pytest.mark.any_database

PILOT = {"population": "p", "baseline": BASELINE, "candidate": CANDIDATE}
EIGHT = 0.5**8  # only eight wins of eight make p < .05 with a positive difference


def ask(service: Service, prereg_id: str, key: dict[str, str] | None = None, **body: Any) -> Any:
    return service.client.post(f"/v1/preregistrations/{prereg_id}/calibration", json=body, headers=key)


def result(service: Service, asked: Any) -> Any:
    assert asked.status_code == 202, asked.text
    service.run_jobs()
    job = service.client.get(asked.headers["Location"]).json()
    assert job["state"] == "succeeded", job
    return job["result"]


def test_a_judged_record_is_calibrated_on_its_own_rows(service: Service) -> None:
    prereg_id = judged(service)
    asked = ask(service, prereg_id, runs=1000, seed=3)
    assert (asked.json()["kind"], asked.json()["state"]) == ("calibration", "queued")
    found = result(service, asked)
    assert (found["preregistration_id"], found["data"], found["enumerated"]) == (prereg_id, "record", True)
    (hypothesis,) = found["hypotheses"]
    assert (hypothesis["rate"], hypothesis["exact_rate"]) == (EIGHT, EIGHT)
    assert (hypothesis["units"], hypothesis["units_that_differ"]) == (N, 8)
    assert (hypothesis["nominal_alpha"], hypothesis["reading"]) == (0.05, "conservative")
    with service.database.read() as session:
        assert job_work.find_input(session, asked.json()["id"]) is None
    again = ask(service, prereg_id, runs=1000, seed=3)
    assert (again.json()["id"], again.json()["state"]) == (asked.json()["id"], "succeeded")
    assert ask(service, prereg_id, runs=1000, seed=4).json()["id"] != asked.json()["id"]


def test_drawn_flips_have_an_interval_that_holds_the_exact_rate(service: Service) -> None:
    candidate = [1] * 4 + [0] * 6 + [1] * 14 + [0] * 6  # fourteen wins, six losses
    found = result(service, ask(service, judged(service, candidate=candidate)))
    (hypothesis,) = found["hypotheses"]
    assert (found["enumerated"], found["runs"], found["seed"]) == (False, 1000, 0)
    assert hypothesis["exact_rate"] == pytest.approx(stats.binom(20, 0.5).sf(14))
    assert hypothesis["mc_ci"]["low"] <= hypothesis["exact_rate"] <= hypothesis["mc_ci"]["high"]


def test_before_the_verdict_the_record_is_closed(service: Service) -> None:
    unlocked, prereg_id = draft(service.client, small_plan(N)), locked(service.client, small_plan(N))
    refused = [ask(service, each) for each in (unlocked, prereg_id)]
    assert post(service.client, prereg_id, "A", items(N), BASELINE).status_code == 201
    refused.append(ask(service, prereg_id))
    assert [(each.status_code, each.json()["code"]) for each in refused] == [(409, "blinded")] * 3
    assert post(service.client, prereg_id, "B", items(N), CANDIDATE).status_code == 201
    assert ask(service, prereg_id).json()["code"] == "verdict_pending"
    assert service.run_jobs() == 1


def test_a_pilot_never_touches_what_is_sealed(service: Service) -> None:
    answers = []
    for values in (CANDIDATE, [1 - each for each in CANDIDATE]):
        prereg_id = locked(service.client, small_plan(N))
        assert post(service.client, prereg_id, "B", items(N), values).status_code == 201
        answers.append(result(service, ask(service, prereg_id, pilot=[PILOT])))
    hidden = ("preregistration_id", "plan_sha256")
    seen = [{k: v for k, v in each.items() if k not in hidden} for each in answers]
    assert seen[0] == seen[1]
    assert (seen[0]["data"], seen[0]["hypotheses"][0]["rate"]) == ("pilot", EIGHT)


def test_a_draft_is_calibrated_on_pilot_items_of_another_number(service: Service) -> None:
    prereg_id = draft(service.client, small_plan(500))
    found = result(service, ask(service, prereg_id, pilot=[PILOT]))
    assert (found["hypotheses"][0]["units"], found["hypotheses"][0]["rate"]) == (N, EIGHT)
    gaps = [None, *BASELINE[1:]]
    less = result(service, ask(service, prereg_id, pilot=[PILOT | {"baseline": gaps}]))
    assert less["hypotheses"][0]["undecided"] == less["runs"]  # the plan's policy is `fail`


@pytest.mark.parametrize(
    "changes",
    [
        {"tests": [], "multiplicity": None, "missing": None, "sesoi": None, "stopping": None},
        {"tests": [{"id": "mcnemar", "test": "nosuch", "version": 9}]},
        {"tests": [{"id": "mcnemar", "test": "mcnemar", "version": 1, "parameters": {"level": "high"}}]},
        {"tests": [{"id": "mcnemar", "test": "wilcoxon", "version": 1, "parameters": {"zero": 1}}]},
        {"stopping": {"kind": "group_sequential"}},
        {"stopping": {"kind": "anytime_valid"}},
        {"sesoi": {"accuracy": {"value": 2, "unit": "score"}}},
    ],
)
def test_an_unfinished_draft_says_that_its_rule_is_unknown_and_breaks_nothing(
    service: Service, changes: Any
) -> None:
    plan = {k: v for k, v in (small_plan(N) | changes).items() if v is not None}
    asked = ask(service, draft(service.client, plan), pilot=[PILOT])
    (hypothesis,) = result(service, asked)["hypotheses"]
    decided = "tests" not in changes
    assert (hypothesis["undecided"] == 0) is decided
    assert (hypothesis["rate"] == EIGHT) is decided


def test_a_rule_that_cannot_be_read_is_named(service: Service) -> None:
    plan = small_plan(N)
    plan["hypotheses"][0]["rule"] = "the candidate is better"
    refused = ask(service, draft(service.client, plan), pilot=[PILOT])
    assert refused.status_code == 422
    assert [each["path"] for each in refused.json()["errors"]] == ["hypotheses[0].rule"]


def test_clusters_of_a_pilot_are_flipped_whole(service: Service) -> None:
    plan = small_plan(N)
    plan["populations"][0] |= {"clusters": {"key": "conversation", "n": 10}}
    plan["populations"][0].pop("independence", None)
    plan["tests"][0] |= {"test": "clustered-mcnemar", "parameters": {"method": "sign_flip"}}
    units = [f"c{at % 5}" for at in range(N)]
    manifests = {"p": {"item_ids": items(N), "clusters": [f"c{at % 10}" for at in range(N)]}}
    prereg_id = draft(service.client, plan, manifests)
    found = result(service, ask(service, prereg_id, pilot=[PILOT | {"clusters": units}]))
    (hypothesis,) = found["hypotheses"]
    assert (hypothesis["flipped"], hypothesis["units"], found["runs"]) == ("clusters", 5, 32)
    assert hypothesis["rate"] == 0.0  # five clusters cannot make p < .05
    refused = ask(service, prereg_id, pilot=[PILOT])
    assert [each["path"] for each in refused.json()["errors"]] == ["pilot[0].clusters"]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"runs": 999}, "runs"),
        ({"seed": -1}, "seed"),
        ({"pilot": []}, "pilot"),
        ({"pilot": [PILOT | {"population": "q"}]}, "pilot[0]"),
        ({"pilot": [PILOT | {"endpoint": "other"}]}, "pilot[0]"),
        ({"pilot": [PILOT, PILOT]}, "pilot[1]"),
        ({"pilot": [PILOT | {"baseline": BASELINE[1:]}]}, "pilot[0].candidate"),
        ({"pilot": [PILOT | {"clusters": ["a"] * N}]}, "pilot[0].clusters"),
        ({"pilot": [PILOT | {"baseline": [0.5] * N}]}, "pilot[0].baseline"),
    ],
)
def test_what_cannot_be_used_is_named_and_no_job_made(service: Service, body: Any, path: str) -> None:
    prereg_id = draft(service.client, small_plan(N))
    refused = ask(service, prereg_id, **body)
    assert refused.status_code == 422, refused.text
    assert path in [each["path"] for each in refused.json()["errors"]]
    assert "0.5" not in refused.text
    assert service.run_jobs() == 0


def test_a_calibration_that_would_take_too_long_is_refused(service: Service, monkeypatch) -> None:
    plan = small_plan(N)
    plan["tests"][0] |= {"test": "clustered-mcnemar", "parameters": {"method": "sign_flip"}}
    plan["populations"][0] |= {"clusters": {"key": "conversation", "n": N}}
    plan["populations"][0].pop("independence", None)
    prereg_id = draft(service.client, plan, {"p": {"item_ids": items(N), "clusters": items(N)}})
    flipped = [1 - each for each in BASELINE]
    pilot = [PILOT | {"candidate": flipped, "clusters": items(N)}]
    monkeypatch.setattr(actions, "MOST_SECONDS", 100.0)
    refused = ask(service, prereg_id, runs=100_000, pilot=pilot)
    assert (refused.status_code, refused.json()["code"]) == (422, "too_long")
    assert ask(service, prereg_id, runs=1000, pilot=pilot).status_code == 202


def test_another_project_sees_neither_record_nor_job(service: Service) -> None:
    prereg_id = judged(service)
    mine = ask(service, prereg_id)
    stranger = bearer(service.key(project_id=service.project("other")))
    for answered in (
        ask(service, prereg_id, stranger),
        ask(service, prereg_id, stranger, pilot=[PILOT]),
        service.client.get(mine.headers["Location"], headers=stranger),
    ):
        assert (answered.status_code, answered.json()["code"]) == (404, "not_found")


def test_it_takes_both_scopes_and_so_does_its_answer(service: Service) -> None:
    prereg_id = judged(service)
    for scope in ("tests:run", "read", "results:write"):
        assert ask(service, prereg_id, bearer(service.key(scope))).status_code == 403
    job = ask(service, prereg_id, bearer(service.key("tests:run", "read"))).headers["Location"]
    assert service.client.get(job, headers=bearer(service.key("tests:run"))).status_code == 403
    assert service.client.get(job, headers=bearer(service.key("read"))).status_code == 200


def test_jobs_have_their_quota_and_can_be_called_off(service: Service) -> None:
    prereg_id, most = draft(service.client, small_plan(N)), 2
    shared = service.app.state.services
    service.app.state.services = replace(
        shared, settings=shared.settings.model_copy(update={"project_jobs": most})
    )
    asked = [ask(service, prereg_id, seed=seed, pilot=[PILOT]) for seed in range(most + 1)]
    assert [each.status_code for each in asked] == [202] * most + [429]
    assert asked[-1].json()["code"] == "too_many_jobs"
    first = asked[0].headers["Location"]
    with service.database.read() as session:
        stored = job_work.find_input(session, asked[0].json()["id"])
    assert stored is not None
    assert unpack(stored).about["data"] == "pilot"
    assert service.client.delete(first).status_code == 204
    with service.database.read() as session:
        assert job_work.find_input(session, asked[0].json()["id"]) is None
    assert ask(service, prereg_id, seed=most + 1, pilot=[PILOT]).status_code == 202
