"""The audit log."""

from __future__ import annotations

from tests.journeys.conftest import Service


def log(service: Service, **query: object) -> list[dict]:
    answer = service.client.get("/v1/audit", params={"limit": 200, **query})
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]
