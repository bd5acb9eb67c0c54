"""Lock a plan, post results, get a verdict."""

from __future__ import annotations

import pytest

from service.domain.canonical import canonical, sha256_hex

from .conftest import Service
from .plans import draft, items, lock, locked, post, small_plan

pytestmark = pytest.mark.any_database


def test_a_plan_is_locked_results_come_in_and_a_verdict_comes_out(service: Service) -> None:
    client = service.client
    prereg_id = draft(client, small_plan(20))
    found = client.post(f"/v1/preregistrations/{prereg_id}/lint").json()["findings"]
    assert [each["code"] for each in found] == ["SIZE_NOT_TESTED", "LOW_POWER"]  # twenty items are few
    record = lock(client, prereg_id).json()
    assert record["state"] == "locked"
    assert record["plan_sha256"] == sha256_hex(canonical(record["plan"]))
    assert record["receipt"]["kind"] == "plan_locked"

    first = post(client, prereg_id, "A", items(20)[:12], [0] * 12)
    assert first.status_code == 201
    assert (first.json()["batch"], first.json()["received"], first.json()["expected"]) == (1, 12, 40)
    assert post(client, prereg_id, "A", items(20)[12:], [1] * 8).status_code == 201
    blinded = client.get(f"/v1/preregistrations/{prereg_id}/verdict")
    assert (blinded.status_code, blinded.json()["code"]) == (409, "blinded")
    last = post(client, prereg_id, "B", items(20), [1] * 10 + [0] * 2 + [1] * 8)
    assert last.json()["state"] == "complete"
    pending = client.get(f"/v1/preregistrations/{prereg_id}/verdict")
    assert (pending.status_code, pending.json()["code"]) == (409, "verdict_pending")
    assert client.get("/v1/verdicts").json()["items"] == []

    assert service.run_jobs() == 1
    verdict = client.get(f"/v1/preregistrations/{prereg_id}/verdict").json()
    (hypothesis,) = verdict["hypotheses"]
    assert hypothesis["outcome"] == "supported"
    delta, p_value = hypothesis["clauses"]
    assert (delta["observed"], delta["threshold"], delta["holds"]) == (0.5, 0.02, True)
    assert p_value["observed"] == 2**-9
    assert hypothesis["analyses"]["mcnemar"]["analysis"]["n_discordant"] == 10
    assert client.get(f"/v1/preregistrations/{prereg_id}").json()["state"] == "judged"
    (listed,) = client.get("/v1/verdicts", params={"outcome": "supported"}).json()["items"]
    assert (listed["preregistration_id"], listed["hypothesis"]) == (prereg_id, "H1a")
    (said,) = client.get(f"/v1/preregistrations/{prereg_id}/verdict/sentences").json()["hypotheses"]
    assert listed["headline"] == said["headline"]["en"]
    (chinese,) = client.get("/v1/verdicts", params={"lang": "zh"}).json()["items"]
    assert chinese["headline"] == said["headline"]["zh"] != listed["headline"]
    assert client.get("/v1/verdicts", params={"lang": "xx"}).status_code == 422


def test_rows_are_readable_after_the_verdict_and_not_before(service: Service) -> None:
    client = service.client
    prereg_id = locked(client, small_plan(8, missing="exclude_pair"))
    path = f"/v1/preregistrations/{prereg_id}/results"
    post(client, prereg_id, "A", items(8), [0, 0, 0, 0, 0, 0, 0, None], status=["ok"] * 7 + ["error"])
    assert client.get(path).json()["code"] == "blinded"
    post(client, prereg_id, "B", items(8), [1] * 8, replicates=[1] * 8, run="run-7")
    service.run_jobs()
    first = client.get(path, params={"limit": 9}).json()
    rest = client.get(path, params={"limit": 9, "cursor": first["next_cursor"]}).json()
    rows = first["items"] + rest["items"]
    assert rest["next_cursor"] is None
    assert [row["value"] for row in rows] == [0] * 7 + [None] + [1] * 8
    assert rows[7]["status"] == "error"
    assert (rows[8]["arm"], rows[8]["run"], rows[8]["batch"]) == ("B", "run-7", 2)
    (hypothesis,) = client.get(f"/v1/preregistrations/{prereg_id}/verdict").json()["hypotheses"]
    assert (hypothesis["n"], hypothesis["excluded"]["pairs"]) == (7, 1)


def test_an_error_under_the_policy_fail_makes_the_verdict_invalid(service: Service) -> None:
    client = service.client
    prereg_id = locked(client, small_plan(6))
    post(client, prereg_id, "A", items(6), [0] * 6)
    post(client, prereg_id, "B", items(6), [1] * 5 + [None], status=["ok"] * 5 + ["missing"])
    service.run_jobs()
    (hypothesis,) = client.get(f"/v1/preregistrations/{prereg_id}/verdict").json()["hypotheses"]
    assert hypothesis["outcome"] == "invalid"
    assert "missing policy" in hypothesis["reason"]


def test_a_voided_batch_frees_its_cells_and_is_printed_in_the_verdict(service: Service) -> None:
    client = service.client
    prereg_id = locked(client, small_plan(6))
    post(client, prereg_id, "B", items(6), [0] * 6)
    wrong = f"/v1/preregistrations/{prereg_id}/batches/1/void"
    voided = client.post(wrong, json={"reason": "posted under the wrong arm"})
    assert (voided.status_code, voided.json()["kind"]) == (200, "batch_voided")
    assert client.post(wrong, json={"reason": "again"}).status_code == 409
    assert client.get(f"/v1/preregistrations/{prereg_id}/progress").json()["received"] == 0
    post(client, prereg_id, "B", items(6), [1] * 6)
    post(client, prereg_id, "A", items(6), [0] * 6)
    service.run_jobs()
    verdict = client.get(f"/v1/preregistrations/{prereg_id}/verdict").json()
    assert [batch["batch"] for batch in verdict["voided_batches"]] == [1]
    assert verdict["hypotheses"][0]["clauses"][0]["observed"] == 1.0


def test_a_failed_verdict_job_is_told_and_can_be_queued_again(service: Service) -> None:
    client = service.client
    prereg_id = locked(client, small_plan(6))
    post(client, prereg_id, "A", items(6), [0] * 6)
    handler = service.runner._handlers["verdict"]
    opener = handler._seal_private
    handler._seal_private = bytes(32)
    post(client, prereg_id, "B", items(6), [1] * 6)
    service.run_jobs()
    failed = client.get(f"/v1/preregistrations/{prereg_id}/verdict")
    assert (failed.status_code, failed.json()["code"]) == (409, "verdict_failed")
    assert client.get(f"/v1/preregistrations/{prereg_id}").json()["state"] == "complete"
    handler._seal_private = opener
    queued = client.post(f"/v1/preregistrations/{prereg_id}/verdict")
    assert (queued.status_code, queued.json()["state"]) == (202, "queued")
    service.run_jobs()
    assert client.get(queued.headers["Location"]).json()["state"] == "succeeded"
    assert client.get(f"/v1/preregistrations/{prereg_id}/verdict").status_code == 200


def test_a_locked_plan_refuses_edits_and_remembers_the_attempt(service: Service) -> None:
    client = service.client
    prereg_id = locked(client, small_plan(6))
    path = f"/v1/preregistrations/{prereg_id}"
    headers = {"If-Match": client.get(path).headers["ETag"]}
    for refused in (
        client.patch(path, json={"title": "another"}, headers=headers),
        client.delete(path, headers=headers),
        client.put(f"{path}/populations/p/items", json={"item_ids": items(6)}),
    ):
        assert refused.status_code == 409
        assert "submit results" in refused.json()["detail"]
    from service.store.projects import audit

    with service.database.read() as session:
        events, _ = audit.read_page(session, service.project_id)
    assert [event.action for event in events[:3]] == [
        "preregistration.items.refused",
        "preregistration.delete.refused",
        "preregistration.edit.refused",
    ]


def test_another_projects_records_are_not_found(service: Service) -> None:
    client = service.client
    prereg_id = locked(client, small_plan(6))
    stranger = {"Authorization": f"Bearer {service.key(project_id=service.project('other'))}"}
    path = f"/v1/preregistrations/{prereg_id}"
    for suffix in ("", "/progress", "/batches", "/results", "/verdict", "/receipt", "/populations/p/items"):
        assert client.get(path + suffix, headers=stranger).status_code == 404, suffix
    assert client.get("/v1/preregistrations", headers=stranger).json()["items"] == []
    assert (
        client.get("/v1/verdicts", headers=stranger, params={"project": service.project_id}).json()["items"]
        == []
    )
    refused = client.post(
        f"{path}/results",
        json={"arm": "A", "endpoint": "accuracy", "item_ids": items(1), "values": [1]},
        headers=stranger | {"Idempotency-Key": "x"},
    )
    assert refused.status_code == 404
