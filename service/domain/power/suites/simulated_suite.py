"""A suite as its plan describes it, and data sets of it: every task with its own items, clusters and scale.

What is true of a task is stated on the scale of the suite. Clusters are drawn within one task each: which of them span
tasks is not known of a plan. Numbers are what `kernels.suites.many_sets` reads: means, variances and spreads by task.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.plans.sections.population import Population
from service.domain.power.attainable.least_p import size_of
from service.domain.power.distributions.shapes import ShapeName, by_mean, find_shape, sums_of
from service.domain.power.one_arm.arm import Arm
from service.domain.rules.claims.claim import good_direction
from service.domain.rules.settings import Setting
from service.domain.verdicts.worst_case import extremes
from service.kernels.planning.draws_in_clusters import draw_binary
from service.kernels.suites.many_sets import ManySuites, Side, TaskUnits, counts, sums_by_unit
from service.stats.shared.data.score_range import ScoreRange
from service.stats.shared.declaring.suite_sets import SuiteSets

Floats = NDArray[np.float64]
Sizes = NDArray[np.int64]
TaskDraws = tuple[Side, Floats, Side, Side]
"""Of one task: what is averaged, its spread over items, what is lost, what is gained; (D,) each."""

NO_ENDS = "power of a suite needs the least and the greatest value of its endpoint: declare `bounds`"
TOO_FEW = "a task has fewer than two items, or clusters, to learn from"
OF_NEW_TASKS = "claims about tasks like these are not simulated"
OF_RUNS = "a mean of replicates is neither right or wrong nor a free score: not simulated"


@dataclass(frozen=True, eq=False)
class SimulatedSuite:
    """The suite of a hypothesis."""

    endpoint: Endpoint
    sizes: tuple[Sizes, ...]
    """Items of the clusters of every task; ones where items are independent."""
    clustered: tuple[bool, ...]
    weights: Floats
    floors: Floats
    lengths: Floats
    """What the scale of every task begins at, and how long it is, in its own units."""
    scale: ScoreRange
    threshold: float
    margin: float | None
    paired: bool

    @classmethod
    def of(cls, setting: Setting, facts: Mapping[str, ManifestFacts]) -> SimulatedSuite | str:
        """Return the suite of a hypothesis, or why it is not drawn."""
        suite, endpoint, plan = setting.suite, setting.endpoint, setting.plan
        ends = None if endpoint is None else extremes(endpoint)
        if suite is None or endpoint is None or ends is None:
            return NO_ENDS
        if suite.estimand == "new_tasks":
            return OF_NEW_TASKS
        tasks = [task for name in suite.populations if (task := plan.population(name)) is not None]
        sizes = tuple(_sizes(task, facts) for task in tasks)
        if any(len(task) < 2 or task.min() < 1 for task in sizes):
            return TOO_FEW
        if setting.reference is None and endpoint.kind == "binary" and endpoint.collapsed_kind != "binary":
            return OF_RUNS
        shares = np.array(list(suite.shares({task.id: task.n for task in tasks}).values()))
        scales = [(suite.rescale or {}).get(task.id) for task in tasks]
        sesoi = setting.sesoi
        return cls(
            endpoint,
            sizes,
            tuple(task.clusters is not None for task in tasks),
            shares / shares.sum(),
            np.array([0.0 if scale is None else scale.floor for scale in scales]),
            np.array([1.0 if scale is None else scale.length for scale in scales]),
            ScoreRange(low=ends.low, high=ends.high),
            float(setting.reference or 0),
            None if sesoi is None else float(sesoi.exact()),
            setting.reference is None,
        )

    @property
    def n(self) -> int:
        """How many items all tasks have together."""
        return sum(int(task.sum()) for task in self.sizes)

    @property
    def low(self) -> Floats:
        """The least value of every task on the scale of the suite, (T,)."""
        return np.asarray((self.scale.low - self.floors) / self.lengths)

    @property
    def high(self) -> Floats:
        """The greatest value of every task on the scale of the suite, (T,)."""
        return np.asarray((self.scale.high - self.floors) / self.lengths)

    @property
    def right_or_wrong(self) -> bool:
        """Items are right or wrong."""
        return self.endpoint.collapsed_kind == "binary"

    @property
    def good(self) -> int:
        """1 where larger values are better."""
        return good_direction(self.endpoint)

    @property
    def by_counts(self) -> bool:
        """Items are independent, and right or wrong: counts tell all there is."""
        return self.right_or_wrong and not any(self.clustered)

    def thin(self, share: float) -> SimulatedSuite:
        """Return the suite with that share of the items of every task; of clusters, of every cluster."""
        sizes = tuple(np.maximum(np.rint(task * share), 1).astype(np.int64) for task in self.sizes)
        thin = tuple(
            size if clustered else np.ones(max(round(len(task) * share), 2), dtype=np.int64)
            for size, task, clustered in zip(sizes, self.sizes, self.clustered, strict=True)
        )
        return SimulatedSuite(
            **{**{name: getattr(self, name) for name in self.__dataclass_fields__}, "sizes": thin}
        )

    def two_arms(
        self,
        generator: np.random.Generator,
        n_sets: int,
        truths: Sequence[float],
        icc: float,
        scale: float,
        shape: ShapeName | None = None,
    ) -> SuiteSets:
        """Draw data sets whose tasks have these true differences.

        Args:
            scale: share of discordant items, or the SD of item differences in units of the endpoint.
        """

        def draw_task(at: int, sizes: Sizes, clustered: bool) -> TaskDraws:
            own = icc if clustered else 0.0
            if self.right_or_wrong:
                return _pairs(generator, n_sets, sizes, truths[at] * self.lengths[at], scale, own)
            placed = find_shape(shape or "normal")
            placed = placed.at(truths[at] * self.lengths[at], scale, self.scale.length, by_mean)
            return _of_items(placed.draw_items(generator, n_sets, sizes, own), sizes)

        return self._sets(draw_task)

    def one_arm(
        self, generator: np.random.Generator, n_sets: int, means: Sequence[float], icc: float, spread: float
    ) -> SuiteSets:
        """Draw data sets whose tasks have these true means; `spread` of scores in units of the largest possible."""

        def draw_task(at: int, sizes: Sizes, clustered: bool) -> TaskDraws:
            mean = float(np.clip(self.floors[at] + means[at] * self.lengths[at], *self._ends))
            n = int(sizes.sum())
            if self.right_or_wrong and not clustered and self.endpoint.replicates == 1:
                right = generator.binomial(n, mean, n_sets).astype(np.float64)
                column = counts(right, n)
                return column, column.variance * n, column, column
            arm = Arm(
                self.endpoint,
                n,
                sizes if clustered else None,
                self.scale,
                mean,
                1 if self.good > 0 else -1,
                "mean",
                1,
            )
            values = arm.draw(generator, n_sets, mean, icc if clustered else 0.0, spread).values
            assert values is not None  # noqa: S101 - of what is drawn every item has a value
            return _of_items(values, sizes)

        return self._sets(draw_task)

    def best(self) -> SuiteSets:
        """The one data set that is best for the candidate: all of its items at the good end, of two arms against the
        other end."""
        end = self.scale.high if self.good > 0 else self.scale.low
        value = end if not self.paired else self.good * self.scale.length

        def draw_task(_at: int, sizes: Sizes, _clustered: bool) -> TaskDraws:
            return _of_items(np.full((1, int(sizes.sum())), value), sizes)

        return self._sets(draw_task)

    @property
    def _ends(self) -> tuple[float, float]:
        return self.scale.low, self.scale.high

    def _sets(self, draw_task: Callable[[int, Sizes, bool], TaskDraws]) -> SuiteSets:
        """Simulated sets of the suite from its tasks, on the scale of 0 to 1 between floor and ceiling."""
        rows = [
            draw_task(at, sizes, clustered)
            for at, (sizes, clustered) in enumerate(zip(self.sizes, self.clustered, strict=True))
        ]
        lengths, floors = self.lengths, np.zeros_like(self.floors) if self.paired else self.floors

        def stack(sides: list[Side], start: Floats) -> Side:
            mean = (np.stack([side.mean for side in sides], axis=1) - start) / lengths
            return Side(mean, np.stack([side.variance for side in sides], axis=1) / lengths**2)

        zero = np.zeros_like(floors)
        sides = None
        if self.paired:
            sides = stack([row[2] for row in rows], zero), stack([row[3] for row in rows], zero)
        sets = ManySuites(
            TaskUnits.of(list(self.sizes)),
            self.weights,
            stack([row[0] for row in rows], floors),
            np.stack([row[1] for row in rows], axis=1) / lengths**2,
            self.low,
            self.high,
            sides,
            self.right_or_wrong,
        )
        return SuiteSets(sets, self.threshold, self.margin)


def _sizes(task: Population, facts: Mapping[str, ManifestFacts]) -> Sizes:
    size, known = size_of(task, facts), facts.get(task.id)
    if task.clusters is None:
        return np.ones(size.n, dtype=np.int64)
    if known is not None and known.cluster_sizes:
        return np.array(known.cluster_sizes, dtype=np.int64)
    g = max(size.n_clusters or 1, 1)
    return np.full(g, size.n // g, dtype=np.int64) + (np.arange(g) < size.n % g)


def _pairs(
    generator: np.random.Generator, n_sets: int, sizes: Sizes, truth: float, discordance: float, icc: float
) -> TaskDraws:
    """Two arms that are right or wrong: items that one alone wins."""
    share = min(max(discordance, abs(truth)), 1.0)
    truth = float(np.clip(truth, -share, share))
    shares = (share + truth) / 2, (share - truth) / 2
    n = int(sizes.sum())
    if icc <= 0 and len(sizes) == n:
        drawn = generator.multinomial(n, (*shares, max(1 - sum(shares), 0.0)), n_sets).astype(np.float64)
        won, lost = drawn[:, 0], drawn[:, 1]
        mean, square = (won - lost) / n, (won + lost) / n
        spread = (square - mean**2) * n / (n - 1)
        return Side(mean, spread / n), spread, counts(lost, n), counts(won, n)
    items_won, items_lost = draw_binary(generator, n_sets, sizes, shares, icc)
    won, lost = items_won.astype(np.float64), items_lost.astype(np.float64)
    column = sums_by_unit(won - lost, sizes)
    spread = ((won + lost).sum(axis=1) / n - column.mean**2) * n / (n - 1)
    return column, spread, sums_by_unit(lost, sizes), sums_by_unit(won, sizes)


def _of_items(items: Floats, sizes: Sizes) -> TaskDraws:
    """Return items (D, n), unit by unit."""
    column = sums_by_unit(sums_of(items, sizes), sizes)
    lost, gained = (
        sums_by_unit(sums_of(np.maximum(sign * items, 0.0), sizes), sizes) for sign in (-1.0, 1.0)
    )
    return column, items.var(axis=1, ddof=1), lost, gained
