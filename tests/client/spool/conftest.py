from __future__ import annotations

import gzip
import json
from typing import Any

import httpx
import pytest

from forelock import Client
from forelock.spool import Spool


class Keeper:
    """A service that keeps rows: the first of an item stays, and a key that was answered is answered the same."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str, int], float | None] = {}
        self.answers: dict[str, httpx.Response] = {}
        self.posted: list[Any] = []
        self.keys: list[str] = []
        self.away = False
        self.refuses: set[str] = set()
        """Items that no batch may have."""

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if self.away:
            raise httpx.ConnectError("nobody there")
        key = request.headers["Idempotency-Key"]
        self.keys.append(key)
        if key not in self.answers:
            self.answers[key] = self._take(request)
        return self.answers[key]

    def _take(self, request: httpx.Request) -> httpx.Response:
        content = request.read()
        if request.headers.get("Content-Encoding") != "gzip":
            self.posted.append((dict(request.url.params), content))
            return httpx.Response(201, json={})
        body = json.loads(gzip.decompress(content))
        self.posted.append(body)
        if self.refuses & set(body["item_ids"]):
            problem = {
                "status": 422,
                "code": "unknown_items",
                "detail": "row 1: is no item of the population",
            }
            return httpx.Response(422, json=problem)
        assert body["on_duplicate"] == "skip"
        places = list(zip(body["item_ids"], body["replicates"], strict=True))
        assert len(set(places)) == len(places)
        for (item_id, replicate), value in zip(places, body["values"], strict=True):
            self.rows.setdefault((body["arm"], item_id, replicate), value)
        return httpx.Response(201, json={"n": len(places)})

    def client(self, attempts: int = 1) -> Client:
        transport = httpx.MockTransport(self)
        return Client("http://s", "flk_k", transport=transport, attempts=attempts, sleep=lambda _: None)


@pytest.fixture
def keeper() -> Keeper:
    return Keeper()


@pytest.fixture
def spool(tmp_path) -> Spool:
    return Spool(tmp_path / "spool")
