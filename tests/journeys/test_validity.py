"""What stands against a verdict is found from the record and its ledger."""

from __future__ import annotations

import pytest

from tests.journeys.conftest import Service
from tests.journeys.plans import items, locked, post, small_plan

pytestmark = pytest.mark.any_database

N = 6


def opened(service: Service, prereg_id: str) -> None:
    """Outcomes are opened."""
    body = {"reason": "the judge was broken"}
    answer = service.client.post(f"/v1/preregistrations/{prereg_id}/unblinding", json=body)
    assert answer.status_code == 201, answer.text


@pytest.mark.parametrize(
    ("before", "effect", "batches"), [(N, "flag", None), (2, "invalid", [2, 3]), (0, "invalid", [1, 2])]
)
def test_rows_after_an_unblinding_make_the_verdict_invalid(
    service: Service, before: int, effect: str, batches: list[int] | None
) -> None:
    client = service.client
    prereg_id = locked(client, small_plan(N))
    if before:
        post(client, prereg_id, "A", items(N)[:before], [1.0] * before)
    if before < N:
        opened(service, prereg_id)
        post(client, prereg_id, "A", items(N)[before:], [1.0] * (N - before))
        assert post(client, prereg_id, "B", items(N), [1.0] * N).status_code == 201
    else:
        assert post(client, prereg_id, "B", items(N), [1.0] * N).status_code == 201
        opened(service, prereg_id)
    service.run_jobs()
    verdict = client.get(f"/v1/preregistrations/{prereg_id}/verdict").json()
    (mark,) = verdict["marks"]
    assert (mark["code"], mark["effect"], mark.get("batches")) == ("unblinded", effect, batches or [])
    outcome = verdict["hypotheses"][0]["outcome"]
    assert (outcome == "invalid") == (effect == "invalid")
    page = client.get(f"/v1/preregistrations/{prereg_id}/evidence").json()
    assert mark["says"] in page["marks"][0]["en"]


def test_a_voided_batch_counts_for_nothing(service: Service) -> None:
    client = service.client
    prereg_id = locked(client, small_plan(N))
    post(client, prereg_id, "A", items(N), [1.0] * N)
    opened(service, prereg_id)
    post(client, prereg_id, "B", items(N)[:5], [1.0] * 5)
    voided = client.post(f"/v1/preregistrations/{prereg_id}/batches/2/void", json={"reason": "wrong file"})
    assert voided.status_code == 200
    post(client, prereg_id, "B", items(N), [1.0] * N)
    service.run_jobs()
    verdict = client.get(f"/v1/preregistrations/{prereg_id}/verdict").json()
    assert verdict["marks"][0]["batches"] == [3]


def test_a_record_to_which_nothing_happened_has_no_marks(service: Service) -> None:
    client = service.client
    prereg_id = locked(client, small_plan(N))
    for arm in ("A", "B"):
        post(client, prereg_id, arm, items(N), [1.0] * N)
    service.run_jobs()
    assert "marks" not in client.get(f"/v1/preregistrations/{prereg_id}/verdict").json()
