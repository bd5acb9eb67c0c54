"""Posting again: rows that are in stay as they are, whatever is sent, and the answer tells counts alone."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Service
from .plans import draft, items, locked, post, small_plan

pytestmark = pytest.mark.any_database

N = 8


def progress(service: Service, prereg_id: str) -> dict[str, Any]:
    found: dict[str, Any] = service.client.get(f"/v1/preregistrations/{prereg_id}/progress").json()
    return found


def check(service: Service, prereg_id: str, **body: Any) -> Any:
    columns = {"arm": "A", "endpoint": "accuracy", "item_ids": items(2), "values": [1, 0]} | body
    return service.client.post(f"/v1/preregistrations/{prereg_id}/results/check", json=columns)


def test_rows_that_are_in_are_left_out(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    post(service.client, prereg_id, "A", items(N)[:5], [1] * 5)
    again = post(service.client, prereg_id, "A", items(N), [0] * N, on_duplicate="skip")
    assert again.status_code == 201
    assert {name: again.json()[name] for name in ("batch", "n", "skipped", "received")} == {
        "batch": 2,
        "n": 3,
        "skipped": 5,
        "received": 8,
    }
    assert progress(service, prereg_id)["received"] == 8


def test_nothing_is_stored_where_everything_is_in(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    post(service.client, prereg_id, "A", items(N), [1] * N)
    again = post(service.client, prereg_id, "A", items(N), [0] * N, on_duplicate="skip")
    assert again.status_code == 201
    assert again.json() | {"expected": 0} == {
        "batch": None,
        "n": 0,
        "skipped": N,
        "received": N,
        "expected": 0,
        "state": "collecting",
        "receipt": None,
    }
    assert progress(service, prereg_id)["batches"] == 1
    later = post(service.client, prereg_id, "B", items(N)[:1], [1])
    assert later.json()["batch"] == 2, "a batch that was not stored has no number"


def test_the_answer_is_the_same_whatever_the_values(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    post(service.client, prereg_id, "A", items(N), [1, 0] * 4)
    answers = [
        post(service.client, prereg_id, "A", items(N), values, on_duplicate="skip")
        for values in ([1, 0] * 4, [0, 1] * 4, [1] * N)
    ]
    assert len({answer.text for answer in answers}) == 1
    assert len({len(answer.content) for answer in answers}) == 1


def test_a_complete_plan_can_be_posted_again(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    for arm in "AB":
        post(service.client, prereg_id, arm, items(N), [1] * N)
    again = post(service.client, prereg_id, "B", items(N), [1] * N, on_duplicate="skip")
    assert again.status_code == 201
    assert (again.json()["n"], again.json()["state"]) == (0, progress(service, prereg_id)["state"])
    assert post(service.client, prereg_id, "B", items(N), [1] * N).status_code == 409


def test_a_withdrawn_plan_takes_no_repeat_whatever_was_posted_before(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    for _ in range(2):  # its plan is at hand from then on
        post(service.client, prereg_id, "A", items(N), [1] * N, on_duplicate="skip")
    gone = service.client.post(f"/v1/preregistrations/{prereg_id}/withdrawal", json={"reason": "r"})
    assert gone.status_code == 200
    again = post(service.client, prereg_id, "A", items(N), [1] * N, on_duplicate="skip")
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    assert "is withdrawn" in again.json()["detail"]


def test_without_being_asked_for_a_repeat_is_refused(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    post(service.client, prereg_id, "A", items(N)[:1], [1])
    for more in ({}, {"on_duplicate": "refuse"}):
        again = post(service.client, prereg_id, "A", items(N)[:2], [1, 1], **more)
        assert (again.status_code, again.json()["code"]) == (409, "duplicate_results")


def test_replicates_are_left_out_one_by_one(service: Service) -> None:
    plan = small_plan(N)
    plan["endpoints"][0] |= {"replicates": 2, "collapse": "majority"}
    prereg_id = locked(service.client, plan)
    ids = items(2)
    post(service.client, prereg_id, "A", ids, [1, 1], replicates=[1, 2])
    again = post(
        service.client,
        prereg_id,
        "A",
        [*ids, *ids],
        [1, 1, 0, 0],
        replicates=[1, 1, 2, 2],
        on_duplicate="skip",
    )
    assert (again.json()["n"], again.json()["skipped"]) == (2, 2)


def test_a_retry_is_one_request_only_with_the_same_wish(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    first = post(service.client, prereg_id, "A", items(2), [1, 1], key="k")
    other = post(service.client, prereg_id, "A", items(2), [1, 1], key="k", on_duplicate="skip")
    assert first.status_code == 201
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert post(service.client, prereg_id, "A", items(2), [1, 1], on_duplicate="often").status_code == 422


def test_a_batch_is_checked_and_not_stored(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    answer = check(service, prereg_id)
    assert (answer.status_code, answer.json()) == (
        200,
        {"population": "p", "arm": "A", "endpoint": "accuracy", "n": 2},
    )
    assert progress(service, prereg_id)["received"] == 0


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"item_ids": ["nobody", "item-1"]}, "item_id"),
        ({"values": [0.5, 1]}, "value"),
        ({"arm": "C"}, "arm"),
    ],
)
def test_a_check_says_what_posting_would_say(service: Service, change: dict[str, Any], path: str) -> None:
    prereg_id = locked(service.client, small_plan(N))
    checked = check(service, prereg_id, **change)
    body = {"arm": "A", "item_ids": items(2), "values": [1, 0]} | change
    posted = post(service.client, prereg_id, body["arm"], body["item_ids"], body["values"])
    assert checked.status_code == posted.status_code == 422
    assert checked.json()["errors"] == posted.json()["errors"]
    assert checked.json()["errors"][0]["path"] == path


def test_a_check_does_not_tell_what_is_in(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    before = check(service, prereg_id)
    post(service.client, prereg_id, "A", items(2), [1, 1])
    assert check(service, prereg_id).content == before.content


def test_a_draft_takes_neither(service: Service) -> None:
    prereg_id = draft(service.client, small_plan(N))
    assert check(service, prereg_id).status_code == 409
    assert post(service.client, prereg_id, "A", items(1), [1], on_duplicate="skip").status_code == 409
