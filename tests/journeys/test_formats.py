"""The same results and items in every format the service reads, plain and gzipped."""

from __future__ import annotations

import gzip
import json

import pytest

from .conftest import Service
from .plans import draft, idempotent, items, lock, locked, small_plan

pytestmark = pytest.mark.any_database

N = 6
VALUES = [1, 0, 1, 1, 0, 1]
ROWS = [
    {"arm": "A", "endpoint": "accuracy", "item_id": item, "value": value}
    for item, value in zip(items(N), VALUES, strict=True)
]
BODIES = {
    "columns": (
        "application/json",
        json.dumps({"arm": "A", "endpoint": "accuracy", "item_ids": items(N), "values": VALUES}),
    ),
    "rows": ("application/json", json.dumps(ROWS)),
    "ndjson": ("application/x-ndjson", "\n".join(map(json.dumps, ROWS))),
    "csv": (
        "text/csv",
        "arm,endpoint,item_id,value\n"
        + "".join(f"A,accuracy,{row['item_id']},{row['value']}\n" for row in ROWS),
    ),
}


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("form", BODIES)
def test_results_come_in_every_format(service: Service, form: str, compressed: bool) -> None:
    prereg_id = locked(service.client, small_plan(N))
    media_type, text = BODIES[form]
    headers = idempotent(**{"Content-Type": media_type})
    if compressed:
        headers["Content-Encoding"] = "gzip"
    body = gzip.compress(text.encode()) if compressed else text.encode()
    answer = service.client.post(f"/v1/preregistrations/{prereg_id}/results", content=body, headers=headers)
    assert answer.status_code == 201, answer.text
    assert answer.json()["n"] == N


@pytest.mark.parametrize(
    ("media_type", "text"),
    [
        ("application/x-ndjson", '{"item_id": "a/b", "cluster": "c1"}\n{"item_id": "é", "cluster": "c2"}\n'),
        ("text/csv", "item_id,cluster\na/b,c1\né,c2\n"),
        ("application/json", '{"item_ids": ["a/b", "é"], "clusters": ["c1", "c2"]}'),
    ],
)
def test_items_come_in_every_format_with_one_hash(service: Service, media_type: str, text: str) -> None:
    created = service.client.post("/v1/preregistrations", json=small_plan(2)).json()
    path = f"/v1/preregistrations/{created['id']}/populations/p/items"
    answer = service.client.put(path, content=text.encode(), headers={"Content-Type": media_type})
    assert answer.status_code == 200, answer.text
    assert (answer.json()["n"], answer.json()["n_clusters"]) == (2, 2)
    whole = service.client.get(path).json()
    assert whole == {
        "item_ids": ["a/b", "é"],
        "clusters": ["c1", "c2"],
        "strata": None,
        "content_sha256": None,
    }
    again = service.client.put(path, json={name: column for name, column in whole.items() if column})
    assert again.json()["items_sha256"] == answer.json()["items_sha256"]


def test_a_batch_with_one_wrong_row_stores_nothing(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    body = {"arm": "A", "endpoint": "accuracy", "item_ids": [*items(N)[:5], "stranger"], "values": VALUES}
    path = f"/v1/preregistrations/{prereg_id}"
    refused = service.client.post(f"{path}/results", json=body, headers=idempotent())
    assert refused.status_code == 422
    assert "stranger" in refused.json()["detail"]
    assert service.client.get(f"{path}/progress").json()["received"] == 0
    assert service.client.get(path).json()["state"] == "locked"


def test_results_are_refused_before_the_lock(service: Service) -> None:
    prereg_id = draft(service.client, small_plan(N))
    path = f"/v1/preregistrations/{prereg_id}/results"
    body = {"arm": "A", "endpoint": "accuracy", "item_ids": items(N), "values": VALUES}
    refused = service.client.post(path, json=body, headers=idempotent())
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert "lock" in refused.json()["detail"]
    assert service.client.post(path, json=body).json()["code"] == "idempotency_key_required"


def test_lock_needs_the_etag_the_key_and_the_warnings_read(service: Service) -> None:
    client = service.client
    plan = small_plan(12)
    population = {k: v for k, v in plan["populations"][0].items() if k != "independence"}
    plan["populations"] = [population | {"clusters": {"key": "document", "n": 6}}]
    clusters = [f"d{i % 6}" for i in range(12)]
    prereg_id = draft(client, plan, {"p": {"item_ids": items(12), "clusters": clusters}})
    path = f"/v1/preregistrations/{prereg_id}"
    etag = client.get(path).headers["ETag"]
    assert client.post(f"{path}/lock", headers=idempotent()).status_code == 428
    assert client.post(f"{path}/lock", headers=idempotent(**{"If-Match": '"99"'})).status_code == 412
    assert client.post(f"{path}/lock", headers={"If-Match": etag}).status_code == 400
    unread = client.post(f"{path}/lock", headers=idempotent(**{"If-Match": etag}))
    assert (unread.status_code, unread.json()["code"]) == (422, "warnings_not_acknowledged")
    assert any("FEW_CLUSTERS" in fault["message"] for fault in unread.json()["errors"])
    codes = ["FEW_CLUSTERS", "CLUSTERS_IGNORED", "LOW_POWER"]
    assert lock(client, prereg_id, acknowledge=codes).json()["acknowledged"] == sorted(codes)


def test_editing_a_draft_changes_its_etag_and_a_stale_one_is_refused(service: Service) -> None:
    client = service.client
    created = client.post("/v1/preregistrations", json={"title": "first"})
    path, etag = created.headers["Location"], created.headers["ETag"]
    assert client.get(path, headers={"If-None-Match": etag}).status_code == 304
    edited = client.patch(path, json={"title": "second", "thresholds": []}, headers={"If-Match": etag})
    assert edited.json()["plan"] == {"title": "second", "thresholds": [], "visibility": "private"}
    assert edited.headers["ETag"] != etag
    assert client.patch(path, json={"title": "third"}, headers={"If-Match": etag}).status_code == 412
    assert client.delete(path, headers={"If-Match": etag}).status_code == 412
    assert client.delete(path, headers={"If-Match": edited.headers["ETag"]}).status_code == 204
    assert client.get(path).status_code == 404


def test_a_patch_with_a_fault_names_the_field_and_changes_nothing(service: Service) -> None:
    client = service.client
    created = client.post("/v1/preregistrations", json={"title": "first"})
    headers = {"If-Match": created.headers["ETag"]}
    refused = client.patch(created.headers["Location"], json={"sesoi": {"accuracy": 2}}, headers=headers)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["path"].startswith("sesoi")
    assert client.get(created.headers["Location"]).headers["ETag"] == created.headers["ETag"]
