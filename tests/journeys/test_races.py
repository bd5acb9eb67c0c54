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


def test_of_an_amendment_and_a_first_batch_at_once_no_batch_is_judged_by_another_plan(
    service: Service,
) -> None:
    """The first batch ends amendments, and what was taken was checked against the plan that stands."""
    client = service.client
    for number in range(6):
        prereg_id = locked(client, small_plan(6))
        path = f"/v1/preregistrations/{prereg_id}"
        etag = client.get(path).headers["ETag"]

        def amend(at: str = path, tag: str = etag, title: str = f"Amended {number}") -> int:
            body = {"reason": "r", "changes": {"title": title}, "acknowledge": "all"}
            headers = idempotent(**{"If-Match": tag})
            return client.post(f"{at}/amendments", json=body, headers=headers).status_code

        def submit(record: str = prereg_id) -> tuple[int, str]:
            answer = post(client, record, "A", items(6), [1] * 6)
            return answer.status_code, answer.json().get("code", "")

        with ThreadPoolExecutor(2) as pool:
            amended, posted = (each.result() for each in [pool.submit(amend), pool.submit(submit)])
        assert (amended, posted) in [
            (200, (201, "")),
            (200, (409, "plan_amended")),
            (409, (201, "")),
            (412, (201, "")),
        ]
        record = client.get(path).json()
        assert record["version"] == (2 if amended == 200 else 1)
        if posted[0] == 409:
            assert submit()[0] == 201
        assert post(client, prereg_id, "B", items(6), [1] * 6).json()["state"] == "complete"
        assert service.run_jobs() == 1
        assert client.get(f"{path}/verdict").json()["plan_sha256"] == record["plan_sha256"]


def test_a_record_is_withdrawn_once_and_takes_nothing_afterwards(service: Service) -> None:
    client = service.client
    prereg_id = locked(client, small_plan(200))
    path = f"/v1/preregistrations/{prereg_id}"

    def withdraw(_number: int) -> int:
        return client.post(f"{path}/withdrawal", json={"reason": "r"}).status_code

    def bind(number: int) -> int:
        return client.post(f"{path}/runs", json={"arm": "A", "run": f"r{number}"}).status_code

    def submit(number: int) -> int:
        return post(client, prereg_id, "A", items(200)[5 * number : 5 * number + 5], [1] * 5).status_code

    with ThreadPoolExecutor(16) as pool:
        posted = [pool.submit(submit, number) for number in range(8)]
        bound = [pool.submit(bind, number) for number in range(8)]
        withdrawn = sorted(pool.map(withdraw, range(4)))
        statuses = [each.result() for each in (*posted, *bound)]
    assert withdrawn == [200, 409, 409, 409]
    assert set(statuses) <= {201, 409}
    runs = client.get(f"{path}/runs").json()["items"]
    assert len(runs) == [each.result() for each in bound].count(201)
    assert sorted(each["number"] for each in runs) == list(range(1, len(runs) + 1))
    batches = client.get(f"{path}/batches", params={"limit": 200}).json()["items"]
    assert len(batches) == [each.result() for each in posted].count(201)
