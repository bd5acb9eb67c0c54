"""An MLflow tracking server of the tests' own, as far as a push needs one: it keeps runs and refuses as MLflow does.

What it does was taken from MLflow 3.17; `test_a_real_mlflow_server` asks the real one the same.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.loopback import Asked, Loopback, Reply

JSON = {"Content-Type": "application/json"}
KEY = re.compile(r"[\w./ :-]{1,250}")


@dataclass
class FakeRun:
    """A run: its tags, metrics as (key, value, timestamp, step), and artifacts by path."""

    experiment_id: str = "1"
    artifact_uri: str = ""
    lifecycle_stage: str = "active"
    tags: dict[str, str] = field(default_factory=dict)
    metrics: set[tuple[str, float, int, int]] = field(default_factory=set)


@dataclass
class FakeMlflow:
    """The server, on a loopback."""

    loopback: Loopback
    runs: dict[str, FakeRun] = field(default_factory=dict)
    artifacts: dict[str, bytes] = field(default_factory=dict)
    authorization: str | None = None

    def __post_init__(self) -> None:
        self.loopback.reply = self._answer

    def add(self, run_id: str, **given: Any) -> FakeRun:
        """A new run, whose artifacts the server keeps."""
        uri = f"mlflow-artifacts:/1/{run_id}/artifacts"
        self.runs[run_id] = FakeRun(**{"artifact_uri": uri} | given)
        return self.runs[run_id]

    @property
    def url(self) -> str:
        """Its address."""
        return self.loopback.url("")

    def _answer(self, asked: Asked) -> Reply:
        if self.authorization is not None and asked.headers.get("authorization") != self.authorization:
            return 401, {"Content-Type": "text/html"}, b"You are not authenticated."
        where = urlsplit(asked.path)
        if (asked.method, where.path) == ("GET", "/api/2.0/mlflow/runs/get"):
            return self._get(parse_qs(where.query)["run_id"][0])
        if (asked.method, where.path) == ("POST", "/api/2.0/mlflow/runs/log-batch"):
            return self._log(asked)
        prefix = "/api/2.0/mlflow-artifacts/artifacts/"
        if asked.method == "PUT" and where.path.startswith(prefix):
            self.artifacts[unquote(where.path.removeprefix(prefix))] = asked.body
            return 200, JSON, b"{}"
        return 404, {"Content-Type": "text/html"}, b"<!doctype html>"

    def _get(self, run_id: str) -> Reply:
        run = self.runs.get(run_id)
        if run is None:
            return _refusal(404, "RESOURCE_DOES_NOT_EXIST")
        info = {
            "run_id": run_id,
            "experiment_id": run.experiment_id,
            "artifact_uri": run.artifact_uri,
            "lifecycle_stage": run.lifecycle_stage,
        }
        tags = [{"key": key, "value": value} for key, value in run.tags.items()]
        return 200, JSON, json.dumps({"run": {"info": info, "data": {"tags": tags}}}).encode()

    def _log(self, asked: Asked) -> Reply:
        assert asked.headers["content-type"] == "application/json"
        body = json.loads(asked.body)
        run = self.runs.get(body["run_id"])
        if run is None:
            return _refusal(404, "RESOURCE_DOES_NOT_EXIST")
        tags, metrics = body.get("tags", []), body.get("metrics", [])
        known = all(KEY.fullmatch(each["key"]) for each in tags + metrics)
        if not known or len(tags) > 100 or len(metrics) > 1000 or run.lifecycle_stage != "active":
            return _refusal(400, "INVALID_PARAMETER_VALUE")
        for each in tags:
            run.tags[each["key"]] = each["value"][:8000]
        for each in metrics:
            run.metrics.add((each["key"], each["value"], each["timestamp"], each["step"]))
        return 200, JSON, b"{}"


def _refusal(status: int, code: str) -> Reply:
    return status, JSON, json.dumps({"error_code": code, "message": "no"}).encode()


def basic(user: str, password: str) -> str:
    """The header of HTTP Basic."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
