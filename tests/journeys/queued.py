"""Tests that run as jobs, and what is told of them."""

from __future__ import annotations

import json
from typing import Any

from tests.journeys.conftest import Service

ASYNC = {"Prefer": "respond-async"}


PATH = "/v1/tests/mcnemar"


BODY = {"both_correct": 9, "only_baseline": 1, "only_candidate": 7, "both_wrong": 4}


def run(service: Service, headers: dict[str, str], body: dict[str, Any] = BODY, path: str = PATH) -> Any:
    return service.client.post(path, json=body, headers=headers)


def events(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Name and data of every event of a stream."""
    found = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            found.append((fields["event"], json.loads(fields["data"])))
    return found
