"""Attacks that once worked: each has its test."""

from __future__ import annotations

import gzip
import sqlite3

import pytest

from service.jobs.runner import Runner
from tests.pools import StuckPool

from .conftest import Service, only_sqlite
from .plans import draft, idempotent, items, lock, locked, post, small_plan

N = 8


def execute(service: Service, statement: str, *values: object) -> None:
    """What somebody who may write to the database does, past the service."""
    with sqlite3.connect(service.database.url.database or "") as connection:
        connection.execute(statement, values)
    connection.close()


@only_sqlite
def test_a_record_moved_to_complete_by_sql_is_not_judged_and_its_rows_stay_sealed(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N, missing="exclude_pair"))
    for arm in "AB":
        post(service.client, prereg_id, arm, items(N)[:4], [1] * 4)
    execute(
        service,
        "UPDATE preregistrations SET state='complete', complete_at='2027-01-01T00:00:00.000000+00:00', "
        "revision=revision+1 WHERE id=?",
        prereg_id,
    )
    path = f"/v1/preregistrations/{prereg_id}"
    assert service.client.post(f"{path}/verdict").status_code == 202
    service.run_jobs()
    assert service.client.get(f"{path}/verdict").json()["code"] == "verdict_failed"
    assert service.client.get(f"{path}/results").json()["code"] == "blinded"


@only_sqlite
def test_rows_posted_twice_over_a_deleted_coverage_are_not_judged(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    post(service.client, prereg_id, "A", items(N), [0] * N)
    execute(service, "DROP TRIGGER coverage_guard_delete")
    execute(service, "DELETE FROM coverage WHERE preregistration_id=?", prereg_id)
    assert post(service.client, prereg_id, "A", items(N), [1] * N).status_code == 201
    last = post(service.client, prereg_id, "B", items(N), [1] * N)
    assert (last.status_code, last.json()["code"]) == (500, "record_altered")
    assert service.run_jobs() == 0
    assert service.client.get(f"/v1/preregistrations/{prereg_id}/verdict").json()["code"] == "blinded"


def test_items_replaced_after_the_review_change_the_etag(service: Service) -> None:
    client = service.client
    prereg_id = draft(client, small_plan(N))
    path = f"/v1/preregistrations/{prereg_id}"
    reviewed = client.get(path).headers["ETag"]
    same = client.put(f"{path}/populations/p/items", json={"item_ids": items(N)})
    assert same.headers["ETag"] == reviewed
    other = client.put(f"{path}/populations/p/items", json={"item_ids": [f"other-{i}" for i in range(N)]})
    assert other.headers["ETag"] != reviewed
    stale = client.post(f"{path}/lock", headers=idempotent(**{"If-Match": reviewed}))
    assert stale.status_code == 412
    assert lock(client, prereg_id).status_code == 200


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_a_time_without_a_year_in_utc_is_refused_everywhere(service: Service, moment: str) -> None:
    client = service.client
    prereg_id = locked(client, small_plan(N))
    assert post(client, prereg_id, "A", items(N), [1] * N, observed_at=[moment] * N).status_code == 422
    assert client.get("/v1/verdicts", params={"since": moment}).status_code == 422
    key = {"name": "k", "kind": "job", "scopes": ["read"], "expires_at": moment}
    assert client.post("/v1/keys", json=key).status_code == 422


def test_the_reason_of_a_void_is_printed_in_the_verdict(service: Service) -> None:
    client = service.client
    prereg_id = locked(client, small_plan(N))
    post(client, prereg_id, "A", items(N), [1] * N)
    client.post(f"/v1/preregistrations/{prereg_id}/batches/1/void", json={"reason": "wrong checkpoint"})
    for arm in "AB":
        post(client, prereg_id, arm, items(N), [1] * N)
    service.run_jobs()
    verdict = client.get(f"/v1/preregistrations/{prereg_id}/verdict").json()
    assert verdict["voided_batches"] == [{"batch": 1, "reason": "wrong checkpoint"}]


def test_a_refusal_names_no_arm_that_was_sent(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    refused = post(service.client, prereg_id, "SECRET0.7", items(N), [1] * N)
    assert refused.status_code == 422
    assert "SECRET" not in refused.text


def test_a_computation_beyond_the_time_limit_fails_its_job_and_frees_the_runner(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    for arm in "AB":
        post(service.client, prereg_id, arm, items(N), [1] * N)
    runner: Runner = service.runner
    runner._pool = stuck = StuckPool()
    runner._settings = service.settings.model_copy(update={"job_attempt_seconds": 1e-9})
    assert runner.step()
    assert stuck.abandoned == 1
    failed = service.client.get(f"/v1/preregistrations/{prereg_id}/verdict").json()
    assert failed["code"] == "verdict_failed"
    assert "too long" in failed["detail"]


@only_sqlite
@pytest.mark.parametrize("tail", ["x", '"', ","])
def test_a_long_if_match_is_read_in_linear_time(service: Service, tail: str) -> None:
    prereg_id = draft(service.client, small_plan(N))
    header = '"1"' + " " * 60_000 + tail
    refused = service.client.patch(
        f"/v1/preregistrations/{prereg_id}", json={"title": "x"}, headers={"If-Match": header}
    )
    assert refused.status_code == 422


@only_sqlite
@pytest.mark.timeout(60)
def test_a_bomb_of_tiny_arrays_is_refused_quickly(service: Service) -> None:
    body = gzip.compress(b'{"x":[' + b"[]," * 3_000_000 + b"[]]}")
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    for path in ("/v1/tests/mcnemar", "/v1/preregistrations"):
        refused = service.client.post(path, content=body, headers=headers)
        assert refused.status_code in (400, 413, 422)


@only_sqlite
@pytest.mark.parametrize("headers", [{"Origin": "http://[bad"}, {"Origin": "http://elsewhere"}])
def test_a_strange_origin_is_refused_at_the_door(service: Service, headers: dict[str, str]) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert service.client.post("/login", content="key=x", headers=form | headers).status_code == 403


@only_sqlite
def test_a_form_of_many_fields_is_a_problem_and_no_crash(service: Service) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert service.client.post("/login", content="a=1&" * 80, headers=form).status_code == 422


@only_sqlite
@pytest.mark.parametrize("name", ["Authorization", "Idempotency-Key"])
def test_a_header_sent_twice_is_refused(service: Service, name: str) -> None:
    values = [(name, "one"), (name, "two")]
    answer = service.client.post("/v1/preregistrations", json=small_plan(N), headers=values)
    assert answer.status_code == 422
    assert "more than once" in answer.json()["detail"]


@only_sqlite
@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("mcnemar", {"baseline": [1], "candidate": [0], "level": 0.9999999999999999}),
        ("mcnemar", {"baseline": [1], "candidate": [0], "alpha": 1e-300}),
        ("outliers", {"values": [1, 2, 3, 4], "threshold": 1e308}),
        (
            "wilcoxon",
            {"baseline": [5e-324, 0, 5e-324, 1e-323, 0], "candidate": [0, 5e-324, 1.5e-323, 0, 4.4e-323]},
        ),
        (
            "mann-whitney",
            {"baseline": [5e-324, 0, 5e-324, 1e-323, 0], "candidate": [0, 5e-324, 1.5e-323, 0, 4.4e-323]},
        ),
        ("power", {"test": "welch", "n": [10], "difference": 1, "sd_baseline": 1e100, "sd_candidate": 1}),
    ],
)
@pytest.mark.timeout(60)
def test_extreme_requests_are_answered_or_refused(service: Service, name: str, body: dict) -> None:
    assert service.client.post(f"/v1/tests/{name}", json=body).status_code in (200, 422)
