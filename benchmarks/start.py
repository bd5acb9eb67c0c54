"""What a start costs on an empty data directory: processor seconds until it answers, and memory at rest."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import Measured, row
from benchmarks.servers import service

MIB = 1024
TICK = os.sysconf("SC_CLK_TCK")


def descendants(pid: int) -> Iterator[int]:
    """The process and everything below it."""
    yield pid
    for thread in Path(f"/proc/{pid}/task").iterdir():
        for child in (thread / "children").read_text().split():
            yield from descendants(int(child))


def parent(pid: int) -> int:
    """The process that waits for it: of an API process, `forelock serve`."""
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def seconds(pid: int) -> float:
    """Processor time of a process and of the children it has buried."""
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:15])) / TICK


def mebibytes(pid: int, kind: str) -> float:
    """Rss, or Pss, which counts a page that n processes share as an n-th of a page."""
    match = re.search(rf"^{kind}:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    return int(match[1]) / MIB if match else 0.0


@row(
    "`forelock serve` until it answers: processor seconds of all its processes",
    group="start", peer="-", bar=3.0, at_most=True, note="empty data directory: schema, keys and first key are made",
)  # fmt: skip
def _processor() -> Measured:
    with service() as served, served.client() as client:
        client.get("/health/ready").raise_for_status()
        taken = sum(map(seconds, descendants(parent(served.pid))))
    return Measured(taken, None, taken)


@row(
    "`forelock serve` at rest: memory of all its processes (PSS)",
    group="start", peer="the same as RSS, which counts shared pages once per process", bar=300.0, at_most=True,
    note="bar: MiB of PSS",
)  # fmt: skip
def _memory() -> Measured:
    with service() as served, served.client() as client:
        client.get("/v1/tests").raise_for_status()
        pids = list(descendants(parent(served.pid)))
        held, counted = (sum(mebibytes(pid, kind) for pid in pids) for kind in ("Pss", "Rss"))
    return Measured(held, counted, held, unit="MiB")
