"""Plans that look before their end, and how items arrive for a look."""

from __future__ import annotations

import uuid
from typing import Any

from tests.journeys.conftest import Service
from tests.journeys.plans import post, small_plan

N = 80


SEED = 5


def plan(kind: str = "group_sequential", **changes: Any) -> dict[str, Any]:
    """Four looks at 80 items, or readings at any time."""
    value = small_plan(N, missing="fail")
    value["populations"][0]["order_seed"] = SEED
    value["hypotheses"][0]["rule"] = "delta >= 2 pp and seq.p_value < 0.05"
    value["hypotheses"][0].pop("equivalence", None)
    methods = {"group_sequential": "group_sequential", "anytime_valid": "e_process"}
    value["tests"] = [
        {"id": "seq", "test": "sequential", "version": 1, "parameters": {"method": methods[kind]}}
    ]
    value["stopping"] = {"kind": kind} | ({"looks": 4} if kind == "group_sequential" else {})
    return value | changes


def path(prereg_id: str, part: str = "") -> str:
    return f"/v1/preregistrations/{prereg_id}{part}"


def order(service: Service, prereg_id: str) -> list[str]:
    found: list[str] = []
    cursor = None
    while True:
        query = {"limit": 50} | ({"cursor": cursor} if cursor else {})
        page = service.client.get(path(prereg_id, "/populations/p/order"), params=query).json()
        found += [each["item_id"] for each in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            return found


def run(service: Service, prereg_id: str, item_ids: list[str], wins: set[str]) -> Any:
    """Both arms of these items: the candidate is right on all, the baseline wrong where it loses."""
    post(service.client, prereg_id, "A", item_ids, [0 if each in wins else 1 for each in item_ids])
    return post(service.client, prereg_id, "B", item_ids, [1] * len(item_ids))


def ask(service: Service, prereg_id: str, part: str = "/looks") -> Any:
    return service.client.post(path(prereg_id, part), headers={"Idempotency-Key": uuid.uuid4().hex})
