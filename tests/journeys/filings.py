"""Deviations that are filed, and the judged record that they depart from."""

from __future__ import annotations

from typing import Any

from service.api.examples.deviations import FILING
from tests.journeys.conftest import Service
from tests.journeys.plans import items, locked, post, small_plan

N = 30


BASELINE = [1] * 10 + [0] * 20


CANDIDATE = [1] * 18 + [0] * 12  # eight wins, no loss: p = 2^-7


SMALLER = {"kind": "n", "population": "p", "n": 20, "dropped_favour": "neither"}


def filing(change: dict[str, Any] | None = None, **words: Any) -> dict[str, Any]:
    return FILING | words | {"change": change or SMALLER}


def deviations(prereg_id: str) -> str:
    return f"/v1/preregistrations/{prereg_id}/deviations"


def file(service: Service, prereg_id: str, change: dict[str, Any] | None = None, **words: Any) -> Any:
    return service.client.post(deviations(prereg_id), json=filing(change, **words))


def judged(
    service: Service, *, missing: str = "exclude_pair", candidate: Any = CANDIDATE, **plan: Any
) -> str:
    prereg_id = locked(service.client, small_plan(N, missing=missing, **plan))
    assert post(service.client, prereg_id, "A", items(N), BASELINE).status_code == 201
    status = ["ok" if value is not None else "missing" for value in candidate]
    assert post(service.client, prereg_id, "B", items(N), candidate, status=status).status_code == 201
    assert service.run_jobs() == 1
    return prereg_id
