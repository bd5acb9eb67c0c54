from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from forelock import Client, cli


class Service:
    """A scripted service: answers in order, remembers requests; the clock moves only by sleeping."""

    def __init__(self) -> None:
        self.answers: list[httpx.Response | Exception] = []
        self.requests: list[httpx.Request] = []
        self.naps: list[float] = []

    def will_answer(self, status: int, body: Any = None, **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers.append(httpx.Response(status, json={} if body is None else body, headers=named))

    def will_refuse(self, status: int, code: str, **headers: str) -> None:
        self.will_answer(status, {"status": status, "code": code, "detail": f"it is {code}"}, **headers)

    def will_raise(self, error: Exception) -> None:
        self.answers.append(error)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def sent(self, index: int = -1) -> Any:
        request = self.requests[index]
        body = request.content
        if request.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        return json.loads(body)

    def header(self, name: str) -> list[str | None]:
        return [request.headers.get(name) for request in self.requests]

    def client(self, **options: Any) -> Client:
        return Client(
            "http://service.test",
            "flk_key",
            transport=httpx.MockTransport(self),
            sleep=self.naps.append,
            clock=lambda: sum(self.naps),
            **options,
        )


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def command(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run `forelock ARGUMENTS` against the scripted service: status, output, errors."""
    from forelock import cli

    monkeypatch.setattr("forelock.client.Client", lambda *_args: service.client())
    monkeypatch.setenv("FORELOCK_URL", "http://service.test")  # or tests would be run in this process

    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            status = cli.main(arguments)
        except SystemExit as stop:  # argparse
            status = int(stop.code or 0)
        output, errors = capsys.readouterr()
        return status, output, errors

    return run


@pytest.fixture
def shell(monkeypatch, capsys, tmp_path):
    """Run `forelock ARGUMENTS` in an empty directory, with no service or key named."""
    for name in ("FORELOCK_URL", "FORELOCK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        try:
            status = cli.main(arguments)
        except SystemExit as stop:
            status = int(stop.code or 0)
        return status, *capsys.readouterr()

    return run
