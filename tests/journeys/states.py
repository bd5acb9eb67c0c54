"""What moves a record from state to state."""

from __future__ import annotations

from typing import Any

from tests.journeys.conftest import Service
from tests.journeys.plans import idempotent, items, post

N = 6


def path(prereg_id: str, *rest: str) -> str:
    return "/".join(["/v1/preregistrations", prereg_id, *rest])


def amend(service: Service, prereg_id: str, changes: dict[str, Any], **more: Any) -> Any:
    etag = service.client.get(path(prereg_id)).headers["ETag"]
    body = {"reason": "before any result", "changes": changes, "acknowledge": "all", **more}
    headers = idempotent(**{"If-Match": etag})
    return service.client.post(path(prereg_id, "amendments"), json=body, headers=headers)


def withdraw(service: Service, prereg_id: str) -> Any:
    return service.client.post(path(prereg_id, "withdrawal"), json={"reason": "no longer needed"})


def fill(service: Service, prereg_id: str, n: int = N, **arms: list[float]) -> None:
    for arm in ("A", "B"):
        values = arms.get(arm, [float(arm == "B")] * n)
        answer = post(service.client, prereg_id, arm, items(N)[:n], values)
        assert answer.status_code == 201, answer.text


def verdict(service: Service, prereg_id: str) -> Any:
    service.run_jobs()
    return service.client.get(path(prereg_id, "verdict")).json()
