"""A million results: in one upload, in a thousand, and the memory they take, against a row per result."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, Literal

import httpx
import numpy as np

from benchmarks import posts, servers
from benchmarks.harness import Measured, row

GROUP = "ingest"
N, BATCH = 1_000_000, 1_000
ROUNDS, BATCH_ROUNDS = 5, 3
CONNECTIONS = 64
Dialect = Literal["sqlite", "postgresql"]
RowStore = Callable[[list[tuple[Any, ...]]], None]


@dataclass(frozen=True, slots=True)
class Figures:
    """Seconds of one upload (ours and the peer's), of a thousand, at once and in a row, and bytes."""

    upload: float
    peer: float
    ratio: float
    batches: float
    in_a_row: float
    body: int
    peak: int


def plan() -> dict[str, Any]:
    """Two arms on a million items."""
    from tests.journeys.plans import small_plan

    return small_plan(N)


def body(first: int, n: int, arm: str = "A") -> bytes:
    """Results of consecutive items as columns."""
    rng = np.random.default_rng(first)
    columns = {
        "arm": arm,
        "endpoint": "accuracy",
        "item_ids": [f"item-{number}" for number in range(first, first + n)],
        "values": (rng.random(n) < 0.6).astype(int).tolist(),
    }
    return json.dumps(columns).encode()


class Uploads:
    """A locked plan on a running service, and what is posted to it."""

    def __init__(self, served: servers.Served, client: httpx.Client) -> None:
        from tests.journeys.plans import locked

        self._served = served
        self._client = client
        self._path = f"/v1/preregistrations/{locked(client, plan())}"  # type: ignore[arg-type]

    def post(self, sent: bytes) -> int:
        """Post one batch; returns its number."""
        headers = {"Idempotency-Key": uuid.uuid4().hex, "Content-Type": "application/json"}
        answer = self._client.post(f"{self._path}/results", content=sent, headers=headers)
        if answer.status_code != 201:
            raise RuntimeError(answer.text)
        return int(answer.json()["batch"])

    def seconds(self, parts: Sequence[bytes], connections: int) -> float:
        """How long it takes to post batches over so many connections. What is sent is prepared before."""
        url, path = self._served.url, f"{self._path}/results"
        requests = [posts.request(url, path, self._served.headers, part) for part in parts]
        return timed(lambda: posts.post(url, requests, connections))[0]

    def void(self, batch: int) -> None:
        """Free the cells of a batch."""
        reason = {"reason": "measured"}
        self._client.post(f"{self._path}/batches/{batch}/void", json=reason).raise_for_status()


@cache
def figures(dialect: Dialect) -> Figures:
    """Everything that is measured on one kind of database, in turns."""
    whole, parts = body(0, N), [body(first, BATCH) for first in range(0, N, BATCH)]
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(servers.postgres()) if dialect == "postgresql" else None
        settings = {} if url is None else {"FORELOCK_DATABASE_URL": url}
        served = stack.enter_context(servers.service("--no-runner", settings=settings))
        client = stack.enter_context(served.client())
        uploads = Uploads(served, client)
        store = stack.enter_context(rows_in_sqlite() if url is None else rows_in_postgres(url))
        uploads.void(uploads.post(whole))
        rounds, peaks = [], []
        for _ in range(ROUNDS):
            served.forget_peak()
            resting = served.peak_bytes()
            ours, batch = timed(lambda: uploads.post(whole))
            peaks.append(served.peak_bytes() - resting)
            uploads.void(batch)
            rounds.append((ours, timed(lambda: by_rows(whole, store))[0]))
        batches = [Uploads(served, client).seconds(parts, CONNECTIONS) for _ in range(BATCH_ROUNDS)]
        in_a_row = Uploads(served, client).seconds(parts, 1)
    mine, theirs = zip(*rounds, strict=True)
    ratio = median(peer / ours for ours, peer in rounds)
    return Figures(median(mine), median(theirs), ratio, median(batches), in_a_row, len(whole), max(peaks))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what came of it."""
    start = time.perf_counter()
    value = work()
    return time.perf_counter() - start, value


def by_rows(sent: bytes, store: RowStore) -> None:
    """The peer: the same parse, then a row per result, committed. No HTTP, no index, no plan to check."""
    from service.ingest.results import parse

    batch = parse(sent, "application/json", max_items=N)
    columns = (batch.replicates.tolist(), batch.rows.values.tolist(), batch.rows.statuses.tolist())
    store([(1, *cells) for cells in zip(batch.item_ids, *columns, strict=True)])


@contextlib.contextmanager
def rows_in_sqlite() -> Iterator[RowStore]:
    """`executemany`, as durable as the service's own writes."""
    with (
        tempfile.TemporaryDirectory(prefix="flbench") as directory,
        contextlib.closing(sqlite3.connect(Path(directory) / "rows.db", isolation_level=None)) as connection,
    ):
        connection.execute("PRAGMA journal_mode=WAL").fetchone()
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute(f"CREATE TABLE rows_of_results ({TABLE})")

        def store(rows: list[tuple[Any, ...]]) -> None:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT INTO rows_of_results VALUES (?, ?, ?, ?, ?)", rows)
            connection.execute("COMMIT")

        yield store


@contextlib.contextmanager
def rows_in_postgres(url: str) -> Iterator[RowStore]:
    """`COPY`."""
    import psycopg

    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"CREATE TABLE rows_of_results ({TABLE})")

        def store(rows: list[tuple[Any, ...]]) -> None:
            copying = "COPY rows_of_results FROM STDIN"
            with connection.transaction(), connection.cursor() as cursor, cursor.copy(copying) as copy:
                for row in rows:
                    copy.write_row(row)

        yield store


TABLE = "batch integer, item_id text, replicate integer, value double precision, status integer"

NAMES: dict[Dialect, tuple[str, str]] = {
    "sqlite": ("SQLite", "same parse, executemany"),
    "postgresql": ("Postgres", "same parse, COPY"),
}


def declare(dialect: Dialect) -> None:
    """The rows of one kind of database."""
    name, peer = NAMES[dialect]

    @row(
        f"{N:,} results in one upload, {name}", group=GROUP, peer=peer, bar=1.5,
        note="over HTTP: validated, sealed and committed; the peer without HTTP, index or plan",
    )  # fmt: skip
    def _upload() -> Measured:
        measured = figures(dialect)
        return Measured(measured.upload, measured.peer, measured.ratio)

    @row(
        f"{N // BATCH:,} batches of {BATCH:,}, {name}", group=GROUP, peer="one upload", bar=3, at_most=True,
        note=f"over {CONNECTIONS} connections, each batch durable before its answer",
    )  # fmt: skip
    def _batches() -> Measured:
        measured = figures(dialect)
        return Measured(measured.batches, measured.upload, measured.batches / measured.upload)

    @row(
        f"{N // BATCH:,} batches of {BATCH:,} in a row, {name}", group=GROUP, peer="one upload", bar=None,
        at_most=True, note="over one connection, so that every batch waits for a commit of its own",
    )  # fmt: skip
    def _in_a_row() -> Measured:
        measured = figures(dialect)
        return Measured(measured.in_a_row, measured.upload, measured.in_a_row / measured.upload)

    @row(
        f"peak memory of one upload, {name}", group=GROUP, peer="the body", bar=8, at_most=True,
        note="what the API process holds at most, above what it held before",
    )  # fmt: skip
    def _memory() -> Measured:
        measured = figures(dialect)
        return Measured(
            measured.peak / 2**20, measured.body / 2**20, measured.peak / measured.body, unit="MiB"
        )


declare("sqlite")
declare("postgresql")
