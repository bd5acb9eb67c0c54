"""What the fuzz sends can be sent: a fault of its own client would hide one of the service."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from tests.chaos.fuzz import Found, Stream
from tests.every_route import OPERATIONS, PICTURES


def project(client: httpx.Client, name: str) -> Any:
    ids = dict.fromkeys(("prereg_id", "job_id", "id", "family_id", "webhook_id", "delivery_id"), name) | {
        "population": "p"
    }
    ids |= dict.fromkeys(("batch", "deviation", "version", "index", "number", "run_id", "name"), "1")
    ids |= PICTURES
    return SimpleNamespace(
        client=client, id=name, secrets={name}, records=[], keys=[], jobs=[], webhooks=[],
        ids=lambda _rng: ids | {"project_id": name},
    )  # fmt: skip


@pytest.mark.slow
def test_every_request_of_the_fuzz_can_be_sent() -> None:
    found, sent = Found("none"), []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.content)
        return httpx.Response(404, json={})

    with httpx.Client(base_url="http://fuzz.invalid", transport=httpx.MockTransport(answer)) as client:
        ours, other = project(client, "a" * 32), project(client, "b" * 32)
        Stream(found, ours, other, random.Random("1 0")).send(30 * len(OPERATIONS))
    assert found.faults == []
    assert len(sent) == 30 * len(OPERATIONS)
    assert any(b"\\ud83d" in body for body in sent)
