"""Small requests over HTTP: how many a second, and how late the slowest are while the pool computes."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import httpx
import numpy as np

from benchmarks.harness import Measured, row
from benchmarks.servers import Served, peer, service

GROUP = "http"
MCNEMAR, ECHO = "/v1/tests/mcnemar", "/pairs"
PAIRS, CONNECTIONS = 500, 16
ROUNDS, ROUND_SECONDS, WARM_SECONDS = 7, 4, 2
LONG_DRAWS = 1_000_000

SCRIPT = """
wrk.method = "POST"
wrk.body = {body}
wrk.headers["Content-Type"] = "application/json"
{headers}
function done(summary, latency, requests)
  io.write(string.format("\\nRESULT %d %d %d %d %d\\n", summary.requests, summary.duration,
    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout,
    latency:percentile(50), latency:percentile(99)))
end
"""


@dataclass(frozen=True, slots=True)
class Load:
    """What wrk saw: requests a second, and latencies in seconds."""

    rate: float
    middle: float
    slow: float


def pairs(n: int = PAIRS) -> str:
    """Two binary columns as they come from `json.dumps`."""
    rng = np.random.default_rng(n)
    baseline = (rng.random(n) < 0.62).astype(int)
    candidate = np.where(rng.random(n) < 0.2, 1 - baseline, baseline)
    return json.dumps({"baseline": baseline.tolist(), "candidate": candidate.tolist()})


def warm(served: Served, path: str) -> None:
    """The first request loads what the others use."""
    with served.client() as client:
        sent = client.post(path, content=pairs(), headers={"Content-Type": "application/json"})
        sent.raise_for_status()
    wrk(served, path, pairs(), WARM_SECONDS)


def wrk(served: Served, path: str, body: str, seconds: float) -> Load:
    """Post the body from 16 connections for some seconds; every answer has to be a 200."""
    headers = "\n".join(f'wrk.headers["{name}"] = "{value}"' for name, value in served.headers.items())
    with tempfile.TemporaryDirectory() as directory:
        script = Path(directory) / "post.lua"
        script.write_text(SCRIPT.format(body=json.dumps(body), headers=headers))
        command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", str(script), served.url + path]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    result = next(line for line in said.splitlines() if line.startswith("RESULT")).split()[1:]
    requests, microseconds, errors, middle, slow = map(int, result)
    if errors or not requests:
        raise RuntimeError(f"{errors} of {requests} requests failed: {said}")
    return Load(requests / microseconds * 1e6, middle / 1e6, slow / 1e6)


def mcnemar(served: Served) -> Load:
    """A round of the request of these rows."""
    return wrk(served, MCNEMAR, pairs(), ROUND_SECONDS)


def throughput() -> Measured:
    """Rates in turns. The ratio is the middle one of the rounds', which a burst of other load leaves alone."""
    with service("--no-runner") as served, peer("benchmarks.echo") as bare:
        warm(served, MCNEMAR), warm(bare, ECHO)
        rounds = [(mcnemar(served).rate, wrk(bare, ECHO, pairs(), ROUND_SECONDS).rate) for _ in range(ROUNDS)]
    ours, theirs = zip(*rounds, strict=True)
    ratio = median(mine / other for mine, other in rounds)
    return Measured(median(ours), median(theirs), ratio, unit="requests/s")


def under_load() -> Measured:
    """The 99th percentile with every worker busy, against the same server when idle, in turns."""
    with service() as served, served.client() as client:
        warm(served, MCNEMAR)
        idle, busy = [], []
        for number in range(ROUNDS):
            idle.append(mcnemar(served).slow)
            with computing(client, seed=1000 * number):
                busy.append(mcnemar(served).slow)
    return Measured(
        median(busy), median(idle), median(mine / other for mine, other in zip(busy, idle, strict=True))
    )


@contextlib.contextmanager
def computing(client: httpx.Client, seed: int, jobs: int = 4) -> Iterator[None]:
    """Long jobs, more than there are workers; cancelled on leaving, when both run."""
    queued = [_queue(client, seed + number) for number in range(jobs)]
    _until(client, queued[:1], "running")
    yield
    if not any(_state(client, job) == "running" for job in queued):
        raise RuntimeError("the pool had nothing left to compute")
    for job in queued:
        client.delete(f"/v1/jobs/{job}")
    _until(client, queued, "cancelled", "succeeded")


def _queue(client: httpx.Client, seed: int) -> str:
    rng = np.random.default_rng(seed)
    arms = [{name: rng.integers(0, 4, 2000).tolist() for name in ("tp", "fp", "fn")} for _ in range(2)]
    body = {
        "metric": "f1",
        "baseline": arms[0],
        "candidate": arms[1],
        "n_resamples": LONG_DRAWS,
        "seed": seed,
    }
    answer = client.post("/v1/tests/randomization", json=body, headers={"Prefer": "respond-async"})
    if answer.status_code != 202:
        raise RuntimeError(answer.text)
    return str(answer.json()["id"])


def _state(client: httpx.Client, job: str) -> str:
    return str(client.get(f"/v1/jobs/{job}").json()["state"])


def _until(client: httpx.Client, jobs: list[str], *states: str) -> None:
    while not all(_state(client, job) in states for job in jobs):
        time.sleep(0.05)


if shutil.which("wrk"):
    row(
        f"POST /v1/tests/mcnemar, {PAIRS} pairs, {CONNECTIONS} connections",
        group=GROUP,
        peer="bare FastAPI route",
        bar=0.75,
        note="requests a second, ours over the peer's; ours checks the key and computes",
    )(throughput)
    row(
        "p99 of the same while the pool computes",
        group=GROUP,
        peer="idle pool",
        bar=2,
        at_most=True,
        note="every worker busy with Monte-Carlo jobs",
    )(under_load)
else:
    print("http: wrk is not installed, its rows are skipped (Debian: apt-get install wrk)", file=sys.stderr)
