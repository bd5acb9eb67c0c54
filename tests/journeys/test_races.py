"""Races: exactly one lock, and no row lost or doubled."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

from .conftest import Service
from .plans import draft, idempotent, items, locked, post, small_plan


def test_of_sixteen_locks_at_once_exactly_one_succeeds(service: Service) -> None:
    client = service.client
    prereg_id = draft(client, small_plan(6))
    etag = client.get(f"/v1/preregistrations/{prereg_id}").headers["ETag"]

    def attempt(_number: int) -> int:
        headers = idempotent(**{"If-Match": etag})
        return client.post(f"/v1/preregistrations/{prereg_id}/lock", json={}, headers=headers).status_code

    with ThreadPoolExecutor(16) as pool:
        statuses = sorted(pool.map(attempt, range(16)))
    assert statuses == [200] + [409] * 15
    assert client.get(f"/v1/preregistrations/{prereg_id}").json()["state"] == "locked"


def test_one_lock_repeated_at_once_answers_every_time_as_the_first(service: Service) -> None:
    client = service.client
    prereg_id = draft(client, small_plan(6))
    etag = client.get(f"/v1/preregistrations/{prereg_id}").headers["ETag"]
    headers = idempotent(**{"If-Match": etag})

    def attempt(_number: int) -> tuple[int, bytes]:
        while True:
            answer = client.post(f"/v1/preregistrations/{prereg_id}/lock", json={}, headers=headers)
            if answer.json().get("code") != "idempotency_in_flight":
                return answer.status_code, answer.content

    with ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(attempt, range(8)))
    assert len(answers) == 1
    assert next(iter(answers))[0] == 200


def test_a_hundred_overlapping_batches_at_once_lose_and_double_nothing(service: Service) -> None:
    client = service.client
    n = 200
    prereg_id = locked(client, small_plan(n))
    ids = items(n)
    draw = random.Random(20261120)
    # Every item of arm A is in several of these batches; the first that lands wins, whole batches only.
    batches = [draw.sample(ids, 5) for _ in range(100)]

    def attempt(batch: list[str]) -> tuple[list[str], int]:
        return batch, post(client, prereg_id, "A", batch, [1] * len(batch)).status_code

    with ThreadPoolExecutor(16) as pool:
        outcomes = list(pool.map(attempt, batches))
    assert {status for _, status in outcomes} == {201, 409}
    accepted = [item for batch, status in outcomes if status == 201 for item in batch]
    assert len(accepted) == len(set(accepted))
    progress = client.get(f"/v1/preregistrations/{prereg_id}/progress").json()
    assert progress["received"] == len(accepted)
    taken = set(accepted)
    for batch, status in outcomes:
        assert status == 201 or taken & set(batch), "a batch was refused although none of its items was in"

    rest = [item for item in ids if item not in taken]
    assert post(client, prereg_id, "A", rest, [1] * len(rest)).status_code == 201
    assert post(client, prereg_id, "B", ids, [1] * n).json()["state"] == "complete"
    assert service.run_jobs() == 1
    rows = []
    cursor = None
    while True:
        params = {"limit": 100} | ({"cursor": cursor} if cursor else {})
        page = client.get(f"/v1/preregistrations/{prereg_id}/results", params=params).json()
        rows += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert sorted((row["arm"], row["item_id"]) for row in rows) == sorted(
        (arm, item) for arm in "AB" for item in ids
    )
