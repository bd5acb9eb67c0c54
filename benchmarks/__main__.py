"""`./do bench [--json FILE]`: seconds of ours and of a peer, their ratio, and the bar it has to reach.

A ratio of 10 means that ours answers ten times faster. Peers compute less than we do where they
give a p-value alone; `bar` says what is asked all the same, and a missed bar is exit status 1.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from service.stats import registry

REPEATS = 5
SEED = 20260101


@dataclass(frozen=True, slots=True)
class Row:
    """One question: both times in seconds, `ratio` = peer / ours, and the least ratio asked for."""

    name: str
    ours: float
    peer: float
    ratio: float
    bar: float


def seconds(task: Callable[[], object]) -> float:
    """The best of several runs, after one that warms caches."""
    task()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return min(times)


def compare(name: str, ours: Callable[[], object], peer: Callable[[], object], bar: float) -> Row:
    """Time both."""
    mine, theirs = seconds(ours), seconds(peer)
    return Row(name, mine, theirs, theirs / mine, bar)


def answer(name: str, **request: object) -> Callable[[], object]:
    """Our whole way: validate the request, compute, wrap with warnings and provenance."""
    test = registry.find(name)
    body = json.dumps(request)
    return lambda: test.answer(test.request.model_validate_json(body))


def fourfold(baseline: list[int], candidate: list[int]) -> np.ndarray:
    """The table statsmodels asks for."""
    return np.bincount(2 * np.asarray(baseline) + np.asarray(candidate), minlength=4).reshape(2, 2)


def rows() -> list[Row]:
    """Every comparison."""
    generator = np.random.default_rng(SEED)
    baseline = generator.integers(0, 2, 1000)
    candidate = np.where(generator.random(1000) < 0.2, 1 - baseline, baseline)
    columns = {"baseline": baseline.tolist(), "candidate": candidate.tolist()}
    body = json.dumps(columns)
    difference = (candidate - baseline).astype(float)
    return [
        compare(
            "mcnemar, exact, 1,000 items, from JSON / statsmodels, p-value alone, from JSON",
            answer("mcnemar", **columns),
            lambda: mcnemar(fourfold(**json.loads(body)), exact=True),
            bar=0.2,
        ),
        compare(
            "paired-bootstrap, binary, 1,000 items, exact / scipy, 10,000 draws",
            answer("paired-bootstrap", **columns),
            lambda: stats.bootstrap(
                (difference,),
                np.mean,
                n_resamples=10_000,
                method="percentile",
                rng=np.random.default_rng(SEED),
            ),
            bar=10,
        ),
    ]


def main() -> int:
    """Print the rows; returns the exit status."""
    parser = argparse.ArgumentParser(prog="./do bench", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to FILE")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = rows()
    for row in found:
        verdict = "" if row.ratio >= row.bar else "   BELOW THE BAR"
        print(
            f"{row.name}\n  ours {1e3 * row.ours:.3f} ms, peer {1e3 * row.peer:.3f} ms, "
            f"ratio {row.ratio:.2f}, bar {row.bar:g}{verdict}"
        )
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in found], indent=2) + "\n", "utf-8")
    return int(any(row.ratio < row.bar for row in found))


if __name__ == "__main__":
    sys.exit(main())
