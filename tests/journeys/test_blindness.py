"""Guessing attacks: whatever outcomes are in the store, a guess is answered with the same bytes."""

from __future__ import annotations

import itertools
import logging
import re
import sqlite3

import psycopg
import pytest

from tests.journeys.views import seen

from .conftest import Service
from .plans import items, locked, post, small_plan

N = 8

PROOF = re.compile(rb'"(?:checkpoint|proof)":"[^"]*"|"of":\d+')
"""They follow from the place in the ledger, and from how many records are on the same items."""


def test_a_retry_with_guessed_values_answers_the_same_bytes(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    truth = [1, 0, 1, 1, 0, 0, 1, 0]
    first = post(service.client, prereg_id, "A", items(N), truth, key="one")
    guesses = [truth, [0] * N, [1] * N, [1 - value for value in truth]]
    replays = {
        repr(seen(post(service.client, prereg_id, "A", items(N), guess, key="one"))) for guess in guesses
    }
    assert len(replays) == 1
    replay = post(service.client, prereg_id, "A", items(N), truth, key="one")
    assert (replay.status_code, replay.content) == (first.status_code, first.content)
    assert replay.headers["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first.headers


def test_duplicates_with_guessed_values_answer_the_same_bytes(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    post(service.client, prereg_id, "A", items(N)[:6], [1, 0, 1, 1, 0, 0])
    for ids in (items(N)[:6], items(N)[3:], items(N)):
        answers = {
            repr(seen(post(service.client, prereg_id, "A", ids, [fill] * len(ids), **more)))
            for fill, more in (
                (0, {}),
                (1, {}),
                (None, {"status": ["error"] * len(ids)}),
                (None, {"status": ["missing"] * len(ids)}),
            )
        }
        assert len(answers) == 1, ids
        assert "409" in next(iter(answers))


def test_another_key_reused_with_other_items_answers_the_same_whatever_the_values(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    post(service.client, prereg_id, "A", items(4), [1, 0, 1, 0], key="k")
    answers = {
        repr(seen(post(service.client, prereg_id, "A", items(N)[4:], list(guess), key="k")))
        for guess in itertools.product([0, 1], repeat=4)
    }
    assert len(answers) == 1
    assert "idempotency_key_reused" in next(iter(answers))


def test_nothing_readable_depends_on_outcomes_before_completion(service: Service) -> None:
    """Two records alike but for their outcomes read alike, apart from ids, times, salts and hashes."""
    client = service.client
    views = []
    for values in ([0] * N, [1, 0] * (N // 2)):
        prereg_id = locked(client, small_plan(N))
        posted = post(client, prereg_id, "A", items(N), values)
        path = f"/v1/preregistrations/{prereg_id}"
        answers = [
            posted,
            *(client.get(path + part) for part in ("", "/progress", "/batches", "/verdict", "/results")),
        ]
        views.append(
            [
                (a.status_code, sorted(a.headers), len(PROOF.sub(b"", a.content)), a.headers.get("ETag"))
                for a in answers
            ]
        )
    # the ledger's sequence number may grow by a digit, nothing else may differ in length
    for one, other in zip(*views, strict=True):
        assert one[:2] == other[:2]
        assert one[3] == other[3]
        assert abs(one[2] - other[2]) <= 2


def test_the_database_holds_no_outcome_in_the_open(service: Service) -> None:
    """Stored bytes of two batches of the same rows have the same length and share nothing but public columns."""
    client = service.client
    prereg_id = locked(client, small_plan(1000, missing="fail"))
    post(client, prereg_id, "A", items(1000), [0] * 1000)
    post(client, prereg_id, "B", items(1000)[:999], [1, 0, 1] * 333)
    query = "SELECT n, sealed, status_counts, commitment_sha256 FROM batches ORDER BY sequence"
    (n_a, sealed_a, counts_a, _), (n_b, sealed_b, counts_b, _) = raw(service, query)
    assert counts_a is None
    assert counts_b is None
    assert (len(sealed_a) - len(sealed_b)) == 17 * (n_a - n_b)
    assert len(set(bytes(sealed_a))) > 200, "a thousand zeros must not show as zeros"
    assert len(sealed_a) >= 17 * 1000


def test_under_exclude_pair_only_counts_by_status_are_told(service: Service) -> None:
    client = service.client
    prereg_id = locked(client, small_plan(N, missing="exclude_pair"))
    post(client, prereg_id, "A", items(4), [1, None, 0, None], status=["ok", "error", "ok", "missing"])
    progress = client.get(f"/v1/preregistrations/{prereg_id}/progress").json()
    assert progress["status_counts"] == {"ok": 2, "error": 1, "missing": 1}
    for policy in ("fail", "worst_case"):  # under these a result that is not ok is an outcome
        strict = locked(client, small_plan(N, missing=policy))
        post(client, strict, "A", items(4), [1, None, 0, None], status=["ok", "error", "ok", "missing"])
        assert client.get(f"/v1/preregistrations/{strict}/progress").json()["status_counts"] is None


def test_an_eval_jobs_key_writes_and_never_reads_back(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    job = {"Authorization": f"Bearer {service.key('results:write')}"}
    path = f"/v1/preregistrations/{prereg_id}"
    body = {"arm": "A", "endpoint": "accuracy", "item_ids": items(1), "values": [1]}
    assert (
        service.client.post(f"{path}/results", json=body, headers=job | {"Idempotency-Key": "1"}).status_code
        == 201
    )
    for part in ("", "/progress", "/batches", "/results", "/verdict", "/receipt"):
        assert service.client.get(path + part, headers=job).status_code == 403, part


def test_logs_carry_no_values(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    prereg_id = locked(
        service.client,
        small_plan(
            N,
            endpoints=[{"id": "accuracy", "kind": "continuous", "role": "primary"}],
            sesoi={"accuracy": {"value": 2, "unit": "score"}},
            hypotheses=[{**small_plan()["hypotheses"][0], "rule": "delta >= 0.5"}],
        ),
    )
    with caplog.at_level(logging.DEBUG):
        post(service.client, prereg_id, "A", items(N), [0.7310585786] * N)
        post(service.client, prereg_id, "A", items(N), [0.7310585786] * N)
        post(service.client, prereg_id, "B", items(N), ["0.7310585786"] * N)
        post(service.client, prereg_id, "B", items(N), [0.7310585786] * N)
        service.run_jobs()
    assert "7310585786" not in caplog.text


def raw(service: Service, query: str) -> list[tuple]:
    """Rows as a reader of the database sees them."""
    url = service.database.url
    if service.database.dialect == "sqlite":
        with sqlite3.connect(url.database or "") as connection:
            rows = connection.execute(query).fetchall()
        connection.close()
        return rows
    plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain) as connection:
        return connection.execute(query).fetchall()
