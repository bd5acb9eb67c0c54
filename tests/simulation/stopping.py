"""How often each stopping rule of a plan errs: `python -m tests.simulation.stopping [--runs N] [--workers N]`.

Every run draws outcomes without a true difference for a whole plan and asks, along the locked order,
what the rule would have ended with. It goes by the parts that `service.domain.verdicts.stopping` puts together
(the order, the looks, the tests), without the plan around them; tests/simulation/test_stopping.py shows
that both end alike.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from service.domain.plans.items.unit_order import in_order, look_units
from service.domain.plans.manifest import Manifest
from service.domain.plans.sections.population import Clusters, Population
from service.stats.mcnemar import McNemarRequest, mcnemar
from service.stats.sequential.anytime import judge_e, judge_sequence
from service.stats.shared.data.orders import OrderOptions, arrange
from service.stats.shared.methods.looks import Design, observe

PAGE = Path(__file__).resolve().parents[2] / "docs" / "stopping-rules.md"
BEGIN, END = "<!-- simulated -->", "<!-- end of what is simulated -->"
RUNS, CHUNK, SEED, ALPHA = 20_000, 1_000, 20_270_301, 0.05
LOOKS = 4
SIDE = 3.290526731491926
"""Standard errors in which 99.9 % of simulations lie."""

RULES = ("fixed_n", "obrien_fleming", "pocock", "e_process", "confidence_sequence")


@dataclass(frozen=True)
class World:
    """A plan without a true difference: its size, its clusters, and how often the arms differ."""

    name: str
    text: str
    n: int
    clusters: int | None
    discordant: float
    drift: float = 0.0
    """How far a cluster's own difference lies from 0, either way alike."""
    refused: bool = False
    """Lint refuses planned looks here: its rates show why."""
    sorted: bool = False
    """Items of a kind stand together in the manifest: one kind favours the baseline, one the candidate."""


WORLDS = {
    each.name: each
    for each in (
        World("items", "400 independent items, 20% discordant", 400, None, 0.2),
        World("few discordant", "400 independent items, 6% discordant", 400, None, 0.06),
        World(
            "sorted manifest",
            "400 items, 20% discordant, half of them favouring either arm by 10 points, sorted in the manifest",
            400, None, 0.2, 0.1, sorted=True,
        ),
        World(
            "60 clusters", "60 clusters of 10 items, 20% discordant, clusters differ by 15 points",
            600, 60, 0.2, 0.15,
        ),
        World(
            "24 clusters", "24 clusters of 20 items, otherwise alike: 6 at the first of 4 looks, which lint refuses",
            480, 24, 0.2, 0.15, refused=True,
        ),
        World(
            "40 clusters", "40 clusters of 12 items, otherwise alike: 10 at the first of 4 looks, which lint refuses",
            480, 40, 0.2, 0.15, refused=True,
        ),
    )
}  # fmt: skip


@cache
def population(world: World) -> tuple[Population, Manifest]:
    """The plan's population with its items."""
    labels = None if world.clusters is None else [f"c{k * world.clusters // world.n}" for k in range(world.n)]
    clusters = None if world.clusters is None else Clusters(key="c", n=world.clusters)
    made = Population(id="p", dataset="D", n=world.n, clusters=clusters, order_seed=SEED)
    return made, Manifest.create([f"i{k}" for k in range(world.n)], labels)


def draw(world: World, run: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both arms in manifest order: differences with mean 0 over such plans."""
    rng = np.random.default_rng([SEED, list(WORLDS).index(world.name), run])
    size = world.n // (world.clusters or 1)
    signs = rng.choice([-1, 1], world.clusters) if world.clusters else np.ones(1)
    own = np.repeat(world.drift * signs, size)
    if world.sorted:
        own = world.drift * np.where(np.arange(world.n) < world.n // 2, -1, 1)
    elif world.clusters is None:
        own = np.zeros(world.n)
    uniform = rng.random(world.n)
    wins = uniform < (world.discordant + own) / 2
    losses = ~wins & (uniform < world.discordant)
    baseline = np.where(wins, 0.0, np.where(losses, 1.0, rng.integers(0, 2, world.n)))
    return baseline, np.where(wins, 1.0, np.where(losses, 0.0, baseline))


def rejects(world: World, rule: str, run: int) -> bool:
    """Whether a rule ends a run by rejecting what is true."""
    made, manifest = population(world)
    baseline, candidate = draw(world, run)
    order = in_order(made, manifest)
    labels = None if manifest.clusters is None else [manifest.clusters[k] for k in order.tolist()]
    if rule == "fixed_n" and labels is None:
        return (
            mcnemar(McNemarRequest(baseline=baseline.tolist(), candidate=candidate.tolist())).p_value < ALPHA
        )
    data = arrange(baseline[order], candidate[order], labels, OrderOptions(order="locked_seed"))
    looks = look_units(made, 1 if rule == "fixed_n" else LOOKS)
    if rule in ("fixed_n", "obrien_fleming", "pocock"):
        low, high = _limits(looks, rule)
        seen = (observe(data, units).z for units in looks)
        return any(z is not None and not a < z < b for z, a, b in zip(seen, low, high, strict=True))
    bounded = (1.0, None if labels is None else world.n // (world.clusters or 1))
    if rule == "e_process":
        return bool(judge_e(data, "two-sided", ALPHA, bounded, {}, {})["decision"] == "reject")
    return bool(judge_sequence(data, ALPHA, bounded, None, {})["decision"] == "reject")


@cache
def _limits(looks: tuple[int, ...], rule: str) -> tuple[list[float], list[float]]:
    boundary = "pocock_spending" if rule == "pocock" else "obrien_fleming_spending"
    return Design(looks, boundary, "two-sided", ALPHA).limits()  # type: ignore[arg-type]


def count(job: tuple[str, str, int, int]) -> tuple[str, str, int]:
    """How many of some runs reject."""
    name, rule, start, stop = job
    return name, rule, sum(rejects(WORLDS[name], rule, run) for run in range(start, stop))


def jobs(runs: int) -> Iterator[tuple[str, str, int, int]]:
    """All runs, in chunks."""
    for name in WORLDS:
        for rule in RULES:
            for start in range(0, runs, CHUNK):
                yield name, rule, start, min(start + CHUNK, runs)


def table(counts: dict[tuple[str, str], int], runs: int) -> str:
    """The table of the page."""
    half = SIDE * math.sqrt(ALPHA * (1 - ALPHA) / runs)
    lines = [
        f"{runs:,} plans without a true difference per entry; nominal {ALPHA:g}, and {ALPHA - half:.4f} to "
        f"{ALPHA + half:.4f} is where 99.9% of such simulations lie if that is the true rate.",
        "",
        f"| plan | one look at n | {LOOKS} looks, O'Brien-Fleming | {LOOKS} looks, Pocock | e-process, read after "
        "every unit | confidence sequence, read after every unit |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for world in WORLDS.values():
        rates = [counts[world.name, rule] / runs for rule in RULES]
        lines.append(f"| {world.text} | " + " | ".join(f"{rate:.4f}" for rate in rates) + " |")
    return "\n".join(lines)


def main() -> None:
    """Write the table into the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.stopping", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    counts: dict[tuple[str, str], int] = {}
    with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
        for name, rule, found in pool.map(count, jobs(options.runs)):
            counts[name, rule] = counts.get((name, rule), 0) + found
    text = PAGE.read_text("utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n\n{table(counts, options.runs)}\n\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
