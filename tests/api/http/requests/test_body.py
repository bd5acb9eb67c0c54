from __future__ import annotations

import gzip
import json
import zlib

import anyio
import pytest

from service.api.parsing.models import expand
from service.errors import MalformedBody, TooLarge

PATH = "/v1/tests/mcnemar"
COUNTS = {"both_correct": 9, "only_baseline": 1, "only_candidate": 7, "both_wrong": 4}
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def database_url(sqlite_url):
    return sqlite_url


def problem(response, status, code):
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    document = response.json()
    assert set(document) == {"type", "title", "status", "detail", "code", "errors"}
    assert (document["status"], document["code"]) == (status, code)
    assert document["type"] == f"urn:forelock:problem:{code}"
    return document


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
        "application/vnd.lab+json",
    ],
)
def test_json_content_types_are_read(client, content_type):
    response = client.post(PATH, content=json.dumps(COUNTS), headers={"Content-Type": content_type})
    assert response.status_code == 200


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "text/plain",
        "text/json",
        "application/x-www-form-urlencoded",
        "application/json; charset=latin-1",
        "application/json; charset=utf-16",
        "text/csv",
        "multipart/form-data; boundary=x",
    ],
)
def test_other_content_types_are_415(client, content_type):
    headers = {} if content_type is None else {"Content-Type": content_type}
    problem(
        client.post(PATH, content=json.dumps(COUNTS).encode(), headers=headers), 415, "unsupported_media_type"
    )


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "empty_body"),
        (b"{", 400, "malformed_json"),
        (b'{"both_correct": 1, "both_correct": 2}', 400, "duplicate_key"),
        (b'{"both_correct": NaN}', 400, "not_finite"),
        (b'{"both_correct": 1e999}', 400, "not_finite"),
        (b'{"alpha": true}', 422, "validation_failed"),
        (b'{"alpha": "0.05"}', 422, "validation_failed"),
        (b'{"baseline": [true], "candidate": [1]}', 422, "validation_failed"),
        (b'{"surprise": 1}', 422, "validation_failed"),
        (b"null", 422, "validation_failed"),
        (b"[]", 422, "validation_failed"),
        (b"7", 422, "validation_failed"),
    ],
)
def test_lenient_bodies_are_refused(client, body, status, code):
    problem(client.post(PATH, content=body, headers=JSON), status, code)


def test_gzip_bodies_are_read(client):
    body = gzip.compress(json.dumps(COUNTS).encode())
    response = client.post(PATH, content=body, headers={**JSON, "Content-Encoding": "gzip"})
    assert response.json()["analysis"]["p_value"] == 18 / 256


def test_a_gzip_bomb_is_413(client):
    bomb = gzip.compress(b"[" + b" " * 50_000_000 + b"]")
    assert len(bomb) < 200_000
    problem(
        client.post(PATH, content=bomb, headers={**JSON, "Content-Encoding": "gzip"}), 413, "body_too_large"
    )


def test_expansion_stops_at_the_cap():
    bomb = gzip.compress(bytes(300_000_000), 1)
    with pytest.raises(TooLarge):
        expand(bomb, 1000)
    assert expand(gzip.compress(b"x" * 1000), 1000) == b"x" * 1000
    with pytest.raises(TooLarge):
        expand(gzip.compress(b"x" * 1001), 1000)


@pytest.mark.parametrize(
    "body",
    [
        b"not gzip",
        b"",
        gzip.compress(b"{}", mtime=0)[:-9],
        gzip.compress(b"{}", mtime=0) + b"more",
        gzip.compress(b"{}", mtime=0) + gzip.compress(b"{}", mtime=0),
        zlib.compress(b"{}"),
    ],
)
def test_damaged_gzip_is_refused(body):
    with pytest.raises(MalformedBody) as refused:
        expand(body, 1000)
    assert refused.value.problem_code == "malformed_gzip"


@pytest.mark.parametrize("encoding", ["", "br", "deflate", "gzip, gzip", "zstd", "nonsense"])
def test_other_encodings_are_415(client, encoding):
    response = client.post(PATH, content=b"{}", headers={**JSON, "Content-Encoding": encoding})
    problem(response, 415, "unsupported_media_type")


def test_a_body_that_says_it_is_too_large_is_413(client, settings):
    response = client.post(PATH, content=b" " * (settings.max_body_bytes + 1), headers=JSON)
    problem(response, 413, "body_too_large")
    assert response.headers["connection"] == "close"


def test_a_body_that_says_it_is_too_large_is_not_read(app, settings, client):
    async def receive():
        raise AssertionError("the body was read")

    sent = []

    async def send(message):
        sent.append(message)

    headers = {
        b"content-type": b"application/json",
        b"content-length": str(settings.max_body_bytes + 1).encode(),
        b"authorization": client.headers["authorization"].encode(),
    }
    scope = {
        "type": "http",
        "method": "POST",
        "path": PATH,
        "query_string": b"",
        "headers": list(headers.items()),
    }
    anyio.run(app, scope, receive, send)
    assert sent[0]["status"] == 413


def test_a_chunked_body_is_cut_off_at_the_limit(client, settings):
    sent = []

    def chunks():
        for _ in range(1000):
            sent.append(1000)
            yield b" " * 1000

    response = client.post(PATH, content=chunks(), headers=JSON)
    problem(response, 413, "body_too_large")


def test_large_bodies_are_parsed_in_a_thread_to_the_same_end(client):
    n = 30_000
    columns = {"baseline": [0, 1] * (n // 2), "candidate": [1, 1] * (n // 2)}
    body = json.dumps(columns, separators=(",", ":")).encode()
    assert len(body) > 64 * 1024
    response = client.post(PATH, content=body, headers=JSON)
    assert response.json()["analysis"]["counts"] == {
        "both_correct": n // 2,
        "only_baseline": 0,
        "only_candidate": n // 2,
        "both_wrong": 0,
    }
    columns["baseline"][5] = True
    document = problem(client.post(PATH, json=columns), 422, "validation_failed")
    assert document["errors"][0]["path"] == "baseline[5]"
