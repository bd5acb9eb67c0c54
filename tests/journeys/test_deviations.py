"""Deviations over HTTP: filed while sealed, decided by another person, computed with after the verdict."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from service.actions.verdicts import deviations as actions
from service.actions.verdicts import opening
from service.domain.canonical import canonical, sha256_hex
from service.store.database import clock
from service.store.ledger import ledger
from service.store.plans import plan_keys, preregistrations
from service.store.projects import audit
from tests.api.conftest import bearer
from tests.journeys.filings import BASELINE, CANDIDATE, SMALLER, N, deviations, file, filing, judged

from .conftest import Service
from .plans import draft, idempotent, items, lock, locked, post, small_plan

pytestmark = pytest.mark.any_database


def named(service: Service, name: str, kind: str = "person") -> dict[str, str]:
    """The header of a new key with that name and every scope."""
    made = service.client.post(
        "/v1/keys", json={"name": name, "kind": kind, "scopes": ["plans:write", "deviations:review", "read"]}
    )
    assert made.status_code == 201, made.text
    return bearer(made.json()["secret"])


def test_a_deviation_is_filed_ledgered_listed_and_the_plan_stays(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    before = service.client.get(f"/v1/preregistrations/{prereg_id}")
    filed = file(service, prereg_id)
    assert filed.status_code == 201, filed.text
    body = filed.json()
    assert (body["deviation"], body["classification"], body["standing"]) == (1, "accept", "accept")
    assert body["rule"]["id"] == "conservative-and-blind"
    assert body["direction"]["hypotheses"][0]["null_direction"] == "aggressive"
    assert body["direction"]["agrees"] is True
    assert body["facts"]["results_received"] == 0
    assert body["receipt"]["kind"] == "deviation"
    listed = service.client.get(deviations(prereg_id)).json()
    assert listed == {
        "items": [{k: v for k, v in body.items() if k != "receipt"}],
        "next_cursor": None,
        "consequences": None,
    }
    after = service.client.get(f"/v1/preregistrations/{prereg_id}")
    assert (after.content, after.headers["ETag"]) == (before.content, before.headers["ETag"])
    assert sha256_hex(canonical(after.json()["plan"])) == after.json()["plan_sha256"] == body["plan_sha256"]


def test_a_retry_files_once(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    headers = idempotent()
    answers = [service.client.post(deviations(prereg_id), json=filing(), headers=headers) for _ in range(2)]
    assert answers[0].content == answers[1].content
    assert answers[1].headers["Idempotency-Replayed"] == "true"
    other = service.client.post(deviations(prereg_id), json=filing(impact="None."), headers=headers)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert len(service.client.get(deviations(prereg_id)).json()["items"]) == 1


def test_drafts_and_withdrawn_records_take_no_deviation(service: Service) -> None:
    prereg_id = draft(service.client, small_plan(N))
    refused = file(service, prereg_id)
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert "locked or collecting or complete or judged" in refused.json()["detail"]
    assert service.client.get(deviations(prereg_id)).json()["items"] == []


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({k: v for k, v in filing().items() if k != "reason"}, "reason"),
        ({k: v for k, v in filing().items() if k != "impact"}, "impact"),
        ({k: v for k, v in filing().items() if k != "direction"}, "direction"),
        (filing({"kind": "n", "population": "other", "n": 3}), "change.population"),
        (filing({"kind": "n", "population": "p", "n": -1}), "change.n"),
        (filing({"kind": "n", "population": "p", "n": 3, "extra": 1}), "change.extra"),
    ],
)
def test_a_filing_that_lacks_something_names_it(service: Service, body: Any, path: str) -> None:
    prereg_id = locked(service.client, small_plan(N))
    refused = service.client.post(deviations(prereg_id), json=body)
    assert refused.status_code == 422
    assert path in [error["path"] for error in refused.json()["errors"]], refused.text


def test_another_project_sees_nothing(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    file(service, prereg_id)
    stranger = bearer(service.key(project_id=service.project("other")))
    decision = {"classification": "reject"}
    for answered in (
        service.client.get(deviations(prereg_id), headers=stranger),
        service.client.post(deviations(prereg_id), json=filing(), headers=stranger),
        service.client.post(f"{deviations(prereg_id)}/1/decision", json=decision, headers=stranger),
    ):
        assert (answered.status_code, answered.json()["code"]) == (404, "not_found")
    absent = service.client.post(f"{deviations(prereg_id)}/2/decision", json=decision)
    assert (absent.status_code, absent.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("scope", "allowed"), [("plans:write", {"file"}), ("read", {"list"}), ("deviations:review", {"decide"})]
)
def test_each_route_has_its_scope(service: Service, scope: str, allowed: set[str]) -> None:
    prereg_id = locked(service.client, small_plan(N))
    file(service, prereg_id)
    key = bearer(service.key(scope))
    answers = {
        "file": service.client.post(deviations(prereg_id), json=filing(), headers=key),
        "list": service.client.get(deviations(prereg_id), headers=key),
        "decide": service.client.post(
            f"{deviations(prereg_id)}/1/decision", json={"classification": "reject"}, headers=key
        ),
    }
    assert {name for name, answered in answers.items() if answered.status_code < 300} == allowed
    assert {answers[name].status_code for name in set(answers) - allowed} == {403}


def test_only_another_person_is_gentler_and_every_decision_stays(service: Service) -> None:
    ada, grace, spelt, job = (
        named(service, "Ada"),
        named(service, "Grace"),
        named(service, " ADA "),
        named(service, "Grace", "job"),
    )
    prereg_id = locked(service.client, small_plan(N))
    filed = service.client.post(deviations(prereg_id), json=filing({"kind": "other"}), headers=ada)
    assert (filed.json()["author"], filed.json()["classification"]) == ("Ada", "needs_review")
    path = f"{deviations(prereg_id)}/1/decision"

    def decide(headers: dict[str, str], classification: str, note: str | None = None) -> Any:
        body = {"classification": classification} | ({"note": note} if note else {})
        return service.client.post(path, json=body, headers=headers)

    for headers in (ada, spelt):
        refused = decide(headers, "accept", "it is fine")
        assert (refused.status_code, refused.json()["code"]) == (403, "reviewer_is_author")
    assert decide(job, "accept", "it is fine").json()["code"] == "person_required"
    assert decide(grace, "accept").json()["errors"][0]["path"] == "note"
    accepted = decide(grace, "accept", "The log shows that nothing was open.")
    assert (accepted.status_code, accepted.json()["standing"]) == (201, "accept")
    assert accepted.json()["receipt"]["kind"] == "deviation"
    stricter = decide(ada, "reject")
    assert stricter.json()["standing"] == "reject"
    assert decide(ada, "accept", "after all").json()["code"] == "reviewer_is_author"
    (listed,) = service.client.get(deviations(prereg_id)).json()["items"]
    assert [
        (each["number"], each["classification"], each["reviewer"], each["gentler"])
        for each in listed["decisions"]
    ] == [
        (1, "accept", "Grace", True),
        (2, "reject", "Ada", False),
    ]
    assert (listed["classification"], listed["standing"]) == ("needs_review", "reject")


def test_a_job_files_nothing(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    refused = service.client.post(deviations(prereg_id), json=filing(), headers=named(service, "ci", "job"))
    assert (refused.status_code, refused.json()["code"]) == (403, "person_required")


# --- blindness ---


def test_what_is_filed_before_completion_says_nothing_of_outcomes(service: Service) -> None:
    """Records alike but for their outcomes answer alike: filing, listing, deciding, whatever the change."""
    changes: list[dict[str, Any]] = [
        SMALLER,
        {"kind": "exclude_items", "population": "p", "item_ids": items(N)[:3]},
        {"kind": "missing_policy", "missing": "fail"},
        {"kind": "rule", "hypothesis": "H1a", "rule": "delta >= 5 pp"},
        {"kind": "disputed_items", "population": "p", "item_ids": items(N)[:2]},
    ]
    views = []
    for values in ([0] * N, [1] * N, [1, 0] * (N // 2)):
        prereg_id = locked(service.client, small_plan(N, missing="exclude_pair"))
        post(service.client, prereg_id, "A", items(N), values)
        seen = [file(service, prereg_id, change).json() for change in changes]
        listed = service.client.get(deviations(prereg_id)).json()
        decided = service.client.post(
            f"{deviations(prereg_id)}/2/decision", json={"classification": "reject"}
        ).json()
        assert listed["consequences"] is None
        assert [each["facts"]["results_received"] for each in seen] == [N] * len(changes)
        views.append([_timeless(each) for each in (*seen, *listed["items"], decided)])
    assert views[0] == views[1] == views[2]


def _timeless(value: Any) -> Any:
    """Without times, and the hashes and positions that follow from ids and times."""
    volatile = {"filed_at", "decided_at", "deviation_sha256", "plan_sha256", "receipt"}
    if isinstance(value, dict):
        return {name: _timeless(each) for name, each in value.items() if name not in volatile}
    return [_timeless(each) for each in value] if isinstance(value, list) else value


def test_a_complete_record_without_verdict_still_says_nothing(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    post(service.client, prereg_id, "A", items(N), BASELINE)
    post(service.client, prereg_id, "B", items(N), CANDIDATE)
    filed = file(
        service, prereg_id, {"kind": "exclude_items", "population": "p", "item_ids": items(N)[10:13]}
    )
    assert filed.json()["facts"]["state"] == "complete"
    assert filed.json()["direction"]["hypotheses"][0]["measured"] is False
    assert service.client.get(deviations(prereg_id)).json()["consequences"] is None


def test_an_unblinding_in_the_ledger_counts_whatever_the_author_says(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    post(service.client, prereg_id, "A", items(N), BASELINE)
    with service.database.write() as session:
        record = preregistrations.get(session, service.project_id, prereg_id)
        ledger.append(session, record, "unblinding", {}, clock.read_moment(session))
    filed = file(service, prereg_id, outcomes_seen=False).json()
    assert (filed["facts"]["unblinded"], filed["classification"]) == (True, "needs_review")


def test_deviations_filed_at_once_are_numbered_one_by_one(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: file(service, prereg_id), range(4)))
    assert sorted(each.json()["deviation"] for each in answers) == [1, 2, 3, 4]
    sequences = [each.json()["receipt"]["sequence"] for each in answers]
    assert len(set(sequences)) == 4


# --- after the verdict ---


def test_the_verdict_as_run_stands_beside_the_one_as_planned(service: Service) -> None:
    prereg_id = judged(service)
    before = service.client.get(f"/v1/preregistrations/{prereg_id}/verdict").content
    filed = file(
        service,
        prereg_id,
        {
            "kind": "exclude_items",
            "population": "p",
            "item_ids": items(N)[10:13],
            "dropped_favour": "baseline",
        },
    ).json()
    (direction,) = filed["direction"]["hypotheses"]
    assert (direction["direction"], direction["measured"]) == ("conservative", True), "the rows say so"
    assert (filed["classification"], filed["facts"]["judged"]) == ("needs_review", True)
    found = service.client.get(deviations(prereg_id)).json()["consequences"]
    (run,) = found["as_run"]["hypotheses"]
    assert (run["outcome_planned"], run["outcome"], run["n"]) == ("supported", "not_supported", N - 3)
    assert run["delta"] == pytest.approx(5 / 27)
    (tipping,) = found["tipping_points"]
    assert (tipping["left_out"], tipping["outcome"], tipping["items"]) == (3, "not_supported", 1)
    assert service.client.get(f"/v1/preregistrations/{prereg_id}/verdict").content == before


def test_leaving_out_what_speaks_against_the_claim_is_rejected_by_the_rows(service: Service) -> None:
    candidate = [0, 0, *CANDIDATE[2:]]
    prereg_id = judged(service, candidate=candidate)
    filed = file(
        service,
        prereg_id,
        {"kind": "exclude_items", "population": "p", "item_ids": items(N)[:2], "dropped_favour": "candidate"},
    ).json()
    assert filed["direction"]["hypotheses"][0]["direction"] == "aggressive"
    assert (filed["direction"]["agrees"], filed["classification"]) == (False, "reject")
    assert filed["rule"]["id"] == "aggressive-after-outcomes"


def test_missing_results_tip_without_a_deviation(service: Service) -> None:
    prereg_id = judged(service, candidate=[None] * 3 + CANDIDATE[3:])
    listed = service.client.get(deviations(prereg_id)).json()
    assert (listed["items"], listed["consequences"]["as_run"]) == ([], None)
    (tipping,) = listed["consequences"]["tipping_points"]
    assert (tipping["missing"], tipping["outcome"], tipping["items"], tipping["robust"]) == (
        3,
        "supported",
        2,
        False,
    )


def test_a_sweep_of_the_plan_is_evaluated_on_results_posted_for_it(service: Service) -> None:
    plan = small_plan(
        N,
        endpoints=[
            {"id": "accuracy", "kind": "binary", "role": "primary"},
            {"id": "accuracy.tau.0.3", "kind": "binary", "role": "secondary"},
        ],
        thresholds=[
            {
                "name": "tau",
                "population": "p",
                "value": 0.4,
                "chosen_by": "p30",
                "split": "dev",
                "sweep": [0.3, 0.4, 0.5],
            }
        ],
    )
    prereg_id = locked(service.client, plan)
    for endpoint, candidate in (("accuracy", CANDIDATE), ("accuracy.tau.0.3", BASELINE)):
        for arm, values in (("A", BASELINE), ("B", candidate)):
            assert (
                post(service.client, prereg_id, arm, items(N), values, endpoint=endpoint).status_code == 201
            )
    service.run_jobs()
    (sweep,) = service.client.get(deviations(prereg_id)).json()["consequences"]["sweeps"]
    assert [(each["value"], each["delta"], each["outcome"]) for each in sweep["points"]] == [
        (0.3, 0, "not_supported"),
        (0.4, 8 / N, "supported"),
        (0.5, None, None),
    ]


def test_pages_after_the_first_hold_no_consequences(service: Service) -> None:
    prereg_id = judged(service)
    for _ in range(3):
        file(service, prereg_id, {"kind": "other"})
    first = service.client.get(deviations(prereg_id), params={"limit": 2}).json()
    rest = service.client.get(
        deviations(prereg_id), params={"limit": 2, "cursor": first["next_cursor"]}
    ).json()
    assert [each["deviation"] for each in first["items"] + rest["items"]] == [3, 2, 1]
    assert [each["deviation"] for each in first["consequences"]["not_computed"]] == [1, 2, 3]
    assert rest["consequences"] is None


def erase(service: Service, prereg_id: str) -> None:
    """Destroy the key of the rows, which the ledger tells first."""
    with service.database.write() as session:
        record = preregistrations.get(session, service.project_id, prereg_id)
        ledger.append(session, record, "erasure", {}, clock.read_moment(session))
        plan_keys.erase(session, prereg_id)


def test_erased_rows_leave_the_deviations_readable(service: Service) -> None:
    prereg_id = judged(service)
    file(service, prereg_id)
    erase(service, prereg_id)
    listed = service.client.get(deviations(prereg_id)).json()
    assert len(listed["items"]) == 1
    assert "erased" in listed["consequences"]["reasons"][0]
    late = file(service, prereg_id, {"kind": "exclude_items", "population": "p", "item_ids": items(N)[:1]})
    assert late.json()["direction"]["hypotheses"][0]["measured"] is False


def test_rows_are_opened_once_for_the_same_deviations_and_never_after_erasure(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    prereg_id = judged(service)
    opened = []
    real = actions.open_rows
    monkeypatch.setattr(actions, "open_rows", lambda *given: opened.append(1) or real(*given))
    file(service, prereg_id)
    answers = [service.client.get(deviations(prereg_id)).json()["consequences"] for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    assert len(opened) == 1
    file(service, prereg_id)
    assert service.client.get(deviations(prereg_id)).status_code == 200
    assert len(opened) == 2
    erase(service, prereg_id)
    assert "erased" in service.client.get(deviations(prereg_id)).json()["consequences"]["reasons"][0]


def test_more_results_than_a_request_opens_are_said(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    prereg_id = judged(service)
    monkeypatch.setattr(opening, "MAX_ROWS", 2 * N - 1)
    found = service.client.get(deviations(prereg_id)).json()["consequences"]
    assert (found["as_run"], found["tipping_points"]) == (None, [])
    assert f"{2 * N} results" in found["reasons"][0]


def test_a_withdrawn_record_takes_neither_deviations_nor_decisions(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    file(service, prereg_id)
    with service.database.write() as session:
        record = preregistrations.get(session, service.project_id, prereg_id)
        preregistrations.move(session, record, "withdrawn", clock.read_now(session))
    path = f"{deviations(prereg_id)}/1/decision"
    for refused in (
        file(service, prereg_id),
        service.client.post(path, json={"classification": "reject"}),
    ):
        assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert len(service.client.get(deviations(prereg_id)).json()["items"]) == 1


def test_there_is_an_end_to_deviations_and_to_decisions(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    prereg_id = locked(service.client, small_plan(N))
    monkeypatch.setattr(actions, "MAX_DEVIATIONS", 1)
    monkeypatch.setattr(actions, "MAX_DECISIONS", 1)
    assert file(service, prereg_id).status_code == 201
    assert file(service, prereg_id).json()["code"] == "too_many_deviations"
    path = f"{deviations(prereg_id)}/1/decision"
    answers = [service.client.post(path, json={"classification": "reject"}) for _ in range(2)]
    assert answers[0].status_code == 201
    assert answers[1].json()["code"] == "too_many_decisions"


def test_what_was_done_and_what_was_refused_is_in_the_audit_log(service: Service) -> None:
    prereg_id = draft(service.client, small_plan(N))
    file(service, prereg_id)
    lock(service.client, prereg_id)
    file(service, prereg_id)
    service.client.post(f"{deviations(prereg_id)}/1/decision", json={"classification": "reject"})
    with service.database.read() as session:
        events, _ = audit.read_page(session, service.project_id, limit=50)
    found = [each.action for each in reversed(events) if each.action.startswith("deviation.")]
    assert found == ["deviation.file.refused", "deviation.file", "deviation.decide"]


# --- no other way to another endpoint ---


def test_an_endpoint_is_switched_by_no_other_way(service: Service) -> None:
    """Neither an edit, nor results, nor a filed deviation makes another endpoint the one that is judged."""
    client = service.client
    endpoints = [
        {"id": "accuracy", "kind": "binary", "role": "primary"},
        {"id": "exact", "kind": "binary", "role": "secondary"},
    ]
    prereg_id = draft(client, small_plan(N, endpoints=endpoints))
    record = lock(client, prereg_id).json()
    path = f"/v1/preregistrations/{prereg_id}"
    hypotheses = [record["plan"]["hypotheses"][0] | {"endpoint": "exact"}]
    etag = client.get(path).headers["ETag"]
    edited = client.patch(path, json={"hypotheses": hypotheses}, headers={"If-Match": etag})
    assert (edited.status_code, edited.json()["code"]) == (409, "conflict")
    replaced = client.put(f"{path}/populations/p/items", json={"item_ids": items(N)})
    assert replaced.status_code == 409
    assert lock(client, prereg_id).status_code == 409
    assert post(client, prereg_id, "A", items(N), BASELINE, endpoint="f1").status_code == 422
    switch = {"kind": "endpoint", "hypothesis": "H1a", "endpoint": "exact"}
    assert file(service, prereg_id, switch).json()["classification"] == "reject"
    for endpoint, candidate in (("accuracy", BASELINE), ("exact", CANDIDATE)):
        for arm, values in (("A", BASELINE), ("B", candidate)):
            post(client, prereg_id, arm, items(N), values, endpoint=endpoint)
    service.run_jobs()
    (hypothesis,) = client.get(f"{path}/verdict").json()["hypotheses"]
    assert (hypothesis["endpoint"], hypothesis["outcome"]) == ("accuracy", "not_supported")
    found = client.get(deviations(prereg_id)).json()["consequences"]["as_run"]["hypotheses"][0]
    assert (found["outcome_planned"], found["outcome"]) == ("not_supported", "supported")
    assert client.get(path).json()["plan"] == record["plan"]
