"""The real processes: `forelock serve` with its API, its runner and their ends."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import stat
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from forelock.cli import main
from tests.journeys.served import COMMAND, Served, children, quiet_environment, serving, wait_for_verdict

from .plans import items, locked, post, small_plan


def gone(pid: int, seconds: float) -> bool:
    """Whether the process has ended within that time; its parent need not have read its status."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def queue_test(client: httpx.Client) -> str:
    """The path of a job that computes a test in the pool."""
    example = client.get("/v1/tests/mcnemar").json()["example"]
    answer = client.post("/v1/tests/mcnemar", json=example, headers={"Prefer": "respond-async"})
    assert answer.status_code == 202, answer.text
    return answer.headers["location"]


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_served_plan_gets_its_verdict_from_the_runner_even_one_that_was_killed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data) as served, served.client() as client:
        prereg_id = locked(client, small_plan(10))
        post(client, prereg_id, "A", items(10), [0] * 10)
        while "runner" not in children(served.process.pid):
            time.sleep(0.02)
        loaded = Path(f"/proc/{nursery_of(served)}/maps").read_text()
        # what few requests ask for is loaded by the first that does
        assert "/scipy/special/" in loaded
        assert not re.search(r"/scipy/(interpolate|optimize|spatial|linalg|sparse|stats)/", loaded)
        os.kill(children(served.process.pid)["runner"], signal.SIGKILL)
        post(client, prereg_id, "B", items(10), [1] * 10)
        assert wait_for_verdict(client, prereg_id)["hypotheses"][0]["outcome"] == "supported"
        left = list(children(served.process.pid).values())
        served.process.terminate()
        assert served.process.wait(60) == 0
        assert not [pid for pid in left if Path(f"/proc/{pid}").exists()]


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_the_api_ends_by_itself_when_its_parent_is_killed_whatever_is_open(tmp_path: Path) -> None:
    with contextlib.ExitStack() as open_, serving(tmp_path / "data", "--no-runner") as served:
        client = open_.enter_context(served.client())
        path, api = queue_test(client), children(served.process.pid)["api"]
        stream = open_.enter_context(client.stream("GET", f"{path}/events"))
        assert "queued" in next(stream.iter_lines())
        address = (client.base_url.host, client.base_url.port)
        half_a_request = open_.enter_context(socket.create_connection(address))
        half_a_request.sendall(
            b"POST /v1/tests/mcnemar HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            + f"Authorization: {client.headers['Authorization']}\r\nContent-Length: 99\r\n\r\n".encode()
            + b'{"both_correct":'
        )
        assert client.get("/health/live").status_code == 200
        os.kill(served.process.pid, signal.SIGKILL)
        assert gone(api, 30), "the API still runs half a minute after its parent"


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_an_idle_service_ends_at_once_after_its_pool_has_worked_and_has_its_records_when_it_is_back(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    with serving(data) as served, served.client() as client:
        path, prereg_id = queue_test(client), locked(client, small_plan(10))
        while client.get(path).json()["state"] != "succeeded":
            time.sleep(0.05)
        left = list(children(served.process.pid).values())
        began = time.monotonic()
        served.process.terminate()
        assert served.process.wait(60) == 0
        took = time.monotonic() - began
        assert all(gone(pid, 0.1) for pid in left)
        assert not [line for line in served.lines if "still alive" in line or "leaked" in line]
        assert took < 2 + float(os.getloadavg()[0] / (os.cpu_count() or 1)) / 2, f"it took {took:.1f} s"
    secret = (data / "admin.key").read_text()
    with serving(data, "--no-runner") as served, served.client() as client:
        assert client.get(f"/v1/preregistrations/{prereg_id}").json()["state"] == "locked"
        assert not any("First API key" in line for line in served.lines)
    assert (data / "admin.key").read_text() == secret


def test_init_makes_one_key_readable_by_its_owner_alone_and_only_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["init", "--data", str(tmp_path / "data")]
    assert main(command) == 0
    for path in (tmp_path / "data").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    secret = (tmp_path / "data" / "admin.key").read_text()
    assert re.fullmatch(r"flk_[0-9A-Za-z]{49}", secret)
    capsys.readouterr()
    assert main(command) == 1
    assert "initialised already" in capsys.readouterr().err
    assert (tmp_path / "data" / "admin.key").read_text() == secret


def below(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def nursery_of(served: Served) -> int:
    named = children(served.process.pid)
    (nursery,) = set(below(served.process.pid)) - {named["api"], named["runner"]}
    return nursery


def compute_aside(client: httpx.Client) -> int:
    """The status of a test that a calculator computes."""
    path = "/v1/tests/paired-bootstrap"
    return client.post(path, json=client.get(path).json()["example"]).status_code


@pytest.mark.slow
def test_calculators_are_forked_where_no_settings_are_and_from_elsewhere_once_that_has_ended(
    tmp_path: Path,
) -> None:
    with serving(tmp_path) as served, served.client() as client:
        assert compute_aside(client) == 200
        nursery = nursery_of(served)
        calculators = below(nursery)
        assert calculators
        for each in (nursery, *calculators):
            assert b"FORELOCK_" not in Path(f"/proc/{each}/environ").read_bytes()
        os.kill(nursery, signal.SIGKILL)
        assert gone(nursery, 60)
        for each in calculators:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        assert compute_aside(client) == 200


def test_a_taken_port_is_one_sentence_and_not_a_traceback(tmp_path: Path) -> None:
    from service.processes.supervise import listen

    with listen("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [*COMMAND, "serve", "--data", str(tmp_path / "data"), "--port", port],
            capture_output=True,
            text=True,
            env=quiet_environment(),
            check=False,
        )
    assert done.returncode == 1
    assert "choose another with --port" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_whichever_worker_is_asked_for_metrics_tells_of_all(tmp_path: Path) -> None:
    with serving(tmp_path / "data", FORELOCK_WORKERS="2") as served, served.client() as client:
        where = {"base_url": client.base_url, "headers": client.headers, "timeout": 60}
        for number in range(1, 25):
            with httpx.Client(**where) as other:  # a connection of its own: the system chooses the worker
                assert other.get("/v1/limits").status_code == 200
            with httpx.Client(**where) as other:
                text = other.get("/metrics").text
            counted = (
                f'forelock_http_requests_total{{method="GET",route="/v1/limits",status="200"}} {number}.0'
            )
            assert text.splitlines().count(counted) == 1, text
        (run,) = (tmp_path / "data" / "metrics").iterdir()
        assert len(list(run.glob("counter_*.db"))) == 2
