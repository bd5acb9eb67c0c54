"""`python -m benchmarks.peers_gate [--write]`: how often the gate and its peers call equal arms different.

LoCoMo-shaped data: conversations of its sizes, right or wrong, effects of the conversation on which arm wins, and no
difference on average. Every tool gets the same data sets; slower tools get fewer of them. Peers come from the
dependency group `peers`; one that is not installed is left out and named.
"""

from __future__ import annotations

import argparse
import math
import re
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

PAGE = Path(__file__).resolve().parent.parent / "docs" / "peers.md"
CONVERSATIONS = np.array([152, 81, 152, 199, 178, 123, 150, 191, 156, 158])
"""Questions of LoCoMo's ten conversations, the adversarial ones left out."""
DISCORDANT, ICC = 0.15, 0.004
SIZES = ((10, 1), (20, 2), (100, 10))
"""Numbers of conversations, and by how much they are shorter than LoCoMo's: the items stay about as many."""
RUNS, LEAST, SECONDS, PROCESSES = 6000, 60, 15.0, 2
"""Data sets for the gate; for every other tool and size the fewest, and the CPU seconds as a rule."""
RESAMPLES = 100
"""Of paired-eval, whose default of 10,000 takes 8 s for each data set."""
ALPHA = 0.05


@dataclass(frozen=True, eq=False)
class Data:
    """One data set: columns (n,), and each item's conversation."""

    baseline: np.ndarray
    candidate: np.ndarray
    labels: list[str]

    @property
    def ids(self) -> list[str]:
        """An id for each item."""
        return [f"q{at}" for at in range(len(self.labels))]


def draw(clusters: int, shorter: int, seed: int) -> Data:
    """Conversations whose shares of wins and losses vary, with equal means: no difference between the arms."""
    rng = np.random.default_rng([seed, clusters])
    sizes = np.maximum(CONVERSATIONS[np.arange(clusters) % len(CONVERSATIONS)] // shorter, 2)
    shares = np.array([DISCORDANT / 2, DISCORDANT / 2, 1 - DISCORDANT])
    weights = rng.standard_gamma(shares * (1 - ICC) / ICC, size=(clusters, 3))
    cells = rng.multinomial(sizes, weights / weights.sum(axis=1, keepdims=True))
    difference = np.concatenate([np.repeat([1, -1, 0], counts) for counts in cells])
    level = rng.integers(0, 2, len(difference))
    base = np.where(difference == 1, 0, np.where(difference == -1, 1, level))
    labels = [f"conversation-{at}" for at, size in enumerate(sizes) for _ in range(size)]
    return Data(base.astype(float), (base + difference).astype(float), labels)


Told = Callable[[Data], bool]
"""Whether a tool tells a difference."""


def ours(*, clustered: bool) -> Told:
    """The gate, as the command and the service answer it."""
    from service.offline.local import compare

    def told(data: Data) -> bool:
        arms: dict[str, Any] = {
            name: {"item_ids": data.ids, "values": values.tolist()}
            | ({"clusters": data.labels} if clustered else {})
            for name, values in (("baseline", data.baseline), ("candidate", data.candidate))
        }
        return compare(arms)["answer"]["outcome"] in ("better", "worse")

    return told


def evalsig(*, clustered: bool) -> Told:
    """Its `compare`, told of the clusters or not."""
    from evalsig import ItemResult, RunFrame, compare

    def frame(data: Data, values: np.ndarray, name: str) -> Any:
        rows = zip(data.ids, values.tolist(), data.labels, strict=True)
        return RunFrame(name, name, "task", "accuracy", [ItemResult(*row) for row in rows])

    def told(data: Data) -> bool:
        arms = frame(data, data.baseline, "baseline"), frame(data, data.candidate, "candidate")
        return bool(compare(*arms, cluster="conversation" if clustered else None).significant)

    return told


def evalstats() -> Told:
    """Its `compare` of two models; it takes no clusters."""
    import pandas
    from evalstats import compare, load_from

    def told(data: Data) -> bool:
        n = len(data.labels)
        values = np.concatenate([data.baseline, data.candidate])
        table = pandas.DataFrame({"model": ["a"] * n + ["b"] * n, "item": data.ids * 2, "score": values})
        pairs = compare(load_from(table), factors="model").pairwise
        return bool(pairs.results["a", "b"].p_value < ALPHA)

    return told


def paired_eval() -> Told:
    """Its `paired_compare`; it takes no clusters."""
    from paired_eval import paired_compare

    def told(data: Data) -> bool:
        columns = data.baseline.tolist(), data.candidate.tolist()
        return bool(paired_compare(*columns, n_resamples=RESAMPLES)["p_value"] < ALPHA)

    return told


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as it is asked, and the CPU seconds it gets at each number of conversations."""

    package: str
    way: str
    make: Callable[[], Told]
    seconds: float = SECONDS

    @property
    def judged(self) -> bool:
        """The one whose level is held to the bar."""
        return self.seconds == math.inf


TOOLS = (
    Tool("forelock-server", "gate, --cluster", lambda: ours(clustered=True), math.inf),
    Tool("forelock-server", "gate without clusters", lambda: ours(clustered=False)),
    Tool("evalsig", "compare, cluster=", lambda: evalsig(clustered=True), 3 * SECONDS),
    Tool("evalsig", "compare", lambda: evalsig(clustered=False)),
    Tool("evalstats", "compare", evalstats),
    Tool("paired-eval", f"paired_compare, {RESAMPLES} resamples", paired_eval),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One tool at one number of conversations."""

    tool: str
    clusters: int
    runs: int
    wrong: int
    seconds: float

    @property
    def rate(self) -> float:
        """Realised type I error."""
        return self.wrong / self.runs

    @property
    def error(self) -> float:
        """Its standard error."""
        return math.sqrt(max(self.rate * (1 - self.rate), 1 / self.runs) / self.runs)


def measure(at: int, size: int, runs: int) -> Row:
    """A tool by its place, at a size by its place: until the runs or the seconds are used up."""
    tool, (clusters, shorter) = TOOLS[at], SIZES[size]
    told = tool.make()
    times: list[float] = []
    wrong = done = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told(draw(clusters, shorter, runs))  # what is imported on the first answer is not counted
        while done < runs and (done < LEAST or sum(times) < tool.seconds):
            data = draw(clusters, shorter, done)
            start = time.process_time()
            wrong += told(data)
            times.append(time.process_time() - start)
            done += 1
    name = f"{tool.package} {version(tool.package)}: {tool.way}"
    return Row(name, clusters, done, wrong, statistics.median(times))


def installed() -> Iterator[int]:
    """Places of the tools that are here; the others are named."""
    for at, tool in enumerate(TOOLS):
        try:
            version(tool.package)
            tool.make()
        except (PackageNotFoundError, ImportError) as missing:
            print(f"left out: {tool.package} ({missing})", flush=True)
            continue
        yield at


def rows(runs: int, processes: int) -> Iterator[Row]:
    """Every tool that is installed, at every number of conversations."""
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        asked = [pool.submit(measure, at, size, runs) for at in installed() for size in range(len(SIZES))]
        for each in asked:
            row = each.result()
            print(
                f"{row.tool:<50} {row.clusters:>4} {row.rate:.3f} ± {row.error:.3f} of {row.runs}, {row.seconds:.4f} s",
                flush=True,
            )
            yield row


def table(rows_: list[Row]) -> str:
    """The page's table."""
    lines = ["| Tool | 10 conversations | 20 | 100 | CPU seconds at 10, 20, 100 |", "|---|---|---|---|---|"]
    for tool in dict.fromkeys(row.tool for row in rows_):
        own = [row for row in rows_ if row.tool == tool]
        rates = " | ".join(f"{row.rate:.3f} ± {row.error:.3f} ({row.runs})" for row in own)
        lines.append(f"| {tool} | {rates} | {', '.join(f'{row.seconds:.3f}' for row in own)} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and with `--write` put the table into the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--runs", type=int, default=RUNS, help=f"data sets for each tool and size (default {RUNS})"
    )
    parser.add_argument(
        "--processes", type=int, default=PROCESSES, help=f"side by side (default {PROCESSES})"
    )
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    options = parser.parse_args(arguments)
    measured = list(rows(options.runs, options.processes))
    print(table(measured))
    if options.write:
        marks = re.compile(r"(<!-- measured -->\n).*?(\n<!-- end -->)", re.DOTALL)
        page = PAGE.read_text("utf-8")
        PAGE.write_text(marks.sub(lambda found_: found_[1] + table(measured) + found_[2], page), "utf-8")
    judged = {tool.way for tool in TOOLS if tool.judged}
    missed = [
        row for row in measured if row.tool.partition(": ")[2] in judged and not 0.04 <= row.rate <= 0.06
    ]
    for row in missed:
        print(f"MISSED {row.tool} at {row.clusters}: {row.rate:.4f} is outside .04 to .06")
    return int(bool(missed))


if __name__ == "__main__":
    raise SystemExit(main())
