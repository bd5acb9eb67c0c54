"""`python -m tests.chaos.soak [--minutes M] [--csv FILE]`: constant moderate load, and what every process holds.

Both worlds run side by side. A client of each goes in rounds: stateless tests small and large, jobs, records
from draft to verdict with everything that reads them, and requests that are refused. After the first
rounds it waits between two requests as long as the service takes more than its share of a core.
"""

from __future__ import annotations

import argparse
import csv
import random
import signal
import sys
import tempfile
import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx

from tests.chaos import world as worlds
from tests.chaos.ending import ENOUGH, end_on
from tests.chaos.memory import COLUMNS, Clock, Growth, growth, samples
from tests.journeys.plans import idempotent, small_plan

WORLDS = {"SQLite": worlds.sqlite, "Postgres": worlds.postgres}
EVERY_SECONDS = 15.0
SHARE = 0.25
"""Of one core, that one deployment may compute."""
UNPACED = 210
"""Rounds that wait for nothing: what keeps the last records, or answers about them, is full then."""
READ = (
    "", "/progress", "/batches", "/results", "/receipt", "/prereg.md", "/deviations", "/deviations.md",
    "/evidence", "/evidence.md", "/verdict", "/verdict/sentences", "/multiverse", "/looks", "/monitor",
    "/populations/p/items",
)  # fmt: skip
LISTS = (
    "/v1/preregistrations?limit=50", "/v1/verdicts?limit=50", "/v1/keys", "/v1/projects", "/v1/tests",
    "/v1/limits", "/v1/version", "/metrics", "/health/live", "/health/ready",
)  # fmt: skip


class Load:
    """One client, and what it was answered."""

    def __init__(
        self, client: httpx.Client, clock: Clock, share: float, seed: int, *, unpaced: int = 0
    ) -> None:
        self._unpaced = unpaced
        self._client, self._clock, self._share = client, clock, share
        self._rng = random.Random(seed)
        self.answers: Counter[tuple[str, int]] = Counter()
        self.rounds = 0
        self.enough = threading.Event()
        self._jobs: list[str] = []
        self._records: list[str] = []

    def run(self) -> None:
        """Rounds until it is enough."""
        while not self.enough.is_set():
            for step in (self._tests, self._job, self._record, self._refused, self._lists):
                for _ in step():
                    self._wait()
            self.rounds += 1
            if self.rounds == self._unpaced:
                self._clock.count_from_now()

    def _wait(self) -> None:
        if self.rounds < self._unpaced:
            return
        while self._clock.share() > self._share and not self.enough.wait(0.25):
            pass

    def _ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        answer = self._client.request(method, path, **options)
        self.answers[
            path.split("?")[0].split("/")[2 if path.startswith("/v1") else 1], answer.status_code
        ] += 1
        assert answer.status_code < 500, f"{method} {path}: {answer.text}"
        return answer

    def _column(self, n: int) -> list[float]:
        return [self._rng.random() for _ in range(n)]

    def _tests(self) -> Iterator[None]:
        for name in ("paired-difference", "paired-bootstrap", "t-test", "wilcoxon", "effect-size"):
            n = self._rng.randint(20, 300)
            body: dict[str, Any] = {"baseline": self._column(n), "candidate": self._column(n)}
            self._ask("POST", f"/v1/tests/{name}", json=body)
            yield
        counts = ("both_correct", "both_wrong", "only_baseline", "only_candidate")
        self._ask("POST", "/v1/tests/mcnemar", json={name: self._rng.randint(0, 99) for name in counts})
        yield
        n = self._rng.randint(10_000, 60_000)  # read by a calculator that is kept, or by one that is not
        self._ask("POST", "/v1/tests/describe", json={"values": self._column(n)})
        yield

    def _job(self) -> Iterator[None]:
        n = self._rng.randint(100, 200)
        body = {"baseline": self._column(n), "candidate": self._column(n), "method": "studentized"}
        body |= {"n_resamples": 50_000, "seed": self._rng.randint(0, 10**6)}
        made = self._ask("POST", "/v1/tests/paired-bootstrap", json=body, headers={"Prefer": "respond-async"})
        yield
        for job_id in self._jobs[-3:]:
            self._ask("GET", f"/v1/jobs/{job_id}")
            yield
        if self._jobs:
            self._ask("GET", f"/v1/jobs/{self._jobs[-1]}/events")
            yield
        self._jobs = [*self._jobs[-20:], made.json()["id"]]

    def _record(self) -> Iterator[None]:
        n = self._rng.choice((12, 40, 400))
        made = self._ask("POST", "/v1/preregistrations", json=small_plan(n), headers=idempotent())
        path, item_ids = made.headers["Location"], [uuid.uuid4().hex for _ in range(n)]
        self._ask("PUT", f"{path}/populations/p/items", json={"item_ids": item_ids})
        yield
        self._ask("POST", f"{path}/lint", json={})
        yield
        tag = self._ask("GET", path).headers["ETag"]
        self._ask(
            "POST", f"{path}/lock", json={"acknowledge": "all"}, headers=idempotent(**{"If-Match": tag})
        )
        yield
        half = n // 2
        for arm in ("A", "B"):
            for part in (item_ids[:half], item_ids[half:]):
                values = [self._rng.randint(0, 1) for _ in part]
                rows = {"arm": arm, "endpoint": "accuracy", "item_ids": part, "values": values}
                self._ask("POST", f"{path}/results/check", json=rows)
                once = idempotent()
                self._ask("POST", f"{path}/results", json=rows, headers=once)
                self._ask("POST", f"{path}/results", json=rows, headers=once)
                yield
                self._ask("GET", f"{path}/progress")
        self._records = [*self._records[-20:], path]
        for known in {self._records[0], self._records[len(self._records) // 2]}:
            for part in READ:
                self._ask("GET", known + part)
                yield

    def _refused(self) -> Iterator[None]:
        for method, path, options in (
            ("GET", f"/v1/preregistrations/{uuid.uuid4().hex}", {}),
            ("GET", f"/{uuid.uuid4().hex}", {}),
            ("GET", "/v1/keys", {"headers": {"Authorization": f"Bearer {uuid.uuid4().hex}"}}),
            ("POST", "/v1/tests/mcnemar", {"json": {uuid.uuid4().hex: 1}}),
            ("POST", "/v1/tests/t-test", {"content": b"{" * self._rng.randint(1, 200)}),
            ("POST", "/v1/preregistrations", {"json": {"title": uuid.uuid4().hex, "populations": [{}]}}),
        ):
            self._ask(method, path, **options)
            yield

    def _lists(self) -> Iterator[None]:
        for path in LISTS:
            self._ask("GET", path)
            yield


def soak(name: str, minutes: float, share: float, rows: list[dict[str, Any]]) -> str:
    """One world under load; its samples are added to `rows`. Returns how the load went."""
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="fls", ignore_cleanup_errors=True))
        world = stack.enter_context(WORLDS[name](Path(directory)))
        for setting in [
            each for each in world.environment if each.startswith(("FORELOCK_JOB", "FORELOCK_R"))
        ]:
            del world.environment[setting]  # as a deployment has them, not as a kill campaign does
        with world.start() as client:
            # a machine that others load as well is slow, and nothing more
            client.timeout = httpx.Timeout(600)
            clock = Clock(world)
            load = Load(client, clock, share, seed=len(name), unpaced=UNPACED)
            with ThreadPoolExecutor(1) as thread:
                running = thread.submit(load.run)
                due = 0.0
                while clock.seconds < 60 * minutes and not running.done() and not ENOUGH.is_set():
                    rows += samples(world, name, clock.seconds)
                    due += EVERY_SECONDS
                    ENOUGH.wait(max(0.0, due - clock.seconds))
                load.enough.set()
                running.result()
            return (
                f"{name}: {load.rounds} rounds, {load.answers.total()} requests, "
                f"{100 * clock.share():.0f} % of a core, {clock.seconds / 60:.0f} minutes"
            )


def table(found: list[Growth]) -> str:
    """As it stands in docs/soak.md."""
    head = (
        "| service on | process | number | RSS at 30 %, MiB | at the end | growth, MiB an hour | of it no file's |\n"
        "|---|---|--:|--:|--:|--:|--:|"
    )
    return "\n".join([head, *map(str, found)])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--share", type=float, default=SHARE, help="of one core, for each deployment")
    parser.add_argument("--world", choices=list(WORLDS), help="one world only")
    parser.add_argument("--csv", type=Path, help="write every sample to this file")
    asked = parser.parse_args()
    names = [asked.world] if asked.world else list(WORLDS)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    ended = threading.Event()

    def write() -> None:
        while not ended.wait(EVERY_SECONDS):
            write_rows(asked.csv, rows)

    end_on(signal.SIGINT, signal.SIGTERM)
    writer = threading.Thread(target=write, daemon=True)
    if asked.csv:
        writer.start()
    with ThreadPoolExecutor(len(names)) as both:
        said = [both.submit(soak, name, asked.minutes, asked.share, rows[name]) for name in names]
        for each in said:
            print(each.result(), flush=True)
    ended.set()
    if asked.csv:
        writer.join()
        write_rows(asked.csv, rows)
    print(table([each for name in names for each in growth(rows[name])]))
    return 0


def write_rows(path: Path, rows: dict[str, list[dict[str, Any]]]) -> None:
    """Every sample so far."""
    with path.open("w") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for each in rows.values():
            writer.writerows(list(each))


if __name__ == "__main__":
    sys.exit(main())
