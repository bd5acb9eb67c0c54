"""Many clients that post, read and look at once, on Postgres: how long each kind of request waits.

`python -m benchmarks.mixed [API PROCESSES]` prints it by kind.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys
import time
from collections import defaultdict
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from benchmarks import posts, servers
from benchmarks.harness import Measured, row
from benchmarks.ingest import body
from benchmarks.start import descendants, parent, seconds

CLIENTS, SECONDS, WARM_SECONDS = 256, 20.0, 3.0
RECORDS, ITEMS, BATCH = 32, 4_000, 10
MIX = {"post": 40, "record": 15, "progress": 15, "list": 10, "verdicts": 10, "metrics": 5, "live": 5}
"""Kinds of requests, and how many of a hundred are of each."""


class Clients:
    """Connections that ask one thing after the other, and what each answer took."""

    def __init__(self, address: str, key: str, records: list[str]) -> None:
        self._parts = urlsplit(address)
        self._headers = {"Authorization": f"Bearer {key}"}
        self._address, self._records = address, records
        self._next: dict[str, int] = defaultdict(int)
        self.taken: dict[str, list[float]] = defaultdict(list)
        self.failed = 0
        self.processor = 0.0
        self.answers = 0

    async def run(self) -> None:
        """Ask for so long."""
        began = time.perf_counter()
        self._counts_from, self._until = began + WARM_SECONDS, began + WARM_SECONDS + SECONDS
        await asyncio.gather(*(self._client(random.Random(number)) for number in range(CLIENTS)))

    async def _client(self, draws: random.Random) -> None:
        reader, writer = await asyncio.open_connection(self._parts.hostname, self._parts.port)
        kinds, weights = list(MIX), list(MIX.values())
        with contextlib.closing(writer):
            while (asked := time.perf_counter()) < self._until:
                (kind,) = draws.choices(kinds, weights)
                writer.write(self._request(kind, draws))
                good = await _is_good(reader)
                self.answers += 1
                if asked >= self._counts_from:
                    self.taken[kind].append(time.perf_counter() - asked)
                    self.failed += not good

    def _request(self, kind: str, draws: random.Random) -> bytes:
        record = f"/v1/preregistrations/{draws.choice(self._records)}"
        if kind == "post":
            first, self._next[record] = self._next[record], self._next[record] + BATCH
            return posts.request(self._address, f"{record}/results", self._headers, body(first, BATCH))
        paths = {
            "record": record,
            "progress": f"{record}/progress",
            "list": "/v1/preregistrations?limit=50",
            "verdicts": "/v1/verdicts",
            "metrics": "/metrics",
            "live": "/health/live",
        }
        fields = {"Host": self._parts.netloc, **self._headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        return f"GET {paths[kind]} HTTP/1.1\r\n{head}\r\n".encode()


async def _is_good(reader: asyncio.StreamReader) -> bool:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
    await reader.readexactly(int(length or 0))
    return head.split(b" ", 2)[1] in (b"200", b"201")


def run(workers: int | None) -> Clients:
    """What the clients saw of so many API processes, or of as many as a deployment has by itself.

    Raises:
        RuntimeError: an answer was not right.
    """
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(servers.postgres())
        settings = {"FORELOCK_DATABASE_URL": url, "FORELOCK_WORKERS": str(workers or "")}
        served = stack.enter_context(servers.service("--no-runner", settings=settings))
        client = stack.enter_context(served.client())
        records = _records(client)
        clients = Clients(served.url, served.key, records)
        pids = list(descendants(parent(served.pid)))
        before = sum(map(seconds, pids))
        asyncio.run(clients.run())
        clients.processor = sum(map(seconds, pids)) - before
    if clients.failed:
        raise RuntimeError(f"{clients.failed} requests failed")
    return clients


def _records(client: Any) -> list[str]:
    from tests.journeys.plans import locked, small_plan

    return [locked(client, small_plan(ITEMS)) for _ in range(RECORDS)]


def quantile(times: list[float], share: float) -> float:
    """The smallest time that so large a share does not exceed."""
    return sorted(times)[min(int(share * len(times)), len(times) - 1)]


@row(
    f"reads among {CLIENTS} mixed clients of one API process, Postgres", group="mixed", peer="posts among them",
    bar=2, at_most=True, note="median wait for a record, progress, lists and metrics, while as many clients post",
)  # fmt: skip
def _reads() -> Measured:
    taken = run(1).taken
    reads = [each for kind in ("record", "progress", "list", "verdicts", "metrics") for each in taken[kind]]
    ours, theirs = median(reads), median(taken["post"])
    return Measured(ours, theirs, ours / theirs)


def main() -> None:
    """Print what every kind of request took."""
    clients = run(int(sys.argv[1]) if len(sys.argv) > 1 else None)
    found = clients.taken
    total = sum(map(len, found.values()))
    print(
        f"{total / SECONDS:.0f} answers a second, {1e3 * clients.processor / clients.answers:.2f} ms of processor each"
    )
    for kind in MIX:
        times = found[kind]
        shown = ", ".join(f"{1e3 * quantile(times, share):.0f}" for share in (0.5, 0.9, 0.99, 1.0))
        print(f"{kind:9} {len(times):6}  p50, p90, p99, most: {shown} ms")


if __name__ == "__main__":
    main()
