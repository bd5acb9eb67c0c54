"""Jobs: what the way through rows, runner and pool adds to a call, and what a second worker brings."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from http.client import HTTPConnection
from multiprocessing import get_context
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from benchmarks.harness import Measured, row
from benchmarks.servers import Served, service

GROUP = "jobs"
SHORT_JOBS, WARM_JOBS = 100, 5
IDLE_SECONDS = 2.0
ROUNDS, LONG_DRAWS, LONG_ITEMS = 3, 300_000, 4_000
NICENESS = 15
"""What the runner and its workers step back by, together."""


class Connection:
    """One kept connection: a client that costs next to nothing."""

    def __init__(self, served: Served) -> None:
        self._http = HTTPConnection(urlsplit(served.url).netloc, timeout=600)
        self._headers = served.headers | {"Content-Type": "application/json"}
        self._used = 0.0

    def job(self, name: str, body: bytes) -> bytes:
        """A test's answer, computed by a job that is waited for."""
        while True:
            status, text = self._post(f"/v1/tests/{name}", body)
            if status == 200:
                return text
            if status != 202:  # a job this long is asked for again: equal requests join it
                raise RuntimeError(text.decode())

    def _post(self, path: str, body: bytes) -> tuple[int, bytes]:
        if time.monotonic() - self._used > IDLE_SECONDS:
            self._http.close()  # the server hangs up on a quiet connection after 5 s
        self._http.request("POST", path, body, self._headers | {"Prefer": "respond-async, wait=50"})
        answer = self._http.getresponse()
        text = answer.read()
        self._used = time.monotonic()
        return answer.status, text


def seconds(work: Callable[[], Any]) -> float:
    """How long it took."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def short(number: int) -> bytes:
    """Counts that no other request of the row has."""
    counts = {"both_correct": 50 + number, "only_baseline": 7, "only_candidate": 19, "both_wrong": 30}
    return json.dumps(counts).encode()


@row(
    "one-shard job over HTTP, enqueued, computed in the pool, answered", group=GROUP,
    peer="Dask's own round trip", bar=4, at_most=True, note=f"middle of {SHORT_JOBS}, in turns, same task and TLS",
)  # fmt: skip
def _round_trip() -> Measured:
    from service.jobs import tasks
    from service.jobs.dask_pool import DaskPool

    with contextlib.ExitStack() as stack:
        connection = Connection(stack.enter_context(service()))
        pool = stack.enter_context(contextlib.closing(DaskPool(os.cpu_count() or 1)))
        pool.submit(tasks.compute_whole, "mcnemar", 1, short(-1)).result()
        client = pool._client
        assert client is not None

        def dask(body: bytes) -> None:
            client.submit(tasks.compute_whole, "mcnemar", 1, body, pure=False).result()

        ours, theirs = [], []
        for number in range(WARM_JOBS + SHORT_JOBS):
            body = short(number)
            theirs.append(seconds(lambda: dask(body)))  # noqa: B023
            ours.append(seconds(lambda: connection.job("mcnemar", body)))  # noqa: B023
    mine, other = median(ours[WARM_JOBS:]), median(theirs[WARM_JOBS:])
    return Measured(mine, other, mine / other)


def long(seed: int) -> bytes:
    """Some seconds of drawing on one core."""
    rng = np.random.default_rng(seed)
    arms = [{name: rng.integers(0, 4, LONG_ITEMS).tolist() for name in ("tp", "fp", "fn")} for _ in range(2)]
    draws = {"n_resamples": LONG_DRAWS, "seed": seed}
    return json.dumps({"metric": "f1", "baseline": arms[0], "candidate": arms[1], **draws}).encode()


def draw(body: bytes, first: int, last: int) -> None:
    """A bare process' share of the blocks."""
    from service.stats.shared.declaring import registry

    test = registry.find("randomization")
    test.draw(test.request.model_validate_json(body), range(first, last))


def answer(body: bytes) -> dict[str, Any]:
    """The whole test in this process."""
    from service.stats.shared.declaring import registry

    test = registry.find("randomization")
    answered = test.answer(test.request.model_validate_json(body)).model_dump_json()
    return dict(json.loads(answered))


def blocks(body: bytes) -> int:
    """How many the request has."""
    from service.stats.shared.declaring import registry

    test = registry.find("randomization")
    return test.block_count(test.request.model_validate_json(body))


@row(
    "a second worker for a long Monte-Carlo job", group=GROUP, peer="a second bare process", bar=0.9,
    note="speed-up of ours over the speed-up of bare processes on the same blocks; the answers are equal bytes",
)  # fmt: skip
def _speed_up() -> Measured:
    with contextlib.ExitStack() as stack:
        one, two = (
            Connection(stack.enter_context(service(settings={"FORELOCK_POOL_WORKERS": str(workers)})))
            for workers in (1, 2)
        )
        bare = stack.enter_context(
            ProcessPoolExecutor(2, get_context("spawn"), initializer=os.nice, initargs=(NICENESS,))
        )
        half = blocks(long(0)) // 2

        def alone(body: bytes) -> None:
            bare.submit(draw, body, 0, 2 * half).result()

        def halves(body: bytes) -> None:
            for each in [bare.submit(draw, body, part * half, (part + 1) * half) for part in (0, 1)]:
                each.result()

        _warm(one, two, halves)
        ours, theirs = [], []
        for number in range(ROUNDS):
            body, answers = long(number), []
            first = seconds(lambda: answers.append(one.job("randomization", body)))  # noqa: B023
            theirs.append(seconds(lambda: alone(body)) / seconds(lambda: halves(body)))  # noqa: B023
            ours.append(first / seconds(lambda: answers.append(two.job("randomization", body))))  # noqa: B023
            if answers[0] != answers[1] or (number == 0 and json.loads(answers[0]) != answer(body)):
                raise RuntimeError("the answer depends on the number of workers")
    ratio = median(mine / other for mine, other in zip(ours, theirs, strict=True))
    return Measured(median(ours), median(theirs), ratio, unit="times")


def _warm(one: Connection, two: Connection, halves: Callable[[bytes], None]) -> None:
    """Start both pools and the bare processes."""
    body = json.dumps(json.loads(long(0)) | {"n_resamples": 2000}).encode()
    one.job("randomization", body), two.job("randomization", body), halves(long(0))
