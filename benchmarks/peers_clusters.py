"""`python -m benchmarks.peers_clusters [--runs N] [--write]`: the gate where clusters are few or of unequal sizes.

How often arms that are equally good are called different: by `forelock gate --cluster`, and by what others print of a
paired difference. Which arm wins an item depends on its cluster, and on average neither wins.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from scipy import special, stats

PAGE = Path(__file__).resolve().parent.parent / "docs" / "peers.md"
MARKS = re.compile(r"(<!-- clusters -->\n).*?(\n<!-- end of clusters -->)", re.DOTALL)
ALPHA, DISCORDANT, SIZE, SEED, RUNS, PROCESSES = 0.05, 0.3, 20, 20_261_124, 1000, 2
CLUSTERS, ICCS = (3, 5, 10, 20, 100), (0.0, 0.05, 0.3)
SIZES = ("equal", "one holds two thirds", "log-normal 1")
METHODS = ("no clusters", "CR0, normal", "CR1, t(G - 1)", "gate")


def draw(kind: str, g: int, icc: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Differences -1, 0 and 1 of items, and the cluster of each: its shares are Dirichlet with that correlation."""
    if kind == "equal":
        sizes = np.full(g, SIZE)
    elif kind == "one holds two thirds":
        sizes = np.array([2 * SIZE * (g - 1), *[SIZE] * (g - 1)])
    else:
        sizes = np.maximum(1, np.round(rng.lognormal(np.log(15), 1.0, g))).astype(np.int64)
    shares = np.array([DISCORDANT / 2, DISCORDANT / 2, 1 - DISCORDANT])
    weights = (
        np.tile(shares, (g, 1)) if icc == 0 else rng.standard_gamma(shares * (1 - icc) / icc, size=(g, 3))
    )
    sums = weights.sum(axis=1, keepdims=True)
    cells = rng.multinomial(
        sizes, np.divide(weights, sums, out=np.tile([0.0, 0.0, 1.0], (g, 1)), where=sums > 0)
    )
    return np.concatenate([np.repeat([1, -1, 0], counts) for counts in cells]), np.repeat(np.arange(g), sizes)


def differ(difference: np.ndarray, codes: np.ndarray) -> Iterator[bool]:
    """Whether each method tells a difference, in their order."""
    from service.domain.comparison.compare import compare
    from service.domain.comparison.request import ComparisonRequest

    wins, losses = int((difference > 0).sum()), int((difference < 0).sum())
    yield bool(wins + losses) and stats.binomtest(wins, wins + losses).pvalue < ALPHA  # McNemar's exact test
    n, g = len(difference), int(codes.max()) + 1
    sums = np.bincount(codes, difference - difference.mean(), minlength=g)
    cr0 = float(np.sqrt((sums**2).sum())) / n
    for error, critical in (
        (cr0, special.ndtri(1 - ALPHA / 2)),
        (cr0 * np.sqrt(g / (g - 1)), special.stdtrit(g - 1, 1 - ALPHA / 2)),
    ):
        yield abs(float(difference.mean())) > critical * error + 1e-15
    level = np.arange(n) % 2
    baseline = np.where(difference == 1, 0, np.where(difference == -1, 1, level))
    ids, labels = [f"q{at}" for at in range(n)], [f"c{code}" for code in codes]
    arms = {
        name: {"item_ids": ids, "values": values.astype(float).tolist(), "clusters": labels}
        for name, values in (("baseline", baseline), ("candidate", baseline + difference))
    }
    yield compare(ComparisonRequest.model_validate(arms)).outcome in ("better", "worse")


def rates(kind: str, icc: float, g: int, runs: int) -> np.ndarray:
    """By method the share of data sets in which equal arms are called different."""
    rng = np.random.default_rng([SEED, SIZES.index(kind), g, round(100 * icc)])
    return np.mean([list(differ(*draw(kind, g, icc, rng))) for _ in range(runs)], axis=0)


def table(runs: int, processes: int) -> str:
    """The page's table."""
    lines = [
        f"| sizes | ICC | {' | '.join(f'{g} clusters' for g in CLUSTERS)} |",
        "|---|--:|" + "---|" * len(CLUSTERS),
    ]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        asked = {
            (kind, icc): [pool.submit(rates, kind, icc, g, runs) for g in CLUSTERS]
            for kind in SIZES
            for icc in ICCS
        }
        for (kind, icc), cells in asked.items():
            shown = (" / ".join(f"{rate:.3f}" for rate in cell.result()[:-1]) for cell in cells)
            both = (f"{text} / **{cell.result()[-1]:.3f}**" for text, cell in zip(shown, cells, strict=True))
            lines.append(f"| {kind} | {icc:g} | {' | '.join(both)} |")
            print(lines[-1], flush=True)
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and with `--write` put the table into the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=RUNS, help=f"data sets of a cell (default {RUNS})")
    parser.add_argument(
        "--processes", type=int, default=PROCESSES, help=f"side by side (default {PROCESSES})"
    )
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    options = parser.parse_args(arguments)
    measured = table(options.runs, options.processes)
    if options.write:
        page = PAGE.read_text("utf-8")
        PAGE.write_text(MARKS.sub(lambda match: match[1] + measured + match[2], page), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
