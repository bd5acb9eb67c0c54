"""A client of an application in this process sees what Starlette's own client sees."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from starlette import testclient
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.whole_answers import WholeAnswers


async def echo(request: Request) -> Response:
    """What came, in words."""
    body = (await request.body()).decode()
    words = f"{request.method} {request.url} {request.headers.get('x-twice')} {request.client} {body}"
    return PlainTextResponse(words, 201, {"x-seen": "yes"})


async def pieces(_request: Request) -> Response:
    async def parts():
        for number in range(3):
            yield f"{number};"

    answer = StreamingResponse(parts())
    answer.set_cookie("one", "1")
    answer.set_cookie("two", "2")
    return answer


async def broken(_request: Request) -> Response:
    raise RuntimeError("broken")


APP = Starlette(
    routes=[
        Route("/echo/{name}", echo, methods=["GET", "HEAD", "POST", "DELETE"]),
        Route("/pieces", pieces),
        Route("/broken", broken),
    ]
)


def answer(transport, monkeypatch, method, url, *, entered, **options):
    monkeypatch.setattr(testclient, "_TestClientTransport", transport)
    client = testclient.TestClient(APP, raise_server_exceptions=False)
    with client if entered else nullcontext():
        got = client.request(method, url, **options)
    return got.status_code, got.headers.multi_items(), got.content, dict(got.cookies), str(got.request.url)


PLAIN = WholeAnswers.__mro__[1]


@pytest.mark.parametrize("entered", [True, False])
@pytest.mark.parametrize(
    ("method", "url", "options"),
    [
        ("GET", "/echo/a%20b?q=%C3%BC&q=2", {"headers": {"X-Twice": "one, two"}}),
        ("HEAD", "/echo/a", {}),
        ("POST", "/echo/a", {"json": {"a": 1}}),
        ("POST", "/echo/a", {"content": b"onetwo"}),
        ("DELETE", "https://elsewhere:8443/echo/a", {}),
        ("GET", "/pieces", {}),
        ("GET", "/nowhere", {}),
        ("GET", "/broken", {}),
    ],
)
def test_an_answer_is_that_of_starlettes_client(monkeypatch, method, url, options, entered):
    ours, theirs = (
        answer(transport, monkeypatch, method, url, entered=entered, **options)
        for transport in (WholeAnswers, PLAIN)
    )
    assert ours == theirs


def test_an_error_of_the_application_is_raised_where_the_client_says_so(monkeypatch):
    monkeypatch.setattr(testclient, "_TestClientTransport", WholeAnswers)
    with pytest.raises(RuntimeError, match="broken"):
        testclient.TestClient(APP).get("/broken")
