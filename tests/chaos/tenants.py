"""What one tenant, or nobody with a key, does to another: attacks, and how long the other waited meanwhile.

`python -m tests.chaos.tenants ATTACK URL KEY` is the attacker, a process of its own, for `SECONDS` at most.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import httpx
import sqlalchemy as sa

from benchmarks.servers import Served
from service.domain.access import SCOPES
from service.store.database.engine import Database
from service.store.database.tables import jobs
from tests.chaos.stalls import probing
from tests.journeys.plans import draft, idempotent, items, locked, post, small_plan
from tests.loopback import serving
from tests.mlflow_server import FakeMlflow

SECONDS, PAUSE_SECONDS, PATIENCE_SECONDS = 12.0, 2.5, 60.0
N = 10
CONNECTIONS, UPLOADS = 300, 4
LARGE_BYTES = 99_000_000
ALLOWED = {"FORELOCK_OUTGOING_ALLOW": "127.0.0.1"}


@dataclass(frozen=True, slots=True)
class Waited:
    """Of the other project, while an attack went on; seconds."""

    attack: str
    live: float
    """To the slowest answer of `/health/live`, without what the machine kept the service waiting."""
    live_failed: int
    imports: tuple[float, ...]
    """To the answer of a small import's check."""
    verdicts: tuple[float, ...]
    """From the last row of a record to its verdict being begun."""

    def __str__(self) -> str:
        return (
            f"{self.attack}: live {1e3 * self.live:.0f} ms at most, {self.live_failed} failed; small import "
            f"{median(self.imports):.2f} s ({max(self.imports):.2f} at most), verdict begun after "
            f"{median(self.verdicts):.2f} s ({max(self.verdicts):.2f} at most)"
        )


def client_of(url: str, key: str) -> httpx.Client:
    """A client of a project."""
    return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=120)


def new_project(served: Served, name: str) -> str:
    """A project of its own and the secret of its key, which may do everything there."""
    with served.client() as operator:
        made = operator.post("/v1/projects", json={"name": name}).raise_for_status().json()
        scopes = [scope for scope in SCOPES if scope not in ("unblind", "operator")]
        body = {"name": name, "kind": "person", "scopes": scopes, "project_id": made["id"]}
        secret: str = operator.post("/v1/keys", json=body).raise_for_status().json()["secret"]
    return secret


def measured(served: Served, database: Database, attack: str) -> Waited:
    """Run an attack on a deployment with that database while another project works."""
    attacker, other = (new_project(served, f"{attack} {role}") for role in ("attacker", "other"))
    with client_of(served.url, other) as client:
        waiting = [locked(client, small_plan(N)) for _ in range(4)]  # type: ignore[arg-type]
        for prereg_id in waiting:
            post(client, prereg_id, "A", items(N), [0] * N)  # type: ignore[arg-type]
        check_small(client)
        _warm(client, database, waiting.pop())
        imports, verdicts = [], []
        with probing(served) as told, _attacking(attack, served.url, attacker):
            for prereg_id in waiting:
                imports.append(check_small(client))
                verdicts.append(_begin_verdict(client, database, prereg_id))
                time.sleep(PAUSE_SECONDS)
    return Waited(attack, told[0]["own"], told[0]["failed"], tuple(imports), tuple(verdicts))


def check_small(client: httpx.Client) -> float:
    """Seconds to what a file of 17 bytes holds."""
    began = time.perf_counter()
    answer = client.post("/v1/imports/check?format=csv", content=b"item_id,value\na,1", headers=_FILE)
    assert answer.status_code == 200, answer.text
    return time.perf_counter() - began


def _warm(client: httpx.Client, database: Database, prereg_id: str) -> None:
    """Have a verdict judged, which starts the pool: what that takes is no attacker's doing."""
    _begin_verdict(client, database, prereg_id)
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        if client.get(f"/v1/preregistrations/{prereg_id}").raise_for_status().json()["state"] == "judged":
            return
        time.sleep(0.1)
    raise TimeoutError(f"no verdict after {PATIENCE_SECONDS} s")


def _begin_verdict(client: httpx.Client, database: Database, prereg_id: str) -> float:
    """Seconds from a record's last row to a runner that works on its verdict, as the database has it."""
    assert post(client, prereg_id, "B", items(N), [1] * N).status_code == 201  # type: ignore[arg-type]
    asked = sa.select(jobs.c.created_at, jobs.c.claimed_at).where(
        jobs.c.kind == "verdict", jobs.c.subject == prereg_id
    )
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        with database.read() as session:
            row = session.execute(asked).first()
        if row is not None and row.claimed_at is not None:
            waited: timedelta = row.claimed_at - row.created_at
            return waited.total_seconds()
        time.sleep(0.05)
    return PATIENCE_SECONDS


@contextmanager
def _attacking(attack: str, url: str, key: str) -> Iterator[None]:
    command = [sys.executable, "-m", "tests.chaos.tenants", attack, url, key]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        try:
            yield
        finally:
            process.kill()


def _begun() -> None:
    sys.stdout.write("begun\n")
    sys.stdout.flush()


def marks(url: str, key: str) -> None:
    """An MLflow whose runs' descriptions are a megabyte of our own opening marks."""

    def answer(mlflow: FakeMlflow, run: str, prereg_id: str) -> None:
        opening = f"<!-- forelock {prereg_id} -->"
        mlflow.add(run, tags={"mlflow.note.content": opening * (2**20 // len(opening))})

    _tracked(url, key, answer)


def nested(url: str, key: str) -> None:
    """An MLflow that answers two megabytes of brackets."""
    _tracked(url, key, lambda mlflow, _run, _record: mlflow.loopback.answer(200, b"[" * 2**20 + b"]" * 2**20))


def drips(url: str, key: str) -> None:
    """An MLflow that answers byte by byte, without an end."""
    _tracked(url, key, lambda mlflow, _run, _record: mlflow.loopback.drip())


def _tracked(url: str, key: str, answer: Callable[[FakeMlflow, str, str], object]) -> None:
    """Records whose runs are in an MLflow of the attacker's, which answers as it likes."""
    with serving() as loopback, client_of(url, key) as client:
        mlflow = FakeMlflow(loopback)
        client.put("/v1/trackers/mlflow", json={"url": mlflow.url}).raise_for_status()
        for number in range(4):
            prereg_id = draft(client, small_plan(N))  # type: ignore[arg-type]
            answer(mlflow, f"r{number}", prereg_id)
            body = {"acknowledge": "all", "mlflow_run": f"r{number}"}
            headers = idempotent(**{"If-Match": "*"})
            client.post(
                f"/v1/preregistrations/{prereg_id}/lock", json=body, headers=headers
            ).raise_for_status()
            for arm, value in (("A", 0), ("B", 1)):
                post(client, prereg_id, arm, items(N), [value] * N)  # type: ignore[arg-type]
        until = time.monotonic() + SECONDS
        while len(loopback.requests) < 5 and time.monotonic() < until:  # four locks, and a verdict
            time.sleep(0.05)
        _begun()
        time.sleep(max(0.0, until - time.monotonic()))


def jobs_without_end(url: str, key: str) -> None:
    """Boards that wait for the runner, as many as there is time to ask for; each takes it about a second."""
    until, begun = time.monotonic() + SECONDS, False
    with client_of(url, key) as client:
        for number in itertools.count():
            body = json.dumps({"arms": _columns(20), "seed": number}).encode()
            headers = idempotent(Prefer="respond-async") | _JSON
            client.post("/v1/tests/leaderboard", content=body, headers=headers)
            if number == 10:
                _begun()
                begun = True
            if time.monotonic() > until:
                break
    if not begun:
        _begun()


def calculations(url: str, key: str) -> None:
    """Boards of forty arms, eight at once, as long as it lasts."""
    body = json.dumps({"arms": _columns(40), "seed": 1}).encode()

    def ask() -> None:
        until = time.monotonic() + SECONDS
        with client_of(url, key) as client:
            while time.monotonic() < until:
                with contextlib.suppress(httpx.HTTPError):
                    client.post("/v1/tests/leaderboard", content=body, headers=_JSON)

    _at_once(ask, 8)


def _columns(arms: int) -> dict[str, list[float]]:
    return {f"arm {arm}": [(arm * number) % 13 / 13 for number in range(2_000)] for arm in range(1, arms + 1)}


def uploads(url: str, key: str) -> None:
    """Archives of half a megabyte that hold a hundred of brackets."""
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(1):
            archive.writestr(f"samples_{number}.jsonl", b"[" + b"[]," * (35 * 2**20) + b"1]")
    _upload(url, key, "lm_eval", body.getvalue())


def bodies(url: str, key: str) -> None:
    """Tables of 99 MB, four at once."""
    lines = (b"item-%08d,%d\n" % (number, number % 2) for number in range(LARGE_BYTES // 16))
    _upload(url, key, "csv", b"item_id,value\n" + b"".join(lines))


def _upload(url: str, key: str, form: str, sent: bytes) -> None:
    """Have a file read over and over, several at once."""

    def upload() -> None:
        until = time.monotonic() + SECONDS
        with client_of(url, key) as client:
            while time.monotonic() < until:
                with contextlib.suppress(httpx.HTTPError):
                    client.post(f"/v1/imports/check?format={form}", content=sent, headers=_FILE)

    _at_once(upload, UPLOADS)


def _at_once(does: Callable[[], None], many: int) -> None:
    """Do it in so many threads, and say that it has begun."""
    with ThreadPoolExecutor(many) as threads:
        running = [threads.submit(does) for _ in range(many)]
        time.sleep(1)
        _begun()
        for each in running:
            each.result()


def pipelining(url: str, _key: str) -> None:
    """Connections without a key that send requests without end and read no answer."""
    parts = urlsplit(url)
    many = b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n" * 6000
    opened: list[socket.socket | None] = [None] * CONNECTIONS
    until, said = time.monotonic() + SECONDS, False
    while time.monotonic() < until:
        for place, connection in enumerate(opened):
            try:
                if connection is None:
                    connection = opened[place] = socket.create_connection(
                        (str(parts.hostname), parts.port or 80)
                    )
                    connection.setblocking(False)
                connection.send(many)
            except BlockingIOError:
                pass
            except OSError:
                if connection is not None:
                    connection.close()
                opened[place] = None
        if not said:
            _begun()
            said = True
        time.sleep(0.01)


_FILE = {"Content-Type": "application/octet-stream"}
_JSON = {"Content-Type": "application/json"}
ATTACKS: dict[str, Callable[[str, str], Any]] = {
    attack.__name__: attack
    # The last one comes last for what it leaves in the queue.
    for attack in (marks, nested, drips, uploads, bodies, calculations, pipelining, jobs_without_end)
}


def main(arguments: list[str]) -> None:
    """Attack, or print what every attack did to another project."""
    if arguments:
        name, url, key = arguments
        ATTACKS[name](url, key)
        return
    from benchmarks.servers import service

    with tempfile.TemporaryDirectory(prefix="fltenants") as directory:
        database = Database(f"sqlite:///{directory}/forelock.db")
        with service(settings=ALLOWED, data=Path(directory)) as served:
            for name in ATTACKS:
                sys.stdout.write(f"{measured(served, database, name)}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
