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
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

PAGE = Path(__file__).resolve().parent.parent / "docs" / "peers.md"
CONVERSATIONS = np.array([152, 81, 152, 199, 178, 123, 150, 191, 156, 158])
"""Questions of LoCoMo's ten conversations, the adversarial ones left out."""
DISCORDANT, ICC = 0.15, 0.004
SIZES = ((10, 1), (20, 2), (100, 10))
"""Numbers of conversations, and by how much they are shorter than LoCoMo's: the items stay about as many."""
RUNS, LEAST, SECONDS = 4000, 60, 8.0
"""Data sets for the gate; the fewest, and the CPU seconds, for every other tool and size."""
RESAMPLES = 100
"""Of paired-eval, whose default of 10,000 takes half a minute for each data set."""
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
    from service.local import compare

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


TOOLS: tuple[tuple[str, str, Callable[[], Told]], ...] = (
    ("forelock-server", "gate, --cluster", lambda: ours(clustered=True)),
    ("forelock-server", "gate without clusters", lambda: ours(clustered=False)),
    ("evalsig", "compare, cluster=", lambda: evalsig(clustered=True)),
    ("evalsig", "compare", lambda: evalsig(clustered=False)),
    ("evalstats", "compare", evalstats),
    ("paired-eval", f"paired_compare, {RESAMPLES} resamples", paired_eval),
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


def measure(name: str, told: Told, clusters: int, shorter: int, runs: int, seconds: float) -> Row:
    """Run until the runs or the seconds are used up."""
    times: list[float] = []
    wrong = done = 0
    while done < runs and (done < LEAST or sum(times) < seconds):
        data = draw(clusters, shorter, done)
        start = time.process_time()
        wrong += told(data)
        times.append(time.process_time() - start)
        done += 1
    return Row(name, clusters, done, wrong, statistics.median(times))


def rows(runs: int, seconds: float) -> Iterator[Row]:
    """Every tool that is installed, at every number of conversations."""
    for package, way, make in TOOLS:
        try:
            name = f"{package} {version(package)}: {way}"
            told = make()
        except (PackageNotFoundError, ImportError) as missing:
            print(f"left out: {package} ({missing})", flush=True)
            continue
        for clusters, shorter in SIZES:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                own = "--cluster" in way
                row = measure(name, told, clusters, shorter, runs, math.inf if own else seconds)
            print(
                f"{name:<46} {clusters:>4} {row.rate:.3f} ± {row.error:.3f} of {row.runs}, {row.seconds:.4f} s",
                flush=True,
            )
            yield row


def table(found: list[Row]) -> str:
    """The page's table."""
    lines = ["| Tool | 10 conversations | 20 | 100 | CPU seconds at 10, 20, 100 |", "|---|---|---|---|---|"]
    for tool in dict.fromkeys(row.tool for row in found):
        own = [row for row in found if row.tool == tool]
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
        "--seconds", type=float, default=SECONDS, help="CPU seconds for each other tool and size"
    )
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    options = parser.parse_args(arguments)
    found = list(rows(options.runs, options.seconds))
    print(table(found))
    if options.write:
        marks = re.compile(r"(<!-- measured -->\n).*?(\n<!-- end -->)", re.DOTALL)
        page = PAGE.read_text("utf-8")
        PAGE.write_text(marks.sub(lambda found_: found_[1] + table(found) + found_[2], page), "utf-8")
    missed = [row for row in found if "--cluster" in row.tool and not 0.04 <= row.rate <= 0.06]
    for row in missed:
        print(f"MISSED {row.tool} at {row.clusters}: {row.rate:.4f} is outside .04 to .06")
    return int(bool(missed))


if __name__ == "__main__":
    raise SystemExit(main())
