"""How often a ranking over a suite says anything of arms alike: `python -m tests.simulation.suite_boards [RUNS]`.

Four equal arms on tasks of 60, 30 and 15 items in turn; items are independent, or clusters suit some arms, over all
tasks or each of one task; all outcomes, or a third of them missing at random. The figures are in docs/ranking.md.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import product

import numpy as np

from service.kernels.suites.many_arms import suite_arms

ARMS, SIZES, RUNS, DRAWS, ALPHA, SEED = 4, (60, 30, 15), 300, 499, 0.05, 20_261_124
TASKS = (3, 10, 50)
MANY = 50
CLUSTERS = (0, 20, 8, -8)
"""0: independent items; so many clusters over all tasks; below 0: so many of every task."""
WORDS = {0: "none", 20: "20 over all tasks", 8: "8 over all tasks", -8: "8 of every task"}


@dataclass(frozen=True)
class World:
    """So many tasks, clusters, and perhaps gaps."""

    tasks: int
    clusters: int
    gaps: bool

    def says_anything(self, seed: int) -> bool:
        """Whether any pair of one data set is told apart."""
        rng = np.random.default_rng([SEED, self.tasks, self.clusters + 100, self.gaps, seed])
        tasks = np.repeat(np.arange(self.tasks), [SIZES[task % 3] for task in range(self.tasks)])
        level = rng.normal(0.5, 1.0, len(tasks))[:, None]
        codes, suits = None, 0.0
        if self.clusters:
            codes = rng.integers(0, abs(self.clusters), len(tasks))
            codes = codes if self.clusters > 0 else codes + tasks * -self.clusters
            codes = np.unique(codes, return_inverse=True)[1].reshape(-1)
            suits = rng.normal(0, 0.5, (codes.max() + 1, ARMS))[codes]
        right = (rng.random((len(tasks), ARMS)) < 1 / (1 + np.exp(-(level + suits)))).astype(float)
        if self.gaps:
            right[rng.random(right.shape) < 1 / 3] = np.nan
        kept = ~np.isnan(right).all(axis=1)
        if codes is not None:
            codes = np.unique(codes[kept], return_inverse=True)[1].reshape(-1)
        weights = np.full(self.tasks, 1 / self.tasks)
        units = suite_arms(right[kept], codes, tasks[kept], weights, ALPHA)
        joint = units.max_t(seed, DRAWS)
        return bool((joint.adjusted[units.squares > 0] < ALPHA).any())


def worlds() -> list[World]:
    """All of the table, in its order; of 50 tasks those with independent items or 20 clusters, which are quick."""
    every = (World(*each) for each in product(TASKS, CLUSTERS, (False, True)))
    return [world for world in every if world.tasks < MANY or world.clusters in (0, 20)]


def row(world: World, runs: int) -> str:
    """A line of the table: the share of so many data sets in which something is said."""
    missing = "a third" if world.gaps else "none"
    share = sum(world.says_anything(seed) for seed in range(runs)) / max(runs, 1)
    return f"| {world.tasks} | {WORDS[world.clusters]} | {missing} | {share:.3f} |"


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    for world in worlds():
        print(row(world, runs), flush=True)
