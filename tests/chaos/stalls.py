"""What one client can do to the others: attacks, and how long `/health/live` was silent while each ran."""

from __future__ import annotations

import contextlib
import copy
import gzip
import json
import random
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from benchmarks.servers import Served, service
from service.api.examples.common import PLAN

JSON = {"Content-Type": "application/json"}
GZIP = {**JSON, "Content-Encoding": "gzip"}


@dataclass(frozen=True, slots=True)
class Silence:
    """Of one attack."""

    attack: str
    asked: int
    failed: int
    worst: float
    """Seconds to the slowest answer, however it came about."""
    own: float
    """The same without what the machine kept the service waiting."""
    cpu: float
    """Seconds that the API process computed."""
    peak_bytes: int
    """Of the API process."""
    others: float
    """Seconds to the slowest write of another client."""

    def __str__(self) -> str:
        return (
            f"{self.attack}: slowest of {self.asked} answers {1e3 * self.worst:.0f} ms, its own making "
            f"{1e3 * self.own:.0f} ms, {self.failed} failed; API {self.cpu:.2f} s of CPU, peak "
            f"{self.peak_bytes / 2**20:.0f} MiB; another's slowest write {1e3 * self.others:.0f} ms"
        )


def measured(served: Served, name: str, attack: Callable[[Served], object]) -> Silence:
    """Run an attack while a probe asks and another client writes."""
    served.forget_peak()
    cpu = cpu_of(served.pid)
    with probing(served) as found, writing(served) as slowest:
        attack(served)
    told = found[0]
    return Silence(
        name, told["asked"], told["failed"], told["worst"], told["own"],
        cpu_of(served.pid) - cpu, served.peak_bytes(), slowest[0],
    )  # fmt: skip


def cpu_of(pid: int) -> float:
    """Seconds that a process has computed."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()[11:13]
    return (int(user) + int(system)) / 100


@contextmanager
def probing(served: Served) -> Iterator[list[dict[str, Any]]]:
    """What the probe says, once the block has ended."""
    parts = urlsplit(served.url)
    command = [
        sys.executable,
        "-m",
        "tests.chaos.probe",
        str(parts.hostname),
        str(parts.port),
        str(served.pid),
    ]
    found: list[dict[str, Any]] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as probe:
        time.sleep(0.5)
        try:
            yield found
        finally:
            time.sleep(0.5)
            said, _ = probe.communicate()
            found.append(json.loads(said))


@contextmanager
def writing(served: Served) -> Iterator[list[float]]:
    """Seconds to the slowest draft that another client made meanwhile."""
    slowest, ended = [0.0], threading.Event()

    def write() -> None:
        with served.client() as client:
            while not ended.wait(0.2):
                start = time.perf_counter()
                client.post("/v1/preregistrations", json={"title": "another's"}).raise_for_status()
                slowest[0] = max(slowest[0], time.perf_counter() - start)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield slowest
    finally:
        ended.set()
        thread.join()


def bomb(served: Served) -> None:
    """A quarter of a megabyte that expands to 256 MiB of numbers."""
    body = gzip.compress(b'{"baseline":[' + b"1," * (128 * 2**20) + b"1]}", 9)
    with served.client() as client:
        for _ in range(3):
            assert client.post("/v1/tests/paired-difference", content=body, headers=GZIP).status_code == 413


def many_numbers(served: Served) -> None:
    """As many numbers as a body may hold, four at a time."""
    n = 2_900_000
    body = gzip.compress(b'{"values":[' + b"[1,2,3.5]," * (n // 3) + b"[1,2]]}", 1)
    with served.client() as client, ThreadPoolExecutor(4) as four:
        posts = [
            four.submit(client.post, "/v1/tests/variance-components", content=body, headers=GZIP)
            for _ in range(4)
        ]
        assert {post.result().status_code for post in posts} <= {200, 202, 413, 422}


def long_columns(served: Served) -> None:
    """A million clustered items of random scores, as they are."""
    rng = random.Random(1)
    scores = ",".join(str(rng.random()) for _ in range(1_000_000))
    labels = ",".join(f'"c{i // 5}"' for i in range(1_000_000))
    body = f'{{"baseline":[{scores}],"candidate":[{scores}],"clusters":[{labels}]}}'.encode()
    with served.client() as client:
        for name in ("clustered-mcnemar", "cluster-bootstrap"):
            assert client.post(f"/v1/tests/{name}", content=body, headers=JSON).status_code in (200, 202)


def results_for_nobody(served: Served) -> None:
    """Small gzip that becomes large results, for a record that does not exist."""
    ids = ",".join(f'"i{i}"' for i in range(1_000_000))
    body = gzip.compress(
        f'{{"arm":"A","endpoint":"e","item_ids":[{ids}],"values":[{"1," * 999_999}1]}}'.encode()
    )
    with served.client() as client:
        for _ in range(10):
            headers = {**GZIP, "Idempotency-Key": uuid.uuid4().hex}
            answer = client.post("/v1/preregistrations/nobody/results", content=body, headers=headers)
            assert answer.status_code == 404, answer.text


def underestimated(served: Served) -> None:
    """Tests whose cost was once estimated a hundred times too low, twelve at a time."""
    rng = random.Random(1)
    scores = {arm: [rng.random() for _ in range(40)] for arm in ("baseline", "candidate")}
    counts = {"both_correct": 9, "both_wrong": 9, "only_baseline": 10**9, "only_candidate": 10**9}
    bodies = [
        ("clustered-mcnemar", {**scores, "clusters": list(range(40))}),
        ("equivalence", {**counts, "method": "bootstrap_ci", "margin": {"value": 1, "unit": "pp"}}),
        ("paired-bootstrap", counts),
        ("power", {"test": "mcnemar", "p_only_baseline": 0.05, "p_only_candidate": 0.06, "n": 1_000_000}),
    ] * 3
    with served.client() as client, ThreadPoolExecutor(12) as twelve:
        posts = [twelve.submit(client.post, f"/v1/tests/{name}", json=body) for name, body in bodies]
        assert {post.result().status_code for post in posts} <= {200, 202}


def heavy_lock(served: Served) -> None:
    """A lock of a plan on 20 clusters of 20,000 items."""
    plan = copy.deepcopy(PLAN)
    n = 400_000
    plan["populations"][0] |= {"id": "p", "n": n, "clusters": {"key": "document", "n": 20}}
    plan["populations"][0].pop("independence", None)
    plan["hypotheses"][0] |= {"population": "p", "rule": "delta >= 2.0 pp and test.p_value < 0.05"}
    plan["tests"] = [
        {"id": "test", "test": "clustered-mcnemar", "version": 1, "parameters": {"method": "sign_flip"}}
    ]
    manifest = {"item_ids": [f"i{i}" for i in range(n)], "clusters": [f"c{i % 20}" for i in range(n)]}
    with served.client() as client:
        made = client.post("/v1/preregistrations", json=plan)
        made.raise_for_status()
        place = f"/v1/preregistrations/{made.json()['id']}"
        put = client.put(f"{place}/populations/p/items", json=manifest)
        put.raise_for_status()
        etag = client.get(place).headers["ETag"]
        headers = {"If-Match": etag, "Idempotency-Key": uuid.uuid4().hex}
        with contextlib.suppress(httpx.TimeoutException):  # the others are asked about, not the lock
            client.post(f"{place}/lock", json={"acknowledge": "all"}, headers=headers, timeout=20)


def long_lists(served: Served) -> None:
    """A list of drafts as large as they may be."""
    text = "x" * 2000
    statements = [{"id": f"h{i}", "statement": text} for i in range(200)]
    plan = {"title": "large", "hypotheses": statements}
    with served.client() as client:
        for _ in range(46):
            client.post("/v1/preregistrations", json=plan)
        for _ in range(5):
            assert client.get("/v1/preregistrations").status_code == 200


def idle_connections(served: Served) -> None:
    """More connections than a process has files by default, none of which says anything."""
    parts = urlsplit(served.url)
    opened = [socket.create_connection((str(parts.hostname), parts.port or 80)) for _ in range(1100)]
    time.sleep(3)
    for each in opened:
        each.close()


ATTACKS: tuple[Callable[[Served], None], ...] = (
    bomb, many_numbers, long_columns, results_for_nobody, underestimated, long_lists, idle_connections, heavy_lock,
)  # fmt: skip


def main(names: list[str]) -> None:
    """Print what each attack did."""
    with service(settings={"FORELOCK_PROJECT_DRAFTS": "100000"}) as served:
        with served.client() as client:
            client.get("/health/ready").raise_for_status()
            client.post("/v1/tests/paired-bootstrap", json={"both_correct": 1}).read()
        time.sleep(3)
        sys.stdout.write(f"{measured(served, 'nothing', lambda _served: time.sleep(5))}\n")
        for attack in ATTACKS:
            if not names or attack.__name__ in names:
                sys.stdout.write(f"{measured(served, attack.__name__, attack)}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
