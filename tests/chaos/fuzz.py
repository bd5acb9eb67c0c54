"""`python -m tests.chaos.fuzz [--requests N] [--seed S]`: every operation with right, altered and broken requests.

The service is served for real, on SQLite and on Postgres, with a second project whose texts all hold one word. No
answer may be a 5xx or hold a traceback, NaN, or anything of that other project that the request did not name.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx

from benchmarks.servers import Served, postgres, service
from service.domain.access import SCOPES
from tests.chaos import hostile
from tests.chaos.ending import ENOUGH, by_status, end_on, told
from tests.every_route import OPERATIONS, PICTURES, Operation, content
from tests.journeys.plans import idempotent, items, small_plan

DATABASES = ("SQLite", "Postgres")
CANARY = "canaryofanother"
N = 6
HOSTILE_IDS = ("0", "-1", "%00", "..%2f..", "'", "p", "a" * 65, "\u00e9", "1e3", "null", "%", " ")


@dataclass
class Found:
    """What one run saw."""

    database: str
    statuses: Counter[int] = field(default_factory=Counter)
    by_operation: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")
    waited: Counter[str] = field(default_factory=Counter)
    """Seconds by operation."""
    seconds: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.database}: {self.statuses.total()} requests to {len(self.by_operation)} operations in "
            f"{self.seconds:.0f} s; {by_status(self.statuses)}; slowest {self.slowest[0]:.1f} s ({self.slowest[1]}); "
            f"{len(self.faults)} faults; most time went to "
            + ", ".join(f"{name} {seconds:.0f} s" for name, seconds in self.waited.most_common(8))
        )


class Project:
    """A project of the deployment, a client with its key, and the ids it has."""

    def __init__(self, served: Served, operator: httpx.Client, title: str) -> None:
        made = operator.post("/v1/projects", json={"name": f"{title}-{uuid.uuid4().hex[:6]}"})
        self.id = made.raise_for_status().json()["id"]
        scopes = [each for each in SCOPES if each not in ("unblind", "operator")]
        key = operator.post(
            "/v1/keys", json={"name": title, "kind": "person", "scopes": scopes, "project_id": self.id}
        )
        secret = key.raise_for_status().json()["secret"]
        self.client = httpx.Client(
            base_url=served.url, headers={"Authorization": f"Bearer {secret}"}, timeout=120
        )
        spare = self.client.post("/v1/keys", json={"name": title, "scopes": ["read"]}).raise_for_status()
        self.keys = [spare.json()["key"]["id"]]
        self.jobs: list[str] = []
        made = self.client.post("/v1/webhooks", json=_example("createWebhook") | {"description": title})
        self.webhooks = [made.raise_for_status().json()["webhook"]["id"]]
        self.records = [
            self._record(title, lock=lock, rows=rows) for lock, rows in ((False, 0), (True, 4), (True, N))
        ]

    def ids(self, rng: random.Random) -> dict[str, str]:
        """Some of its ids."""
        return {
            "prereg_id": rng.choice(self.records[-30:]),
            "job_id": rng.choice(self.jobs[-30:] or ["none"]),
            "id": rng.choice(self.keys[-30:]),
            "population": "p",
            "batch": str(rng.randint(1, 3)),
            "index": str(rng.randint(0, 30)),
            "number": str(rng.randint(1, 3)),
            "deviation": str(rng.randint(1, 3)),
            "version": str(rng.randint(1, 3)),
            "family_id": rng.choice(("none", uuid.uuid4().hex)),
            "webhook_id": rng.choice(self.webhooks[-30:]),
            "delivery_id": rng.choice(self.jobs[-30:] or ["none"]),
            "run_id": f"run{rng.randint(1, 3)}",
            "name": f"link{rng.randint(1, 3)}",
            "project_id": self.id,
            **PICTURES,
            "chart": rng.choice(("power", "forest", "cumulative", "arms", "none")),
            "form": rng.choice(("json", "svg", "none")),
        }

    @property
    def secrets(self) -> set[str]:
        """What only it may be told."""
        return {*self.records, *self.jobs, *self.keys, *self.webhooks, self.id}

    def _record(self, title: str, *, lock: bool, rows: int) -> str:
        made = self.client.post("/v1/preregistrations", json=small_plan(N, title=title)).raise_for_status()
        path: str = made.headers["Location"]
        self.client.put(f"{path}/populations/p/items", json={"item_ids": items(N)}).raise_for_status()
        if lock:
            headers = idempotent(**{"If-Match": "*"})
            self.client.post(f"{path}/lock", json={"acknowledge": "all"}, headers=headers).raise_for_status()
            change = {"kind": "n", "population": "p", "n": 4, "dropped_favour": "neither"}
            filed = {**_example("fileDeviation"), "title": title, "reason": title, "change": change}
            self.client.post(f"{path}/deviations", json=filed, headers=idempotent()).raise_for_status()
        for arm in ("A", "B") if rows else ():
            columns = {"item_ids": items(rows), "values": [int(arm == "B")] * rows}
            body = {"arm": arm, "endpoint": "accuracy", **columns}
            self.client.post(f"{path}/results", json=body, headers=idempotent()).raise_for_status()
        return str(made.json()["id"])


def _example(operation_id: str) -> Any:
    return next(each for each in OPERATIONS if each.id == operation_id).bodies()[0][1]


def run(database: str, requests: int, seed: int, *, clients: int = 4) -> Found:
    """One database; `clients` send side by side, each its own stream."""
    found, began = Found(database), time.monotonic()
    with ExitStack() as stack:
        settings = {
            "FORELOCK_POOL_WORKERS": "1",
            "FORELOCK_PROJECT_DRAFTS": "1000000",
            "FORELOCK_PROJECT_JOBS": "40",
        }
        if database == "Postgres":
            settings["FORELOCK_DATABASE_URL"] = stack.enter_context(postgres())
            _migrated(settings["FORELOCK_DATABASE_URL"])
        served = stack.enter_context(service(settings=settings))
        with served.client() as operator:
            ours, other = Project(served, operator, "ours"), Project(served, operator, CANARY)
            streams = [
                Stream(found, ours, other, random.Random(f"{seed} {number}")) for number in range(clients)
            ]
            with ThreadPoolExecutor(clients) as threads:
                for each in [threads.submit(stream.send, requests // clients) for stream in streams]:
                    each.result()
            live = operator.get("/health/ready")
            if live.status_code != 200:
                found.faults.append(f"not ready afterwards: {live.text}")
    found.seconds = time.monotonic() - began
    return found


class Stream:
    """Requests one after the other, operations in turn."""

    def __init__(self, found: Found, ours: Project, other: Project, rng: random.Random) -> None:
        self._found, self._ours, self._other, self._rng = found, ours, other, rng

    def send(self, requests: int) -> None:
        """So many requests."""
        for number in range(requests):
            if ENOUGH.is_set():
                return
            if number % len(OPERATIONS) == 0:
                turn = self._rng.sample(OPERATIONS, len(OPERATIONS))
            self._one(turn[number % len(OPERATIONS)])

    def _one(self, operation: Operation) -> None:
        rng = self._rng
        owner = self._other if rng.random() < 0.3 else self._ours
        ids: dict[str, str] = owner.ids(rng)
        if rng.random() < 0.15:
            ids[rng.choice(list(ids))] = quote(rng.choice(HOSTILE_IDS))
        options = self._body(operation, ids)
        headers = operation.headers() | options.pop("headers", {}) | rng.choice(hostile.HEADERS)
        params = {name: self._value(name) for name in operation.query() if rng.random() < 0.4}
        if rng.random() < 0.03:
            params["unknown"] = "1"
        url, start = operation.url(ids), time.perf_counter()
        try:
            answer = self._ours.client.request(
                operation.method, url, params=params, headers=headers, **options
            )
        except (httpx.HTTPError, UnicodeError) as error:
            self._found.faults.append(
                f"{operation.method} {url} {str(options)[:1500]}: {type(error).__name__}"
            )
            return
        took = time.perf_counter() - start
        self._found.slowest = max(
            self._found.slowest, (took, f"{operation.method} {url} {str(options)[:300]}")
        )
        self._found.waited[operation.id] += took  # type: ignore[assignment]
        self._check(operation, answer, f"{url} {params} {options}")
        self._remember(operation, answer)

    def _body(self, operation: Operation, ids: dict[str, str]) -> dict[str, Any]:
        rng = self._rng
        media, body = rng.choice(operation.bodies())
        if not media:
            return {} if rng.random() < 0.9 else {"content": hostile.raw(rng, {})}
        if (
            operation.id in ("postResults", "checkResults")
            and media == "application/json"
            and rng.random() < 0.8
        ):
            some = rng.sample(items(N), rng.randint(1, N - 2))
            columns = {"item_ids": some, "values": [rng.choice((0, 1)) for _ in some]}
            body = {"arm": rng.choice("AB"), "endpoint": "accuracy", **columns}
        if operation.id == "createPreregistration" and media == "application/json" and rng.random() < 0.5:
            body = small_plan(N)
        if operation.id == "createKey" and rng.random() < 0.3:
            body["project_id"] = ids["project_id"]
        kind = rng.random()
        if kind < 0.3:
            return content(media, body)
        if isinstance(body, str):
            return content(media, hostile.raw(rng, body) if kind < 0.6 else body[: rng.randrange(len(body))])
        if kind < 0.85:
            changed = hostile.altered(rng, body, rng.randint(1, 3))
            # as JSON, whatever it became: lone surrogates are the service's to refuse, not the client's
            return content(media, json.dumps(changed).encode())
        return {"content": hostile.raw(rng, body), "headers": {"Content-Type": media}}

    def _value(self, name: str) -> str:
        rng = self._rng
        if rng.random() < 0.3:
            return str(rng.choice(hostile.VALUES))[:50].encode(errors="replace").decode()
        return {
            "limit": str(rng.randint(0, 201)),
            "state": rng.choice(("draft", "locked", "judged", "x")),
            "lang": rng.choice(("en", "zh", "xx")),
            "since": "2026-01-01T00:00:00Z",
            "outcome": rng.choice(("supported", "x")),
            "project": rng.choice((self._ours.id, self._other.id)),
            "project_id": rng.choice((self._ours.id, self._other.id)),
        }.get(name, "x")

    def _check(self, operation: Operation, answer: httpx.Response, sent: str) -> None:
        found, text = self._found, answer.text
        found.statuses[answer.status_code] += 1
        found.by_operation[operation.id] += 1
        told = f"{operation.method} {sent[:1500]} -> {answer.status_code} {text[:300]}"
        if answer.status_code >= 500:
            found.faults.append(told)
        if "Traceback (most recent call" in text:
            found.faults.append(f"traceback: {told}")
        if "json" in answer.headers.get("content-type", ""):
            try:
                json.loads(text, parse_constant=_refuse)
            except ValueError:
                found.faults.append(f"no JSON: {told}")
        leaked = [each for each in (CANARY, *self._other.secrets) if each in text and each not in sent]
        if leaked:
            found.faults.append(f"of the other project {leaked}: {told}")

    def _remember(self, operation: Operation, answer: httpx.Response) -> None:
        if answer.status_code not in (200, 201, 202) or "json" not in answer.headers.get("content-type", ""):
            return
        body = answer.json()
        if operation.id == "createPreregistration":
            self._ours.records.append(body["id"])
        elif operation.id == "createKey":
            self._ours.keys.append(body["key"]["id"])
        elif operation.id == "createWebhook":
            self._ours.webhooks.append(body["webhook"]["id"])
        elif answer.status_code == 202 and "id" in body:
            self._ours.jobs.append(body["id"])


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _migrated(url: str) -> None:
    from service.store.database import schema
    from service.store.database.engine import Database

    database = Database(url)
    schema.upgrade(database.engine)
    database.dispose()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.fuzz", description=__doc__)
    parser.add_argument("--requests", type=int, default=30_000, help="half of them on each database")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", choices=DATABASES, help="all of them on this one")
    asked = parser.parse_args()
    names = [asked.database] if asked.database else list(DATABASES)
    end_on(signal.SIGTERM)
    failed = False
    for name in names:
        found = run(name, asked.requests // len(names), asked.seed)
        failed = told(found, found.faults, 50) or failed
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
