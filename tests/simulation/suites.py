"""Measure and write docs/suites-coverage.md: `python -m tests.simulation.suites [--runs N]`.

How often the interval of a suite holds the true mean where clusters span its tasks, and how often a task is said to
have lost where none has.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import special, stats

from service.kernels.suites.design import Design
from service.kernels.suites.heterogeneity import new_tasks
from service.kernels.suites.joint import joint
from service.stats.shared.methods.weighing import Weighed
from service.stats.suite.request import SuiteRequest
from service.stats.suite.working import Working

PAGE = Path(__file__).resolve().parents[2] / "docs" / "suites-coverage.md"
LEVEL, TAIL, SEED, RUNS, FAMILY_RUNS, DRAWS = 0.95, 0.025, 20_261_125, 400, 300, 500
TASKS, CLUSTERS = (3, 10, 50), (0, 8, 20, 100)
SIZES = (400, 60, 25)
METHODS = ("items pooled", "CR2 t", "suite")
SCORES = ((0.5, 0.0), (0.5, 0.2), (0.9, 0.1), (0.98, 0.1))
"""Share of right items, and intraclass correlation."""
DIFFERENCES = ((0.3, 0.0), (0.3, 0.6), (0.1, 0.6), (0.02, 0.0))
"""Share of items on which two arms differ, and how far a cluster leans to one of them."""


@dataclass(frozen=True)
class Cell:
    """A world: what is measured, tasks, clusters (0: items are independent), and its two numbers."""

    paired: bool
    tasks: int
    clusters: int
    first: float
    second: float

    def design(self, rng: np.random.Generator) -> Design:
        """Tasks of 400, 60 and 25 items in turn; every item in any of the clusters, which so span all tasks."""
        tasks = np.repeat(np.arange(self.tasks), [SIZES[task % 3] for task in range(self.tasks)])
        units = rng.integers(0, self.clusters, len(tasks)) if self.clusters else np.arange(len(tasks))
        return Design(tasks, np.unique(units, return_inverse=True)[1].reshape(-1))

    def column(self, design: Design, rng: np.random.Generator) -> np.ndarray:
        """Right and wrong by clusters with shares of their own, or differences by clusters that lean to either arm."""
        units, n = design.units, len(design.units)
        if self.paired:
            lean = rng.choice([-self.second, self.second], design.n_units)
            up = rng.random(n) < 0.5 + lean[units] / 2
            return np.where(rng.random(n) < self.first, np.where(up, 1.0, -1.0), 0.0)
        own = np.full(design.n_units, self.first)
        if self.second:
            odds = (1 - self.second) / self.second
            own = rng.beta(self.first * odds, (1 - self.first) * odds, design.n_units)
        return (rng.random(n) < own[units]).astype(np.float64)

    def weighed(self, rng: np.random.Generator) -> Weighed:
        """A data set of right and wrong, tasks of equal weight."""
        design = self.design(rng)
        column, weights = self.column(design, rng), np.full(self.tasks, 1 / self.tasks)
        return Weighed(design, column, weights, np.zeros(self.tasks), np.ones(self.tasks), self.paired)

    @property
    def generator(self) -> np.random.Generator:
        """Of this world alone."""
        numbers = (self.tasks, self.clusters, round(100 * self.first), round(100 * self.second))
        return np.random.default_rng([SEED, int(self.paired), *numbers])


def intervals(weighed: Weighed) -> Iterator[tuple[float, float]]:
    """By every method, in their order."""
    column, mean = weighed.column, weighed.mean
    half = -float(special.ndtri(TAIL)) * column.std(ddof=1) / np.sqrt(len(column))
    yield mean - half, mean + half
    half = -float(special.stdtrit(weighed.df, TAIL)) * np.sqrt(weighed.variance) * weighed.unit
    yield mean - half, mean + half
    assert weighed.bounds is not None
    yield weighed.bounds.ends(TAIL)


def coverage(cell: Cell, runs: int) -> list[float]:
    """By method the share of data sets whose interval holds the truth."""
    rng, truth = cell.generator, 0.0 if cell.paired else cell.first
    ends = np.array([list(intervals(cell.weighed(rng))) for _ in range(runs)])
    held = (ends[:, :, 0] <= truth + 1e-12) & (ends[:, :, 1] >= truth - 1e-12)
    return [float(rate) for rate in held.mean(axis=0)]


def family(cell: Cell, runs: int) -> tuple[float, float]:
    """Share of data sets in which some task is said to have lost, and in which all simultaneous intervals hold."""
    rng, lost, held = cell.generator, 0, 0
    for run in range(runs):
        weighed = cell.weighed(rng)
        bounds = [each for each in weighed.task_bounds if each is not None]
        law = joint(weighed.design, weighed.scaled, run, DRAWS)
        tail = float(special.ndtr(-law.critical(1 - LEVEL)))
        held += all(low <= 1e-12 and high >= -1e-12 for low, high in (each.ends(tail) for each in bounds))
        lost += bool((law.adjust(np.array([each.p_below(0.0) for each in bounds])) < TAIL).any())
    return lost / runs, held / runs


def cells(paired: bool) -> list[Cell]:
    """The worlds; independent items have no cluster that leans."""
    return [
        Cell(paired, tasks, clusters, *numbers)
        for tasks in TASKS
        for clusters in CLUSTERS
        for numbers in (DIFFERENCES if paired else SCORES)
        if clusters or not numbers[1]
    ]


@dataclass(frozen=True)
class Sampled:
    """A world whose tasks are a sample: true shares lie evenly between .5 and .8, clusters shift all alike."""

    tasks: int
    clusters: int
    shift: float
    """How far a cluster moves the shares of all tasks, up or down by chance."""

    truth = 0.65
    items = 25

    def request(self, rng: np.random.Generator) -> SuiteRequest:
        """A data set of right and wrong, asked about the mean of tasks like these."""
        tasks = np.repeat(np.arange(self.tasks), self.items)
        share = rng.uniform(0.5, 0.8, self.tasks)[tasks]
        clusters = None
        if self.clusters:
            units = rng.integers(0, self.clusters, len(tasks))
            share = share + rng.choice([-self.shift, self.shift], self.clusters)[units]
            clusters = [str(unit) for unit in units]
        right = (rng.random(len(tasks)) < share).astype(int).tolist()
        names = [str(task) for task in tasks]
        return SuiteRequest(tasks=names, values=right, clusters=clusters, estimand="new_tasks")

    def coverage(self, runs: int) -> tuple[float, float]:
        """Share of data sets whose interval holds the truth: by t over the tasks' values alone, and the suite's."""
        rng = np.random.default_rng([SEED, self.tasks, self.clusters, round(100 * self.shift)])
        alone = held = 0
        for _ in range(runs):
            working = Working(self.request(rng))
            if working.bounds is None:  # tasks that tie have no interval, which says nothing false
                alone, held = alone + 1, held + 1
                continue
            plain = new_tasks(working.weighed.means, working.request.share)
            alone += (
                abs(working.weighed.mean - self.truth) <= -float(special.stdtrit(plain.df, TAIL)) * plain.se
            )
            low, high = working.bounds.ends(TAIL)
            held += low <= self.truth <= high
        return alone / runs, held / runs


def samples() -> list[Sampled]:
    """The worlds whose tasks are a sample."""
    return [
        Sampled(tasks, clusters, 0.2 if clusters else 0.0) for tasks in (3, 10, 20) for clusters in (0, 8, 40)
    ]


def families() -> list[Cell]:
    """The worlds in which no task has lost."""
    return [
        Cell(True, tasks, clusters, 0.3, 0.6 if clusters else 0.0)
        for tasks in TASKS
        for clusters in (0, 20, 100)
    ]


TEXT = """\
<!-- Made by `python -m tests.simulation.suites`. -->

# The interval of a suite

How often the 95% interval of [suite](tests/suite.md) holds the true mean, with tasks of 400, 60 and 25 items
in turn, all of one weight, and clusters that span all tasks. {runs} data sets a cell: a true .95 is measured
as {band:.3f} or more in 99.9% of such cells. *Items pooled* is the normal interval around the suite's mean
with the error of independent items that count alike, which harnesses have printed. *CR2 t* is the suite's own
error and degrees of freedom without bounds for what was not seen; it is too short where nearly all is right.

## One arm

{scores}

## Two arms without a difference

`lean`: how far a cluster leans to one of the arms, by chance.

{differences}

## Tasks like these

The tasks themselves are a sample (`--new-tasks`): their true shares lie evenly between .5 and .8, 25 items each, and a
cluster moves the shares of all tasks by .2, up or down. *t over tasks* knows the tasks' values alone, and nothing of
what their clusters share.

| tasks | clusters | shift | t over tasks | **suite** |
| --- | --- | --- | --- | --- |
{samples}

## Tasks said to have lost, where none has

Two arms that differ on 30% of the items; a cluster leans by .6. {family_runs} data sets a cell: nominal are at most
.025 for *lost* and .95 for intervals of all tasks at once.

| tasks | clusters | some task lost | all intervals hold |
| --- | --- | --- | --- |
{families}
"""


def page(runs: int, family_runs: int) -> str:
    """The page."""
    tables = []
    for paired, heads in ((False, ("right", "ICC")), (True, ("differ", "lean"))):
        names = " | ".join(f"**{name}**" if name == "suite" else name for name in METHODS)
        lines = [
            f"| tasks | clusters | {heads[0]} | {heads[1]} | {names} |",
            "|" + " --- |" * (4 + len(METHODS)),
        ]
        for cell in cells(paired):
            rates = [f"{rate:.3f}" for rate in coverage(cell, runs)]
            told = " | ".join([*rates[:-1], f"**{rates[-1]}**"])
            where = f"| {cell.tasks} | {cell.clusters or 'none'} | {cell.first:g} | {cell.second:g} |"
            lines.append(f"{where} {told} |")
        tables.append("\n".join(lines))
    rows = []
    for cell in families():
        lost, held = family(cell, family_runs)
        rows.append(f"| {cell.tasks} | {cell.clusters or 'none'} | {lost:.3f} | {held:.3f} |")
    sampled = []
    for world in samples():
        alone, held = world.coverage(runs)
        where = f"| {world.tasks} | {world.clusters or 'none'} | {world.shift:g} |"
        sampled.append(f"{where} {alone:.3f} | **{held:.3f}** |")
    return TEXT.format(
        runs=runs,
        samples="\n".join(sampled),
        band=float(stats.binom.ppf(0.001, runs, LEVEL)) / runs,
        scores=tables[0],
        differences=tables[1],
        family_runs=family_runs,
        families="\n".join(rows),
    )


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.suites", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--family-runs", type=int, default=FAMILY_RUNS)
    options = parser.parse_args()
    PAGE.write_text(page(options.runs, options.family_runs), "utf-8")


if __name__ == "__main__":
    main()
