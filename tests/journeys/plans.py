"""Plans and results for journeys, and the calls that take them through the service."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.testclient import TestClient

from service.api.examples.common import PLAN


def small_plan(n: int = 10, *, missing: str = "fail", **changes: Any) -> dict[str, Any]:
    """A plan on `n` independent items, judged by delta and McNemar."""
    plan = copy.deepcopy(PLAN)
    plan["populations"][0] |= {"id": "p", "n": n}
    plan["hypotheses"][0] |= {
        "population": "p",
        "baseline": "A",
        "candidate": "B",
        "rule": "delta >= 2.0 pp and mcnemar.p_value < 0.05",
    }
    plan["tests"] = plan["tests"][:1]
    return plan | {"missing": missing} | changes


def idempotent(**headers: str) -> dict[str, str]:
    return {"Idempotency-Key": uuid.uuid4().hex, **headers}


def items(n: int) -> list[str]:
    return [f"item-{i}" for i in range(n)]


def reread(client: TestClient, prereg_id: str) -> str:
    """The id of a draft that is made of this one's Markdown, which in either language is read as the same plan."""
    records = "/v1/preregistrations"
    plan = client.get(f"{records}/{prereg_id}").json()["plan"]
    for language in ("en", "zh"):
        text = client.get(f"{records}/{prereg_id}/prereg.md", params={"lang": language}).text
        read = client.post(records, content=text, headers={"Content-Type": "text/markdown"})
        assert read.status_code == 201, read.text
        assert read.json()["plan"] == plan
    return str(read.json()["id"])


def draft(
    client: TestClient, plan: Mapping[str, Any], manifests: Mapping[str, Mapping[str, Any]] | None = None
) -> str:
    """A draft with its items."""
    created = client.post("/v1/preregistrations", json=dict(plan))
    assert created.status_code == 201, created.text
    prereg_id: str = created.json()["id"]
    for population in plan["populations"]:
        body = (manifests or {}).get(population["id"]) or {"item_ids": items(population["n"])}
        put = client.put(
            f"/v1/preregistrations/{prereg_id}/populations/{population['id']}/items", json=dict(body)
        )
        assert put.status_code == 200, put.text
    return prereg_id


def lock(client: TestClient, prereg_id: str, acknowledge: Any = "all") -> Any:
    """The answer to a lock of the record as it is now."""
    etag = client.get(f"/v1/preregistrations/{prereg_id}").headers["ETag"]
    return client.post(
        f"/v1/preregistrations/{prereg_id}/lock",
        json={"acknowledge": acknowledge},
        headers=idempotent(**{"If-Match": etag}),
    )


def locked(
    client: TestClient, plan: Mapping[str, Any], manifests: Mapping[str, Mapping[str, Any]] | None = None
) -> str:
    """A locked preregistration."""
    prereg_id = draft(client, plan, manifests)
    answer = lock(client, prereg_id)
    assert answer.status_code == 200, answer.text
    return prereg_id


def post(
    client: TestClient,
    prereg_id: str,
    arm: str,
    item_ids: Sequence[str],
    values: Sequence[float | None],
    *,
    key: str | None = None,
    **more: Any,
) -> Any:
    """The answer to a batch of results."""
    return client.post(
        f"/v1/preregistrations/{prereg_id}/results",
        json={"arm": arm, "endpoint": "accuracy", "item_ids": list(item_ids), "values": list(values), **more},
        headers={"Idempotency-Key": key or uuid.uuid4().hex},
    )


LABELS, LABEL_SEED = 40, 20270301
LABELLED = [
    {
        "id": "accuracy",
        "kind": "binary",
        "role": "primary",
        "judge": {"model": "judge-1", "version": "2026-11", "prompt_sha256": "a" * 64},
    },
    {
        "id": "accuracy.audit",
        "kind": "binary",
        "role": "secondary",
        "labels": {"n": LABELS, "seed": LABEL_SEED},
    },
]
"""Endpoints of a plan whose judge people check."""
