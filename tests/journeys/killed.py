"""A client of the command line that dies in the middle of what it sends."""

from __future__ import annotations

import httpx
import pytest

from forelock import Client

from .conftest import Service

_NOT_KEPT = ("host", "authorization", "content-length", "transfer-encoding")


class Killed(BaseException):
    """The process is gone."""


def dies(monkeypatch: pytest.MonkeyPatch, service: Service, *, at: int, answered: bool) -> None:
    """Commands talk to the service, and end with that request (0: none) before it arrives, or its answer."""
    sent = 0

    def handle(request: httpx.Request) -> httpx.Response:
        nonlocal sent
        sent += 1
        if sent == at and not answered:
            raise Killed
        kept = {name: value for name, value in request.headers.items() if name not in _NOT_KEPT}
        answer = service.client.request(
            request.method, request.url.raw_path.decode(), content=request.read(), headers=kept
        )
        if sent == at:
            raise Killed
        passed = {name: answer.headers[name] for name in ("ETag",) if name in answer.headers}
        return httpx.Response(answer.status_code, content=answer.content, headers=passed)

    monkeypatch.setattr(
        "forelock.client.Client",
        lambda *_: Client("http://s", "flk_k", transport=httpx.MockTransport(handle)),
    )
