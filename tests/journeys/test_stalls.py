"""A heavy request does not hold up the others: what is slow comes before the write, and lists read little."""

from __future__ import annotations

from typing import Any

import pytest

from service.actions.plans import preregistrations as actions
from service.domain.plans.plan import Plan
from service.store.plans import preregistrations

from .conftest import Service
from .plans import draft, idempotent, items, lock, locked, small_plan

pytestmark = pytest.mark.any_database

N = 8


def test_a_lock_lints_while_others_write(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = small_plan(N)
    prereg_id = draft(service.client, plan)
    seen: list[int] = []

    def slow_lint(*arguments: Any) -> Any:
        seen.append(service.client.post("/v1/preregistrations", json={"title": "meanwhile"}).status_code)
        return real(*arguments)

    real = actions.lint
    monkeypatch.setattr(actions, "lint", slow_lint)
    assert lock(service.client, prereg_id).status_code == 200
    assert seen == [201]


def test_what_changes_while_a_lock_lints_is_not_locked(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    prereg_id = draft(service.client, small_plan(N))
    path = f"/v1/preregistrations/{prereg_id}"
    etag = service.client.get(path).headers["ETag"]

    def edit(*arguments: Any) -> Any:
        changed = service.client.patch(path, json={"title": "another"}, headers={"If-Match": "*"})
        assert changed.status_code == 200
        return real(*arguments)

    real = actions.lint
    monkeypatch.setattr(actions, "lint", edit)
    for tag in (etag, "*"):
        body, headers = {"acknowledge": "all"}, idempotent(**{"If-Match": tag})
        assert service.client.post(f"{path}/lock", json=body, headers=headers).status_code == 412
    assert service.client.get(path).json()["state"] == "draft"


def test_a_list_reads_no_plan(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = small_plan(N)
    drafted = draft(service.client, plan)
    locked = draft(service.client, plan | {"title": "Locked"})
    assert lock(service.client, locked).status_code == 200
    monkeypatch.setattr(Plan, "from_json", classmethod(lambda *_: pytest.fail("a plan was read")))
    preregistrations._plans._known.clear()
    items = service.client.get("/v1/preregistrations").json()["items"]
    found = {item["id"]: (item["title"], item["altered"]) for item in items}
    assert found == {drafted: (plan["title"], False), locked: ("Locked", False)}


def test_a_plan_is_at_most_a_mebibyte(service: Service) -> None:
    long = {"title": "t", "power": {"assumptions": "x" * 2**20}}
    answer = service.client.post("/v1/preregistrations", json=long)
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


def test_a_large_batch_is_checked_as_it_would_be_stored(service: Service) -> None:
    n = 6_000  # beyond what is read where it is stored
    prereg_id = locked(service.client, small_plan(n))
    columns = {"arm": "A", "endpoint": "accuracy", "item_ids": items(n), "values": [1.0] * n}
    path = f"/v1/preregistrations/{prereg_id}/results/check"
    answer = service.client.post(path, json=columns)
    assert (answer.status_code, answer.json()["n"]) == (200, n)
    wrong = service.client.post(path, json=columns | {"values": [2.0] * n})
    assert wrong.status_code == 422
    assert wrong.json()["errors"][0]["message"].startswith("row 1 is neither 0 nor 1")


@pytest.mark.parametrize("after", ["results", "results/check"])
def test_a_record_that_is_not_there_is_said_before_the_body_is_read(service: Service, after: str) -> None:
    answer = service.client.post(
        f"/v1/preregistrations/{'0' * 32}/{after}",
        content=b"[" * 200_000,
        headers=idempotent(**{"Content-Type": "application/json"}),
    )
    assert answer.status_code == 404


def test_a_large_pilot_is_read_as_a_small_one(service: Service) -> None:
    prereg_id, found = draft(service.client, small_plan(N)), []
    for copies in (100, 5_000):
        pilot = {"baseline": [1, 0, 1, 0, 1, 0] * copies, "candidate": [1, 0, 0, 1, 1, 1] * copies}
        answer = service.client.post(f"/v1/preregistrations/{prereg_id}/lint", json={"pilot": [pilot]})
        assert answer.status_code == 200, answer.text
        found.append(answer.json()["pilot"][0])
    assert [each["n"] for each in found] == [600, 30_000]
    assert found[0]["delta"] == pytest.approx(found[1]["delta"])
