"""The campaign: a stream of jobs and verdicts, pieces killed at random moments, and what must hold after."""

from __future__ import annotations

import contextlib
import json
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import sqlalchemy as sa

from service.stats.shared.declaring import registry
from service.store.database.engine import Database
from service.store.database.tables import jobs, ledger_entries
from tests.chaos import world as worlds
from tests.chaos.world import World, gone, kill
from tests.journeys.plans import items, small_plan

TEST, RECORD_ITEMS = "paired-bootstrap", 12
PATIENCE_SECONDS = 300.0
"""How long work may take to end after the last kill."""
MOST_WAITING = 4
"""Jobs under way at a time: how much is left after the last kill does not depend on the machine."""
MOST_SECONDS = 600.0
"""How long the killing goes on at most."""
LIFE_SECONDS = 12.0
"""How long a process lives at most before it is killed."""
PACE_SECONDS = 1.5
"""Pause between two jobs, about what one takes."""
WORLDS: dict[str, Callable[[Path], AbstractContextManager[World]]] = {
    "SQLite, local cluster": worlds.sqlite,
    "Postgres, remote cluster": worlds.postgres,
}


@dataclass
class Outcome:
    """What a campaign did and saw."""

    world: str
    kills: Counter[str] = field(default_factory=Counter)
    jobs: int = 0
    verdicts: int = 0
    seconds: float = 0.0
    began: float = 0.0
    """Seconds from the last kill, or from when it was due, until the last verdict was begun for good."""
    faults: list[str] = field(default_factory=list)


def run(name: str, *, kills: int, n_records: int, seed: int) -> Outcome:
    """One campaign in one world: jobs are sent as long as something is killed."""
    found, began = Outcome(name), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="flc", ignore_cleanup_errors=True) as directory:
        with WORLDS[name](Path(directory)) as world:
            with world.start() as client:
                stream = Stream(client, n_records)
                thread = threading.Thread(target=stream.send)
                thread.start()
                try:
                    _kill_at_random(world, found, kills, random.Random(seed))
                finally:
                    stream.last_kill, stream.last_kill_at = time.monotonic(), datetime.now(UTC)
                    stream.enough.set()
                    thread.join(PATIENCE_SECONDS)
                stream.check(found)
            _check_rows(world, found, n_records, stream.last_kill_at)
        found.faults += [f"left behind: {line}" for line in gone(world, 20)]
    found.seconds = time.monotonic() - began
    return found


def _kill_at_random(world: World, found: Outcome, kills: int, rng: random.Random) -> None:
    """Every process gets some seconds to live, drawn when it is first seen."""
    until, due = time.monotonic() + MOST_SECONDS, dict[int, float]()
    while found.kills.total() < kills and time.monotonic() < until:
        time.sleep(0.1)
        now, targets = time.monotonic(), world.targets()
        for kind, pids in targets.items():
            for pid in pids:
                due.setdefault(pid, now + rng.uniform(0.5, LIFE_SECONDS))
                if due[pid] <= now and found.kills.total() < kills and kill(pid):
                    found.kills[kind] += 1


class Stream:
    """What clients send, again and again until it is taken."""

    def __init__(self, client: httpx.Client, n_records: int) -> None:
        self._client, self._n_records = client, n_records
        self.enough = threading.Event()
        self.last_kill: float | None = None
        self.last_kill_at = datetime.now(UTC)
        self.accepted: dict[int, str] = {}
        self._unfinished: list[str] = []
        self.records: list[str] = []

    def send(self) -> None:
        """Jobs and records, one after the other, until it is enough."""
        number = 0
        while not self.enough.wait(PACE_SECONDS) or number < self._n_records:
            if number >= self._n_records and self._waiting() >= MOST_WAITING:
                continue
            answer = self._insist("POST", f"/v1/tests/{TEST}", json=request(number), headers=ASYNC)
            self.accepted[number] = answer.json()["id"]
            self._unfinished.append(self.accepted[number])
            if number < self._n_records:
                self._record(number)
            number += 1

    def _waiting(self) -> int:
        """How many of the jobs sent have not ended, as far as is known."""
        states = {job: self._insist("GET", f"/v1/jobs/{job}").json()["state"] for job in self._unfinished}
        self._unfinished = [job for job, state in states.items() if state in ("queued", "running")]
        return len(self._unfinished)

    def _record(self, number: int) -> None:
        created = self._insist(
            "POST", "/v1/preregistrations", json=small_plan(RECORD_ITEMS), key=f"make-{number}"
        )
        path = created.headers["Location"]
        columns = {"item_ids": items(RECORD_ITEMS)}
        self._insist("PUT", f"{path}/populations/p/items", json=columns)
        etag = self._insist("GET", path).headers["ETag"]
        self._insist(
            "POST",
            f"{path}/lock",
            json={"acknowledge": "all"},
            key=f"lock-{number}",
            headers={"If-Match": etag},
        )
        for arm, value in (("A", 0), ("B", 1)):
            columns = {"item_ids": items(RECORD_ITEMS), "values": [value] * RECORD_ITEMS}
            batch = {"arm": arm, "endpoint": "accuracy", **columns}
            self._insist("POST", f"{path}/results", json=batch, key=f"{arm}-{number}")
        self.records.append(path)

    def _insist(self, method: str, path: str, key: str | None = None, **options: Any) -> httpx.Response:
        headers = {**options.pop("headers", {}), **({"Idempotency-Key": key} if key else {})}
        while True:
            with contextlib.suppress(httpx.TransportError):
                answer = self._client.request(method, path, headers=headers, **options)
                if answer.is_success:
                    return answer
                if answer.status_code < 500 and answer.json()["code"] != "idempotency_in_flight":
                    raise AssertionError(f"{method} {path}: {answer.text}")
            if self._late():
                raise AssertionError(f"{method} {path}: no answer")
            time.sleep(0.1)

    def _late(self) -> bool:
        """True when the last kill was long ago; as long as there are others, anything may take long."""
        return self.last_kill is not None and time.monotonic() - self.last_kill > PATIENCE_SECONDS

    def check(self, found: Outcome) -> None:
        """Every job has the answer of an undisturbed run, every record its verdict."""
        if len(self.records) < self._n_records:
            found.faults.append(f"{len(self.records)} records only")
        for number, job_id in self.accepted.items():
            job = self._ended(job_id)
            if job["state"] != "succeeded":
                found.faults.append(f"job {number} {job['state']}: {job['error']}")
            elif text(job["result"]) != undisturbed(number):
                found.faults.append(f"job {number} has another answer")
            found.jobs += 1
        for path in self.records:
            verdict = self._verdict(path)
            if verdict["hypotheses"][0]["outcome"] != "supported":
                found.faults.append(f"{path}: {verdict['hypotheses'][0]['outcome']}")
            found.verdicts += 1

    def _ended(self, job_id: str) -> dict[str, Any]:
        while True:
            job: dict[str, Any] = self._insist("GET", f"/v1/jobs/{job_id}").json()
            if job["state"] not in ("queued", "running") or self._late():
                return job
            time.sleep(0.2)

    def _verdict(self, path: str) -> dict[str, Any]:
        while True:
            answer = self._client.get(f"{path}/verdict")
            if answer.status_code == 200 or self._late():
                found: dict[str, Any] = answer.json()
                return found if answer.is_success else {"hypotheses": [{"outcome": answer.text}]}
            time.sleep(0.2)


def _check_rows(world: World, found: Outcome, n_records: int, last_kill: datetime) -> None:
    """What the database says: every job once, every verdict once."""
    database = Database(world.url)
    with database.read() as session:
        made = session.scalar(sa.select(sa.func.count()).where(jobs.c.kind == TEST))
        verdicts = session.scalar(sa.select(sa.func.count()).where(ledger_entries.c.kind == "verdict"))
        begun = session.execute(
            sa.select(jobs.c.created_at, jobs.c.claimed_at).where(jobs.c.kind == "verdict")
        ).all()
    database.dispose()
    waits = [(claimed - max(due, last_kill)).total_seconds() for due, claimed in begun if claimed]
    found.began = max(0.0, *waits)
    if made != found.jobs:
        found.faults.append(f"{made} job rows for {found.jobs} requests")
    if verdicts != n_records:
        found.faults.append(f"{verdicts} verdict leaves for {n_records} records")


ASYNC = {"Prefer": "respond-async"}


def request(number: int) -> dict[str, Any]:
    """A request of a few shards."""
    rng = random.Random(number)
    columns = {name: [rng.gauss(0, 1) for _ in range(150)] for name in ("baseline", "candidate")}
    return {**columns, "method": "studentized", "n_resamples": 800_000, "seed": number}


def undisturbed(number: int) -> str:
    """The answer that nobody disturbed, computed here."""
    test = registry.find(TEST)
    asked = test.request.model_validate_json(json.dumps(request(number)), strict=True)
    return text(json.loads(test.answer(asked).model_dump_json()))


def text(answer: Any) -> str:
    """An answer's bytes."""
    return json.dumps(answer, sort_keys=True)
