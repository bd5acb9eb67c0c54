"""Files sent to a record."""

from __future__ import annotations

import csv
import uuid
from pathlib import Path
from typing import Any

from tests.ingest.truth import FILES
from tests.journeys.conftest import Service
from tests.journeys.plans import locked, small_plan

MAPPING = {"format": "inspect", "scorer": "match", "cluster_key": "topic", "arm": "metadata.arm"}


NAMES = {"baseline": "A", "candidate": "B"}


def manifest() -> dict[str, list[str]]:
    with (FILES / "items.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return {"item_ids": [row["item_id"] for row in rows], "clusters": [row["cluster"] for row in rows]}


def plan(**mapping: Any) -> dict[str, Any]:
    made = small_plan(48, missing="exclude_pair")
    made["populations"][0].pop("independence")
    made["populations"][0]["clusters"] = {"key": "topic", "n": 8}
    made["endpoints"][0] |= {"replicates": 2, "collapse": "first"}
    made["hypotheses"][0]["rule"] = "delta >= 2.0 pp and clustered.p_value < 0.05"
    made["tests"] = [
        {"id": "clustered", "test": "clustered-mcnemar", "version": 1, "parameters": {"method": "sign_flip"}}
    ]
    return made | {"import": MAPPING | {"arms": NAMES} | mapping}


def locked_plan(service: Service, **mapping: Any) -> str:
    return locked(service.client, plan(**mapping), {"p": manifest()})


def send(
    service: Service, prereg_id: str, content: bytes | Path, *, key: str | None = None, **query: Any
) -> Any:
    body = content.read_bytes() if isinstance(content, Path) else content
    return service.client.post(
        f"/v1/preregistrations/{prereg_id}/imports",
        params={
            name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items()
        },
        content=body,
        headers={"Idempotency-Key": key or uuid.uuid4().hex, "Content-Type": "application/octet-stream"},
    )


def progress(service: Service, prereg_id: str, **query: Any) -> Any:
    return service.client.get(f"/v1/preregistrations/{prereg_id}/progress", params=query).json()


def rows(*values: Any) -> bytes:
    return "\n".join(["item_id,value", *(f"item-{n},{value}" for n, value in enumerate(values))]).encode()
