"""A real `mlflow server`, in an environment of its own: `./do uv sync --only-group mlflow` makes it.

A verdict on its runs, found by its search; a run of it as results; and the fake of other tests answers as it does.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from forelock.import_files import Packed, imports_of
from forelock.mlflow_runs import fetch_run
from tests.loopback import serving
from tests.mlflow_server import FakeMlflow

from .conftest import Service, only_sqlite
from .outbox import N, drain, judge, lock, sender

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
]
ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".do" / "mlflow"
API = "/api/2.0/mlflow"


@pytest.fixture(scope="module")
def program() -> Path:
    """The `mlflow` command; its environment is made where it is not there yet."""
    found = Path(os.environ.get("MLFLOW_UNDER_TEST", HOME / "bin" / "mlflow"))
    if not found.exists():
        made = subprocess.run(
            [str(ROOT / "do"), "uv", "sync", "--frozen", "--only-group", "mlflow"],
            env={**os.environ, "UV_PROJECT_ENVIRONMENT": str(HOME)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode != 0:
            pytest.skip(f"MLflow cannot be installed here: {made.stderr[-300:]}")
    return found


@pytest.fixture(scope="module")
def tracking(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a server that answers."""
    directory = tmp_path_factory.mktemp("mlflow")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    command = [str(program), "server", "--backend-store-uri", f"sqlite:///{directory / 'mlflow.db'}"]
    command += ["--artifacts-destination", str(directory / "files"), "--host", "127.0.0.1"]
    command += ["--port", str(port), "--workers", "1"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    with (directory / "log").open("w") as log:
        server = subprocess.Popen(
            command, cwd=directory, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
                _wait(client, server, directory / "log")
                yield client
        finally:
            os.killpg(server.pid, 15)
            server.wait(60)


def _wait(client: httpx.Client, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 300
    while time.monotonic() < until:
        assert server.poll() is None, log.read_text()[-2000:]
        try:
            if client.get("/health").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)  # nothing tells when a server of others listens
    raise AssertionError(log.read_text()[-2000:])


@pytest.fixture(autouse=True)
def _loopback_may_be_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORELOCK_OUTGOING_ALLOW", "127.0.0.1")


def ask(tracking: httpx.Client, path: str, **body: Any) -> dict[str, Any]:
    answer = tracking.post(f"{API}/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def new_run(tracking: httpx.Client, name: str) -> dict[str, Any]:
    experiment = ask(tracking, "experiments/create", name=name)["experiment_id"]
    tags = [{"key": "mlflow.note.content", "value": "What we tried."}]
    run: dict[str, Any] = ask(
        tracking, "runs/create", experiment_id=experiment, start_time=1_700_000_000_000, tags=tags
    )
    return run["run"]["info"]


def read(tracking: httpx.Client, run_id: str) -> dict[str, Any]:
    answer = tracking.get(f"{API}/runs/get", params={"run_id": run_id})
    assert answer.status_code == 200, answer.text
    return answer.json()["run"]


def tags_of(run: dict[str, Any]) -> dict[str, str]:
    return {each["key"]: each["value"] for each in run["data"]["tags"]}


@only_sqlite
def test_tags_metrics_and_receipt_appear_on_the_run(service: Service, tracking: httpx.Client) -> None:
    info = new_run(tracking, "verdicts")
    run_id, experiment = info["run_id"], info["experiment_id"]
    answer = service.client.put("/v1/trackers/mlflow", json={"url": str(tracking.base_url).rstrip("/")})
    assert answer.status_code == 200, answer.text
    prereg_id = lock(service)
    path = f"/v1/preregistrations/{prereg_id}"
    assert service.client.put(f"{path}/mlflow-runs/{run_id}").status_code == 200
    sending = sender(service)
    assert drain(sending) == 1
    before = read(tracking, run_id)
    assert tags_of(before)["forelock.state"] == "locked"
    assert "metrics" not in before["data"]
    assert not any("verdict" in key for key in tags_of(before))

    judge(service, prereg_id)
    assert drain(sending) == 1
    after = read(tracking, run_id)
    tags = tags_of(after)
    assert tags["forelock.verdict"] == "supported"
    assert tags["forelock.checkpoint"].startswith("forelock/")
    assert tags["mlflow.note.content"].startswith("What we tried.\n\n<!-- forelock")
    metrics = {each["key"]: each["value"] for each in after["data"]["metrics"]}
    assert metrics["forelock.H1a.delta"] == 1.0
    assert metrics["forelock.H1a.n"] == N
    files = f"/api/2.0/mlflow-artifacts/artifacts/{experiment}/{run_id}/artifacts/forelock/{prereg_id}"
    verdict = tracking.get(f"{files}/verdict.json")
    assert verdict.content == service.client.get(f"{path}/verdict").content
    assert [each["kind"] for each in tracking.get(f"{files}/receipt.json").json()] == [
        "plan_locked",
        "verdict",
    ]
    found = ask(
        tracking,
        "runs/search",
        experiment_ids=[experiment],
        filter="tags.\"forelock.verdict\" = 'supported'",
    )
    assert [each["info"]["run_id"] for each in found["runs"]] == [run_id]

    again = service.client.put(f"{path}/mlflow-runs/{run_id}")
    assert again.status_code == 200
    history = tracking.get(
        f"{API}/metrics/get-history", params={"run_id": run_id, "metric_key": "forelock.H1a.delta"}
    ).json()
    assert len(history["metrics"]) == 1


def test_the_fake_refuses_what_the_real_one_refuses(tracking: httpx.Client) -> None:
    run_id = new_run(tracking, "refusals")["run_id"]
    with serving() as loopback, httpx.Client(base_url=loopback.url("")) as fake:
        FakeMlflow(loopback).add(run_id)
        tag = {"key": "a", "value": "b"}
        asked: list[tuple[str, str, dict[str, Any]]] = [
            ("GET", f"{API}/runs/get?run_id={run_id}", {}),
            ("GET", f"{API}/runs/get?run_id={'0' * 32}", {}),
            ("POST", f"{API}/runs/log-batch", {"run_id": run_id, "tags": [tag]}),
            ("POST", f"{API}/runs/log-batch", {"run_id": "0" * 32, "tags": [tag]}),
            (
                "POST",
                f"{API}/runs/log-batch",
                {"run_id": run_id, "tags": [{"key": f"k{i}", "value": ""} for i in range(101)]},
            ),
            (
                "POST",
                f"{API}/runs/log-batch",
                {"run_id": run_id, "metrics": [{"key": "a[0]", "value": 1.0, "timestamp": 1, "step": 0}]},
            ),
            ("PUT", f"/api/2.0/mlflow-artifacts/artifacts/1/{run_id}/artifacts/x.json", {}),
            ("GET", "/api/2.0/nothing", {}),
        ]
        for method, path, body in asked:
            answers = [each.request(method, path, json=body or None) for each in (tracking, fake)]
            said = [(each.status_code, _code(each)) for each in answers]
            assert said[0] == said[1], (method, path, said, answers[0].text[:300])


def _code(answer: httpx.Response) -> str | None:
    try:
        document = json.loads(answer.content)
    except ValueError:
        return None
    return document.get("error_code") if isinstance(document, dict) else None


EVALUATION = """
import json, sys
import mlflow
mlflow.set_tracking_uri(sys.argv[1])
mlflow.set_experiment("evaluation")
from mlflow.genai import evaluate
from mlflow.genai.scorers import scorer

@scorer
def exact(inputs, outputs) -> bool:
    return outputs == str(inputs["n"] % 2)

def predict(item_id: str, n: int) -> str:
    if n == 3:
        raise ValueError("broken")
    return "1"

data = [{"inputs": {"item_id": f"item-{n}", "n": n}} for n in range(10)]
found = evaluate(data=data, predict_fn=predict, scorers=[exact])
print("RUN", found.run_id)
"""


@only_sqlite
def test_an_evaluation_run_becomes_results(
    service: Service, tracking: httpx.Client, program: Path, tmp_path: Path
) -> None:
    url = str(tracking.base_url).rstrip("/")
    (tmp_path / "evaluation.py").write_text(EVALUATION)
    ran = subprocess.run(
        [str(program.with_name("python")), "evaluation.py", url],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    run_id = ran.stdout.split("RUN ")[1].split()[0]
    (tmp_path / "run").mkdir()
    paths = fetch_run(run_id, tmp_path / "run", url, environment={})
    assert sum(len(json.loads(path.read_text()).get("traces", ())) for path in paths[1:]) == N
    form, (one,) = imports_of([str(tmp_path / "run")], None)
    assert form == "mlflow"
    with Packed(one) as body:
        survey = service.client.post(
            "/v1/imports/check?format=mlflow",
            content=b"".join(body),
            headers={"Content-Type": "application/octet-stream"},
        ).json()["survey"]
        assert survey["samples"] == N
        assert survey["measures"]["exact"]["n"] == N - 1, "one predict function raised"
