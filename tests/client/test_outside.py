"""`forelock webhooks`, `mlflow`, `links`, `badge`, `lock --mlflow-run`, and fetching a run from MLflow."""

from __future__ import annotations

import base64
import json
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest

from forelock import bounded_requests
from forelock.commands import imports, outside
from forelock.mlflow_runs import fetch_run
from forelock.problem import FileFault
from service.domain import outgoing

WEBHOOK = {"id": "w1", "url": "https://hooks.example.org/", "events": ["verdict.published"]}
DELIVERY = {
    "id": "msg_1",
    "event": "webhook.ping",
    "state": "waiting",
    "attempts": 1,
    "error": "it answers 503",
}


def test_the_command_knows_what_the_service_knows():
    assert outside.EVENTS == outgoing.EVENTS
    assert set(outside.KINDS) == set(get_args(outgoing.LinkKind))


def asked(service: Any, index: int = -1) -> tuple[str, str]:
    return service.requests[index].method, service.requests[index].url.path


def test_a_secret_goes_to_a_file_of_its_owners(service, command, tmp_path):
    service.will_answer(201, {"webhook": WEBHOOK, "secret": "whsec_abc"})
    secret = tmp_path / "secret"
    given = ("--event", "verdict.published", "--out", str(secret))
    status, output, _ = command("webhooks", "create", WEBHOOK["url"], *given)
    assert (status, output) == (0, f"{secret}\n")
    assert secret.read_text() == "whsec_abc\n"
    assert secret.stat().st_mode & 0o777 == 0o600
    assert service.sent() == {"url": WEBHOOK["url"], "events": ["verdict.published"], "description": None}
    assert command("webhooks", "create", WEBHOOK["url"], "--out", str(secret))[0] == 2
    assert len(service.requests) == 1


def test_what_is_asked_of_webhooks(service, command):
    service.will_answer(200, {"items": [WEBHOOK], "next_cursor": None})
    assert "https://hooks.example.org/: verdict.published" in command("webhooks", "list")[1]
    service.will_answer(202, DELIVERY)
    command("webhooks", "ping", "w1")
    assert asked(service) == ("POST", "/v1/webhooks/w1/ping")
    service.will_answer(200, {"items": [DELIVERY], "next_cursor": None})
    assert "waiting, 1 attempt (it answers 503)" in command("webhooks", "deliveries", "w1")[1]
    service.will_answer(202, DELIVERY)
    command("webhooks", "redeliver", "w1", "msg_1")
    assert asked(service) == ("POST", "/v1/webhooks/w1/deliveries/msg_1/redelivery")
    service.will_answer(200, {"webhook": WEBHOOK, "secret": "whsec_new"})
    assert command("webhooks", "rotate", "w1")[1] == "whsec_new\n"
    service.will_answer(204)
    command("webhooks", "delete", "w1")
    assert asked(service) == ("DELETE", "/v1/webhooks/w1")


def test_credentials_come_from_files(service, command, tmp_path):
    (tmp_path / "password").write_text("secret\n")
    service.will_answer(200, {"url": "https://mlflow.example.org", "auth": "basic"})
    given = ("--username", "me", "--password-file", str(tmp_path / "password"))
    assert command("mlflow", "set", "https://mlflow.example.org", *given)[0] == 0
    assert service.sent()["password"] == "secret"
    assert command("mlflow", "set", "https://x", "--token-file", str(tmp_path / "none"))[0] == 2
    service.will_answer(200, {"url": "https://mlflow.example.org", "auth": "basic"})
    assert command("mlflow", "show")[1] == "https://mlflow.example.org (basic)\n"
    service.will_answer(204)
    command("mlflow", "forget")
    assert asked(service) == ("DELETE", "/v1/trackers/mlflow")


def test_runs_are_linked_listed_and_let_go(service, command):
    service.will_answer(200, {"run": "r1"})
    command("mlflow", "link", "p1", "r1")
    assert asked(service) == ("PUT", "/v1/preregistrations/p1/mlflow-runs/r1")
    service.will_answer(200, {"items": [{"run": "r1", "last": DELIVERY}, {"run": "r2", "last": None}]})
    assert "r1: waiting, 1 attempt" in command("mlflow", "runs", "p1")[1]
    service.will_answer(204)
    command("mlflow", "unlink", "p1", "r1")
    assert asked(service)[0] == "DELETE"


@pytest.mark.parametrize("words", [("lock",), ("plan", "lock")])
def test_a_lock_names_its_run(service, command, words):
    record = {"id": "p1", "state": "locked", "version": 1, "plan": {}, "plan_sha256": "a"}
    service.will_answer(200, record, ETag='"1"')
    service.will_answer(200, record)
    assert command(*words, "p1", "--acknowledge", "all", "--mlflow-run", "r1")[0] == 0
    assert service.sent() == {"acknowledge": "all", "mlflow_run": "r1"}


def test_links_and_badge(service, command, tmp_path):
    service.will_answer(200, {"name": "x", "kind": "wandb", "url": "https://wandb.ai/x"})
    command("links", "set", "p1", "x", "https://wandb.ai/x", "--kind", "wandb", "--external-id", "7")
    assert service.sent() == {"url": "https://wandb.ai/x", "kind": "wandb", "external_id": "7"}
    service.will_answer(200, {"items": [{"name": "x", "kind": "wandb", "url": "https://wandb.ai/x"}]})
    assert "https://wandb.ai/x" in command("links", "list", "p1")[1]
    service.will_answer(204)
    command("links", "delete", "p1", "x")
    assert asked(service) == ("DELETE", "/v1/preregistrations/p1/links/x")
    service.answers.append(httpx.Response(200, content=b"<svg/>"))
    assert command("badge", "p1", "--output", str(tmp_path / "badge.svg"))[0] == 0
    assert (tmp_path / "badge.svg").read_bytes() == b"<svg/>"


# --- fetching a run ---


class Mlflow:
    """A tracking server with one run of two pages of traces."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if request.url.path == "/api/2.0/mlflow/runs/get":
            return httpx.Response(200, json={"run": {"info": {"run_id": "r1", "experiment_id": "7"}}})
        assert request.url.path == "/api/3.0/mlflow/traces/search"
        if "page_token" in json.loads(request.content):
            return httpx.Response(200, json={"traces": [{"trace_id": "b"}]})
        return httpx.Response(200, json={"traces": [{"trace_id": "a"}], "next_page_token": "t"})


def fetched(directory: Path, server: Any, **environment: str) -> list[Path]:
    given = {"MLFLOW_TRACKING_URI": "https://mlflow.example.org/"} | environment
    return fetch_run("r1", directory, environment=given, transport=httpx.MockTransport(server))


def test_a_run_is_fetched_with_all_its_traces(tmp_path):
    server = Mlflow()
    paths = fetched(tmp_path, server, MLFLOW_TRACKING_USERNAME="me", MLFLOW_TRACKING_PASSWORD="pw")
    assert [path.name for path in paths] == ["run.json", "traces_0001.json", "traces_0002.json"]
    first, second = (json.loads(each.content) for each in server.requests[1:])
    assert first["filter"] == "attributes.run_id = 'r1'"
    assert first["locations"][0]["mlflow_experiment"] == {"experiment_id": "7"}
    assert second["page_token"] == "t"
    basic = "Basic " + base64.b64encode(b"me:pw").decode()
    assert {each.headers["Authorization"] for each in server.requests} == {basic}


def test_a_token_is_sent_where_there_is_no_user(tmp_path):
    server = Mlflow()
    fetched(tmp_path, server, MLFLOW_TRACKING_TOKEN="abc")
    assert {each.headers["Authorization"] for each in server.requests} == {"Bearer abc"}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (httpx.Response(401, text="no"), "MLFLOW_TRACKING_USERNAME"),
        (httpx.Response(404, json={"error_code": "RESOURCE_DOES_NOT_EXIST"}), "RESOURCE_DOES_NOT_EXIST"),
        (httpx.Response(200, text="<html>"), "answers 200"),
        (httpx.Response(200, json={}), "MLflow tracking server"),
        (httpx.Response(302, headers={"Location": "http://elsewhere/"}), "302"),
        (httpx.Response(200, text="[" * 100_000), "answers 200"),
        (httpx.Response(200, json={"run": 1}), "MLflow tracking server"),
        (
            httpx.Response(200, headers={"Content-Encoding": "br"}, stream=httpx.ByteStream(b"x")),
            "encoded as nobody asked",
        ),
    ],
)
def test_what_a_server_refuses_is_said(tmp_path, answer, said):
    with pytest.raises(FileFault, match=said):
        fetched(tmp_path, lambda _request: answer)


def test_a_server_that_goes_on_and_on_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(bounded_requests, "MOST_BYTES", 10_000)
    pages = []

    def server(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("get"):
            return Mlflow()(request)
        pages.append(request)
        return httpx.Response(200, json={"traces": ["x" * 1000], "next_page_token": "t"})

    with pytest.raises(FileFault, match="larger than"):
        fetched(tmp_path, server)
    assert len(pages) == 10


def test_it_has_to_be_said_where_mlflow_is(tmp_path):
    for uri in ("", "file:///mlruns", "databricks"):
        with pytest.raises(FileFault, match="MLFLOW_TRACKING_URI"):
            fetched(tmp_path, Mlflow(), MLFLOW_TRACKING_URI=uri)


def test_a_run_is_imported_as_an_archive_of_its_files(service, command, monkeypatch):
    server = Mlflow()

    def fetch(run: str, directory: Path, uri: str | None) -> list[Path]:
        return fetch_run(run, directory, uri, environment={}, transport=httpx.MockTransport(server))

    monkeypatch.setattr(imports, "fetch_run", fetch)
    service.will_answer(201, {"batches": [], "received": 0, "expected": 0, "state": "collecting"})
    given = ("--mlflow-run", "r1", "--mlflow-uri", "http://mlflow.example.org", "--arm", "candidate")
    assert command("import", "p1", *given)[0] == 0
    request = service.requests[-1]
    assert dict(request.url.params) == {"on_duplicate": "skip", "arm": "candidate", "format": "mlflow"}
    names = zipfile.ZipFile(BytesIO(request.content)).namelist()
    assert names == ["run.json", "traces_0001.json", "traces_0002.json"]
    assert command("import", "p1", "file", *given)[0] == 2
    assert command("import")[0] == 2


@pytest.mark.parametrize(("token", "run"), [("clé", "r1"), ("\udcff", "r1"), ("mine", "r\udcff")])
def test_a_token_or_a_run_that_no_request_carries_ends_in_a_sentence(tmp_path, token, run):
    with pytest.raises(FileFault, match="what no request carries") as refused:
        fetch_run(
            run,
            tmp_path,
            "http://mlflow.test",
            environment={"MLFLOW_TRACKING_TOKEN": token},
            transport=httpx.MockTransport(lambda _: httpx.Response(200, content=b"{}")),
        )
    assert token not in str(refused.value)
