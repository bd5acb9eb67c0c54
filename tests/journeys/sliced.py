"""Records whose items lie in slices."""

from __future__ import annotations

import uuid
from typing import Any

from tests.journeys.conftest import Service
from tests.journeys.plans import items, small_plan

RECORDS = "/v1/preregistrations"


N = 300


def sliced(**changes: Any) -> dict[str, Any]:
    """Two endpoints under `max_t`, and no slice may lose 5 pp."""
    plan = small_plan(N, missing="exclude_pair")
    first, endpoint = plan["hypotheses"][0], plan["endpoints"][0]
    plan["hypotheses"] = [first | {"id": "H1"}, first | {"id": "H2", "endpoint": "format"}]
    plan["endpoints"] = [endpoint, endpoint | {"id": "format"}]
    plan["sesoi"] = {each: {"value": 2, "unit": "pp"} for each in ("accuracy", "format")}
    plan["multiplicity"] = {"policy": "max_t", "family": ["H1", "H2"]}
    return plan | {"slices": {"by": "stratum", "no_worse_than": {"value": 5, "unit": "pp"}}} | changes


def post(service: Service, prereg_id: str, arm: str, endpoint: str, values: list[int]) -> Any:
    body = {"arm": arm, "endpoint": endpoint, "item_ids": items(N), "values": values}
    headers = {"Idempotency-Key": uuid.uuid4().hex}
    return service.client.post(f"{RECORDS}/{prereg_id}/results", json=body, headers=headers)
