"""What the processes of a deployment hold: samples by role, and how fast each role grows."""

from __future__ import annotations

import contextlib
import csv
import os
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.chaos.world import World, called, descendants, tree, words

LAST = 0.7
"""The share of a run, from its end, over which growth is judged: what is loaded once is in by then."""
SIZES = {"Rss:": "rss_kib", "Pss:": "pss_kib", "Anonymous:": "anonymous_kib"}
COLUMNS = ("world", "seconds", "role", "pid", *SIZES.values(), "cpu_seconds")
CALLED = {"forelock-api": "API", "forelock-runner": "runner"}
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Growth:
    """Of all processes of one role together."""

    world: str
    role: str
    processes: int
    begin_mib: float
    """RSS, the mean of the first tenth that is judged."""
    end_mib: float
    rss_mib_per_hour: float
    own_mib_per_hour: float
    """Of memory that no file backs."""

    def __str__(self) -> str:
        return (
            f"| {self.world} | {self.role} | {self.processes} | {self.begin_mib:.1f} | {self.end_mib:.1f} "
            f"| {self.rss_mib_per_hour:+.1f} | {self.own_mib_per_hour:+.1f} |"
        )


def samples(world: World, name: str, seconds: float) -> list[dict[str, Any]]:
    """One row for every process that is there now."""
    found = []
    for pid, role in roles(world).items():
        with contextlib.suppress(OSError, ValueError):
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
            sizes = {words[0]: int(words[1]) for line in rollup if len(words := line.split()) > 1}
            found.append(
                {"world": name, "seconds": round(seconds, 1), "role": role, "pid": pid}
                | {column: sizes[field] for field, column in SIZES.items()}
                | {"cpu_seconds": cpu_of(pid)}
            )
    return found


def roles(world: World) -> dict[int, str]:
    """What every process of the service does. Tools and the database are not the service's."""
    assert world.serve is not None
    children, found = tree(), {world.serve.pid: "supervisor"}
    for kept in world.kept:
        if kept.kind != "Postgres":
            found |= dict.fromkeys(kept.pids(), kept.kind)
    for pid in children.get(world.serve.pid, []):
        found[pid] = CALLED.get(called(pid), "nursery")
    for pid in descendants(world.serve.pid, children):
        if pid not in found and "spawn_main" in words(pid):
            found[pid] = "Dask worker"
        elif pid not in found and "service.main outgoing" in words(pid):
            found[pid] = "outgoing"
        elif pid not in found and "service.nursery" in words(pid):
            found[pid] = "calculator"
    return found


def cpu_of(pid: int) -> float:
    """Seconds that a process has computed."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()[11:13]
    return (int(user) + int(system)) / _TICKS


def growth(rows: Iterable[dict[str, Any]]) -> list[Growth]:
    """Slopes by least squares over the last `LAST` of each world's samples.

    Processes of one role are added up at every moment: those that come and go count while they are there.
    """
    sums: dict[tuple[str, str], dict[float, list[float]]] = defaultdict(dict)
    pids: dict[tuple[str, str], set[int]] = defaultdict(set)
    for row in rows:
        place = row["world"], row["role"]
        at = sums[place].setdefault(float(row["seconds"]), [0.0, 0.0])
        at[0] += int(row["rss_kib"]) / 1024
        at[1] += int(row["anonymous_kib"]) / 1024
        pids[place].add(int(row["pid"]))
    found = []
    for (world, role), by_time in sums.items():
        end = max(by_time)
        times = np.array([at for at in sorted(by_time) if at >= (1 - LAST) * end])
        values = np.array([by_time[at] for at in times])
        if len(times) < 3:
            continue
        hours, tenth = times / 3600, max(1, len(times) // 10)
        rss, own = np.polyfit(hours, values, 1)[0]
        found.append(
            Growth(
                world, role, len(pids[world, role]), float(values[:tenth, 0].mean()),
                float(values[-tenth:, 0].mean()), float(rss), float(own),
            )
        )  # fmt: skip
    return found


def read(path: Path) -> list[dict[str, Any]]:
    """Samples that were written."""
    with path.open() as file:
        return list(csv.DictReader(file))


class Clock:
    """How long a run has taken, and how much of that time its processes computed."""

    def __init__(self, world: World) -> None:
        self._world, self._began = world, time.monotonic()
        self._spent = dict[int, float]()
        self.count_from_now()

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._began

    def count_from_now(self) -> None:
        """The share counts from now on."""
        self._from, self._before = time.monotonic(), self._now()

    def share(self) -> float:
        """Of one core, since it counts."""
        return (self._now() - self._before) / max(time.monotonic() - self._from, 1e-3)

    def _now(self) -> float:
        for pid in roles(self._world):
            with contextlib.suppress(OSError):
                self._spent[pid] = cpu_of(pid)
        return sum(self._spent.values())
