from __future__ import annotations

import io
import json
import logging

import anyio
import pytest
from sqlalchemy import event
from starlette.responses import StreamingResponse

from service.api.http import problems
from service.api.http.serving.route import Route
from service.telemetry import logs
from service.telemetry.logs import JsonLines

CANARY = "canary-0.7421"


@pytest.fixture
def database_url(sqlite_url):
    return sqlite_url


@pytest.fixture
def logged():
    """Everything that is logged, as the lines it becomes."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.removeHandler(handler)
    root.setLevel(level)


def read(response):
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["x-request-id"]
    document = response.json()
    assert document["status"] == response.status_code
    return document


@pytest.mark.parametrize(
    "path", ["/v1", "/v1/", "/v1/limits/", "//v1/limits", "/v1/nothing", "/docs/", "/static/"]
)
def test_unknown_paths_are_404(client, path):
    document = read(client.get(path))
    assert (document["status"], document["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("DELETE", "/v1/keys", "GET, HEAD, OPTIONS, POST"),
        ("PUT", "/v1/keys/abc", "DELETE, OPTIONS"),
        ("POST", "/v1/limits", "GET, HEAD, OPTIONS"),
        ("TRACE", "/health/live", "GET, HEAD, OPTIONS"),
        ("PATCH", "/v1/tests/mcnemar", "GET, HEAD, OPTIONS, POST"),
    ],
)
def test_other_methods_are_405_with_allow(client, method, path, allow):
    response = client.request(method, path)
    assert read(response)["code"] == "method_not_allowed"
    assert response.status_code == 405
    assert response.headers["allow"] == allow


def test_options_says_what_is_allowed(client):
    response = client.options("/v1/projects")
    assert (response.status_code, response.content) == (204, b"")
    assert response.headers["allow"] == "GET, HEAD, OPTIONS, POST"


def test_head_is_get_without_a_body(client):
    full, head = client.get("/v1/limits"), client.head("/v1/limits")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == full.headers["content-length"]


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("limit=0", ["query.limit"]),
        ("limit=201", ["query.limit"]),
        ("limit=ten", ["query.limit"]),
        ("limit=1.0", ["query.limit"]),
        ("limit=+1", ["query.limit"]),
        ("limit=1_0", ["query.limit"]),
        ("limit=", ["query.limit"]),
        ("limit=%201", ["query.limit"]),
        ("limit=\u0661", ["query.limit"]),
        ("limit=1&limit=2", ["query.limit"]),
        ("limits=1", ["query.limits"]),
        ("a=1&b=2", ["query.a", "query.b"]),
        ("cursor=%00", ["query.cursor"]),
        ("cursor=nonsense", ["cursor"]),
        ("cursor=" + "a" * 2001, ["query.cursor"]),
    ],
)
def test_query_parameters_are_strict(client, query, paths):
    response = client.get(f"/v1/keys?{query}")
    assert response.status_code == 422
    assert [error["path"] for error in read(response)["errors"]] == paths


def test_no_422_repeats_a_value(client):
    bodies = [
        {"baseline": [CANARY], "candidate": [1]},
        {"both_correct": CANARY},
        {"method": CANARY},
        {"alpha": 7421e300},
        {"baseline": [0.7421], "candidate": [1]},
        {"baseline": {"x": CANARY}},
    ]
    for body in bodies:
        response = client.post("/v1/tests/mcnemar", json=body)
        assert response.status_code == 422
        assert "7421" not in response.text
    assert "7421" not in client.get(f"/v1/keys?limit={CANARY}").text
    assert "7421" not in client.delete(f"/v1/keys/x?project_id={CANARY * 10}").text


def test_a_bug_is_500_and_neither_answer_nor_log_holds_its_text(app, client, logged):
    def fail() -> None:
        values = {CANARY: 1}
        raise ValueError(f"cannot read {values}")

    app.router.routes.append(Route("/bug", fail))
    response = client.get("/bug", headers={"X-Request-Id": "request-0001"})
    assert (response.status_code, read(response)["code"]) == (500, "internal_error")
    assert response.headers["x-request-id"] == "request-0001"
    assert CANARY not in response.text
    (line,) = [line for line in logged() if line["logger"] == "forelock.error"]
    assert line["exception"] == "builtins.ValueError"
    assert line["request_id"] == "request-0001"
    assert any("test_problems.py" in place and place.endswith(" fail") for place in line["at"])
    assert CANARY not in json.dumps(logged())


def test_a_bug_in_an_answer_is_500_too(app, client, logged):
    def fail() -> int:
        return CANARY

    app.router.routes.append(Route("/bug", fail))
    assert client.get("/bug").status_code == 500
    assert CANARY not in json.dumps(logged())


def test_a_bug_after_the_answer_began_cuts_the_connection(app, client, logged):
    def fail():
        def chunks():
            yield b"first"
            raise ValueError(CANARY)

        return StreamingResponse(chunks())

    app.router.routes.append(Route("/bug", fail, response_model=None))
    client.get("/bug")
    assert any(line["logger"] == "forelock.error" for line in logged())
    assert CANARY not in json.dumps(logged())


def test_a_bug_in_a_test_is_500_too(client, logged, monkeypatch):
    def fail(*_arguments):
        raise KeyError(CANARY)

    monkeypatch.setattr("service.api.routes.calculations.stats.validate", fail)
    body = {"both_correct": 9, "only_baseline": 1, "only_candidate": 7, "both_wrong": 4}
    response = client.post("/v1/tests/mcnemar", json=body)
    assert (response.status_code, read(response)["code"]) == (500, "internal_error")
    assert response.headers["cache-control"] == "no-store"
    lines = [line for line in logged() if line["logger"].startswith("forelock.")]
    assert [line["logger"] for line in lines] == ["forelock.error", "forelock.access"]
    assert (lines[0]["exception"], lines[1]["route"], lines[1]["status"]) == (
        "builtins.KeyError", "/v1/tests/mcnemar", 500,
    )  # fmt: skip
    assert CANARY not in json.dumps(logged())


def test_every_kind_of_problem_has_a_code_and_a_title_of_its_own():
    kinds = problems.list_kinds()
    assert len({kind.title for kind in kinds.values()}) == len(kinds)
    for code, kind in kinds.items():
        assert code == code.lower()
        assert 400 <= kind.status <= 599


def test_access_lines_name_the_route_and_the_key_and_no_value(client, logged, project):
    client.get("/v1/keys?limit=3", headers={"X-Request-Id": "my-request.1"})
    client.post("/v1/tests/mcnemar", json={"both_correct": 742187421874})  # no id holds that by chance
    client.get(f"/nowhere/{CANARY}?{CANARY}")
    first, second, third = [line for line in logged() if line["logger"] == "forelock.access"]
    assert first["route"] == "/v1/keys"
    assert (first["method"], first["status"], first["request_id"]) == ("GET", 200, "my-request.1")
    assert (first["key"][:4], len(first["key"]), first["project"]) == ("flk_", 12, project)
    assert 0 <= first["seconds"] < 60
    assert (second["route"], second["status"]) == ("/v1/tests/mcnemar", 422)
    assert (third["route"], third["status"], third["key"]) == ("unmatched", 404, None)
    lines = json.dumps([first, second, third])
    assert "742187421874" not in lines
    assert "canary" not in lines
    assert set(first) == {
        "time", "level", "logger", "message", "method", "route", "status", "seconds", "request_id", "key", "project",
    }  # fmt: skip


def test_a_caller_who_hangs_up_is_no_error(app, client, logged):
    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        raise AssertionError(message)

    headers = [
        (b"content-type", b"application/json"),
        (b"authorization", client.headers["authorization"].encode()),
    ]
    scope = {"type": "http", "method": "POST", "path": "/v1/keys", "query_string": b"", "headers": headers}
    anyio.run(app, scope, receive, send)
    (line,) = [line for line in logged() if line["logger"].startswith("forelock")]
    assert (line["logger"], line["status"], line["route"]) == ("forelock.access", 499, "/v1/keys")


@pytest.mark.parametrize(
    "sent", ["short", "x" * 129, "two words", "new\\nline", "caf\u00e9".encode("latin-1"), ""]
)
def test_an_odd_request_id_is_replaced(client, sent):
    returned = client.get("/health/live", headers={"X-Request-Id": sent}).headers["x-request-id"]
    assert len(returned) == 32
    assert returned.isalnum()


def test_every_answer_has_safe_headers(client):
    for path in ("/v1/limits", "/nothing", "/docs", "/static/docs.js"):
        headers = client.get(path).headers
        assert headers.get_list("x-content-type-options") == ["nosniff"]
        assert headers["referrer-policy"] == "same-origin"
    assert client.get("/v1/limits").headers["cache-control"] == "no-store"
    assert "default-src 'none'" in client.get("/docs").headers["content-security-policy"]
    assert "server" not in client.get("/v1/limits").headers


def test_a_probe_that_is_fine_leaves_no_line_and_one_that_is_not_leaves_one(anonymous, database, logged):
    logs.quiet_libraries()
    assert anonymous.get("/health/live").status_code == 200
    assert anonymous.get("/health/ready").status_code == 200
    ours = ("forelock", "alembic")
    assert [line for line in logged() if line["logger"].startswith(ours)] == []

    def fail(*_call):
        raise OSError(CANARY)

    database.engine.dispose()
    event.listen(database.engine, "connect", fail)
    assert anonymous.get("/health/ready").status_code == 503
    event.remove(database.engine, "connect", fail)
    (line,) = [line for line in logged() if line["logger"].startswith("forelock")]
    assert (line["route"], line["status"]) == ("/health/ready", 503)
    assert line["exception"]
    assert CANARY not in json.dumps(line)
