"""What happens to a locked record beside its results: amendments, an early close, a withdrawal, a due date."""

from __future__ import annotations

from typing import Any

import pytest

from service.app import routes
from service.domain.canonical import sha256_hex
from service.domain.plans.preregistration import ALLOWED, OPERATIONS
from service.store.database import clock
from tests.journeys.bundles import bundle, checked, failures
from tests.journeys.conftest import Service
from tests.journeys.filings import deviations, filing
from tests.journeys.plans import draft, idempotent, items, lock, locked, post, small_plan
from tests.journeys.sequential import plan as sequential
from tests.journeys.states import N, amend, fill, path, verdict, withdraw

pytestmark = pytest.mark.any_database

SMALLER = {"kind": "n", "population": "p", "n": 4, "dropped_favour": "neither"}


def close(service: Service, prereg_id: str, deviation: int = 1) -> Any:
    body = {"reason": "the budget is spent", "deviation": deviation}
    return service.client.post(path(prereg_id, "close"), json=body)


# Amendments


def test_an_amendment_is_the_next_version_and_names_the_one_before(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    before = service.client.get(path(prereg_id))
    answer = amend(service, prereg_id, {"title": "Another title"})
    assert answer.status_code == 200, answer.text
    after = answer.json()
    assert (after["state"], after["version"], after["plan"]["title"]) == ("locked", 2, "Another title")
    assert after["receipt"]["kind"] == "plan_amended"
    assert answer.headers["ETag"] != before.headers["ETag"]
    assert before.json()["plan_sha256"] in after["receipt"]["leaf"]
    first, second = service.client.get(path(prereg_id, "versions")).json()["items"]
    assert (first["version"], first["prior_sha256"], first["reason"]) == (1, None, None)
    assert second["prior_sha256"] == first["plan_sha256"] == before.json()["plan_sha256"]
    assert second["plan_sha256"] == after["plan_sha256"]
    for each in (first, second):
        text = service.client.get(path(prereg_id, "versions", str(each["version"])))
        assert sha256_hex(text.content) == each["plan_sha256"]
    assert service.client.get(path(prereg_id, "versions", "3")).status_code == 404
    fill(service, prereg_id)
    assert verdict(service, prereg_id)["plan_sha256"] == after["plan_sha256"]
    rows = service.client.get(path(prereg_id, "results")).json()["items"]
    assert len(rows) == 2 * N


def test_results_are_checked_against_the_amended_plan(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    check = {"arm": "C", "endpoint": "accuracy", "item_ids": items(N), "values": [1.0] * N}
    assert service.client.post(path(prereg_id, "results", "check"), json=check).status_code == 422
    hypotheses = [small_plan(N)["hypotheses"][0] | {"candidate": "C"}]
    assert amend(service, prereg_id, {"hypotheses": hypotheses}).status_code == 200
    assert service.client.post(path(prereg_id, "results", "check"), json=check).status_code == 200
    assert post(service.client, prereg_id, "B", items(N), [1.0] * N).status_code == 422
    assert post(service.client, prereg_id, "C", items(N), [1.0] * N).status_code == 201


def test_a_plan_is_amended_until_the_first_result_even_if_that_is_voided(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    post(service.client, prereg_id, "A", items(N)[:1], [1.0])
    assert service.client.post(path(prereg_id, "batches", "1", "void"), json={"reason": "wrong"}).is_success
    refused = amend(service, prereg_id, {"title": "Too late"})
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert "file a deviation" in refused.json()["detail"]
    assert service.client.get(path(prereg_id)).json()["version"] == 1


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"title": small_plan(N)["title"]}, "invalid_data"),
        ({"endpoints": []}, "lint_failed"),
        ({"populations": [{**small_plan(N)["populations"][0], "n": 7}]}, "lint_failed"),
        ({"nonsense": 1}, "validation_failed"),
    ],
)
def test_an_amendment_that_changes_nothing_or_breaks_the_plan_is_refused(
    service: Service, changes: dict[str, Any], code: str
) -> None:
    prereg_id = locked(service.client, small_plan(N))
    before = service.client.get(path(prereg_id)).content
    refused = amend(service, prereg_id, changes)
    assert (refused.status_code, refused.json()["code"]) == (422, code)
    assert service.client.get(path(prereg_id)).content == before


def test_an_amendment_needs_the_newest_tag_and_its_warnings_acknowledged(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    vague = [small_plan(N)["hypotheses"][0] | {"statement": "B improves accuracy"}]
    refused = amend(service, prereg_id, {"hypotheses": vague}, acknowledge=[])
    assert refused.json()["code"] == "warnings_not_acknowledged"
    assert amend(service, prereg_id, {"hypotheses": vague}, acknowledge=["VAGUE_WORDS"]).status_code == 200
    body = {"reason": "r", "changes": {"title": "x"}, "acknowledge": "all"}
    stale = idempotent(**{"If-Match": '"1"'})
    assert service.client.post(path(prereg_id, "amendments"), json=body, headers=stale).status_code == 412
    assert (
        service.client.post(path(prereg_id, "amendments"), json=body, headers=idempotent()).status_code == 428
    )


def test_several_amendments_follow_one_another(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    for version in (2, 3, 4):
        assert amend(service, prereg_id, {"title": f"Version {version}"}).json()["version"] == version
    found = service.client.get(path(prereg_id, "versions")).json()["items"]
    assert [each["prior_sha256"] for each in found[1:]] == [each["plan_sha256"] for each in found[:-1]]


# Withdrawal


@pytest.mark.parametrize("before", ["locked", "collecting", "complete", "judged"])
def test_a_withdrawal_leaves_what_is_on_record(service: Service, before: str) -> None:
    prereg_id = locked(service.client, small_plan(N))
    if before == "collecting":
        post(service.client, prereg_id, "A", items(N)[:2], [1.0, 0.0])
    elif before != "locked":
        fill(service, prereg_id)
    told = verdict(service, prereg_id) if before == "judged" else None
    answer = withdraw(service, prereg_id)
    assert answer.status_code == 200, answer.text
    record = answer.json()
    assert record["state"] == "withdrawn"
    assert (record["withdrawn"]["state"], record["withdrawn"]["reason"]) == (before, "no longer needed")
    assert record["withdrawn"]["receipt"]["kind"] == "withdrawal"
    service.run_jobs()
    read = service.client.get(path(prereg_id, "verdict"))
    rows = service.client.get(path(prereg_id, "results"))
    if told is None:
        assert (read.status_code, read.json()["code"]) == (409, "withdrawn")
        assert (rows.status_code, rows.json()["code"]) == (409, "blinded")
    else:
        assert read.json() == told
        assert len(rows.json()["items"]) == 2 * N
    assert service.client.get(path(prereg_id)).json()["plan"] == record["plan"]
    for refused in (
        withdraw(service, prereg_id),
        post(service.client, prereg_id, "A", items(N)[:1], [1.0]),
        amend(service, prereg_id, {"title": "x"}),
        service.client.post(deviations(prereg_id), json=filing(SMALLER)),
        service.client.post(path(prereg_id, "verdict")),
    ):
        assert refused.status_code == 409, refused.text
        assert "nothing but reading" in refused.json()["detail"]


def test_a_draft_is_deleted_and_not_withdrawn(service: Service) -> None:
    refused = withdraw(service, draft(service.client, small_plan(N)))
    assert refused.status_code == 409
    assert "delete" in refused.json()["detail"]


# Early close


def test_a_close_needs_a_deviation_about_the_sample_size(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    assert close(service, prereg_id).status_code == 409  # nothing is in
    fill(service, prereg_id, 4)
    assert close(service, prereg_id).json()["code"] == "deviation_required"
    other = {"kind": "missing_policy", "missing": "exclude_pair"}
    service.client.post(deviations(prereg_id), json=filing(other))
    assert close(service, prereg_id).json()["code"] == "deviation_required"
    service.client.post(deviations(prereg_id), json=filing(SMALLER))
    answer = close(service, prereg_id, 2)
    assert answer.status_code == 200, answer.text
    assert answer.json()["state"] == "complete"
    closed = answer.json()["closed"]
    assert (closed["received"], closed["expected"], closed["deviation"]) == (8, 12, 2)
    assert close(service, prereg_id, 2).status_code == 409
    assert post(service.client, prereg_id, "A", items(N)[4:], [1.0, 1.0]).status_code == 409


@pytest.mark.parametrize(
    ("missing", "outcome", "reason"),
    [
        ("fail", "invalid", "are not ok"),
        ("exclude_pair", "invalid", "never posted"),
        ("worst_case", "not_supported", None),
    ],
)
def test_what_was_never_posted_is_carried_by_the_worst_case_alone(
    service: Service, missing: str, outcome: str, reason: str | None
) -> None:
    prereg_id = locked(service.client, small_plan(N, missing=missing))
    fill(service, prereg_id, 4)
    service.client.post(deviations(prereg_id), json=filing(SMALLER))
    assert close(service, prereg_id).status_code == 200
    told = verdict(service, prereg_id)
    (found,) = told["hypotheses"]
    assert found["outcome"] == outcome
    assert reason is None or reason in found["reason"]
    (mark,) = told["marks"]
    assert (mark["code"], mark["effect"]) == ("closed_early", "flag")
    assert mark["says"] == "the collection was closed early, with 8 of 12 planned results in (deviation 1)"
    assert mark["says"] in found["sentence"]
    if missing == "worst_case":
        assert found["delta"] == pytest.approx((4 - 2) / 6)  # two pairs taken wholly against the candidate
        assert found["excluded"]["filled"] == 2
    seen = service.client.get(deviations(prereg_id)).json()["consequences"]
    assert [each["outcome"] for each in seen["tipping_points"]] in ([], [outcome])


def test_a_closed_record_supports_what_holds_whatever_was_not_posted(service: Service) -> None:
    n = 40
    plan = small_plan(n, missing="worst_case")
    prereg_id = locked(service.client, plan)
    for arm in ("A", "B"):
        post(service.client, prereg_id, arm, items(n)[:39], [float(arm == "B")] * 39)
    service.client.post(deviations(prereg_id), json=filing(SMALLER | {"n": 39}))
    assert close(service, prereg_id).status_code == 200
    told = verdict(service, prereg_id)
    assert told["hypotheses"][0]["outcome"] == "supported"
    assert "It is marked" in told["hypotheses"][0]["sentence"]


def test_a_sequential_plan_ends_by_its_own_rule(service: Service) -> None:
    prereg_id = locked(service.client, sequential("anytime_valid"))
    post(service.client, prereg_id, "A", items(1), [1.0])
    refused = close(service, prereg_id)
    assert (refused.status_code, refused.json()["code"]) == (409, "sequential_plan")


def test_a_record_to_which_all_of_it_happened_is_verified_offline(service: Service) -> None:
    n = 40
    plan = small_plan(n, missing="worst_case", runs={"on_violation": "flag", "required": True})
    prereg_id = locked(service.client, plan)
    assert amend(service, prereg_id, {"title": "Amended"}).status_code == 200
    assert service.client.post(path(prereg_id, "runs"), json={"arm": "A", "run": "a"}).status_code == 201
    post(service.client, prereg_id, "A", items(n)[:39], [0.0] * 39, run="a")
    post(service.client, prereg_id, "B", items(n)[:39], [1.0] * 39)
    service.client.post(deviations(prereg_id), json=filing(SMALLER | {"n": 39}))
    assert close(service, prereg_id).status_code == 200
    told = verdict(service, prereg_id)
    assert [each["code"] for each in told["marks"]] == ["closed_early", "run_missing"]
    assert withdraw(service, prereg_id).status_code == 200
    report = checked(bundle(service, prereg_id))
    assert failures(report) == []
    assert report.verdict == told
    states = {each.name: each.state for each in report.checks}
    assert states["recomputed"] == states["coverage"] == "pass"


# Due dates


@pytest.mark.parametrize(("due", "overdue"), [("2000-01-01", True), ("2999-01-01", False)])
def test_what_is_overdue_is_said_and_changes_no_state(service: Service, due: str, overdue: bool) -> None:
    prereg_id = locked(service.client, small_plan(N, results_due=due))

    def said() -> tuple[bool, bool, bool]:
        answer = service.client.get(path(prereg_id))
        line = service.client.get("/v1/preregistrations").json()["items"][0]
        assert line["results_due"] == due
        return (
            answer.json()["overdue"],
            line["overdue"],
            service.client.get(path(prereg_id, "progress")).json()["overdue"],
        )

    assert said() == (overdue,) * 3
    tag = service.client.get(path(prereg_id)).headers["ETag"]
    again = service.client.get(path(prereg_id), headers={"If-None-Match": tag})
    assert again.status_code == (200 if overdue else 304)
    fill(service, prereg_id)
    assert said() == (False,) * 3
    with service.database.read() as session:
        assert clock.read_now(session).year < 2999


# Conflicts


def test_a_refusal_names_only_moves_that_there_are() -> None:
    known = {
        (method, getattr(each, "path", ""))
        for each in routes()
        for method in getattr(each, "methods", None) or ()
    }
    for moves in ALLOWED.values():
        for move in moves:
            method, _, rest = OPERATIONS[move].partition(" ")
            assert (method, f"/v1/preregistrations/{{prereg_id}}{rest}") in known, move
    assert {each for moves in ALLOWED.values() for each in moves} == set(OPERATIONS)


def test_every_move_that_a_state_allows_is_taken_there(service: Service) -> None:
    prereg_id = draft(service.client, small_plan(N))
    assert lock(service.client, prereg_id).status_code == 200
    refused = service.client.post(path(prereg_id, "batches", "1", "void"), json={"reason": "x"})
    for named in ("POST /amendments", "POST /withdrawal", "POST /runs", "POST /results"):
        assert named in refused.json()["detail"]
