"""Several arms by the mean of several tasks: every pair on the items that both have, all pairs compared at once.

As `partial_arms`, with other residuals. A pair's difference is the sum of w_t times the mean difference of task t, and
a cluster adds to its error what its items of each task lie off the mean of that task, times w_t / n_t. The error is CR1
task by task (of independent items the ordinary one), with Satterthwaite's degrees of freedom as in `design`; where
clusters span tasks a bound of these from below takes their place, which is what they are where every cluster has its
share of every task. What signs multiply are the jackknife's residuals, studentized anew as if each cluster held its
weighted share of one task, which is so where clusters span tasks alike: their largest is on the scale of the normal law
by the degrees of freedom of such shares, and every pair's bar by its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from service.kernels.randomization.partial_arms import PartialArms

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
MOST_TABLE = 20_000_000
"""Tasks times pairs."""


@dataclass(frozen=True, eq=False)
class SuiteArms(PartialArms):
    """Items stand by cluster and, within one, by task; `starts` are those of cells (cluster, task), of items None.

    `tasks` (n,): number of each item's task; every arm has an item of each. `weights` (T,): they sum to 1.
    `first_cells` (G,): the first cell of every cluster; None where items are the units.
    """

    tasks: NDArray[np.int64]
    weights: Floats
    first_cells: NDArray[np.intp] | None

    @property
    @override
    def n_units(self) -> int:
        """The number of items, or of clusters."""
        return len(self.outcomes) if self.first_cells is None else len(self.first_cells)

    @cached_property
    def _counts(self) -> Floats:
        """Items of every task. Shape (T,)."""
        return np.bincount(self.tasks, minlength=len(self.weights)).astype(np.float64)

    @property
    @override
    def item_weights(self) -> Floats:
        """What each item counts: its task's weight over the task's items. Shape (n,)."""
        return np.asarray((self.weights / self._counts)[self.tasks])

    @cached_property
    def task_means(self) -> Floats:
        """The mean of every arm over its own items of every task. Shape (T, k)."""
        of_task = self._of_task(self.tasks)
        return np.asarray((of_task @ self.outcomes) / (of_task @ self.present.astype(np.float64)))

    @cached_property
    @override
    def own_means(self) -> Floats:
        """The suite's mean of every arm over its own items. Shape (k,)."""
        return np.asarray(self.weights @ self.task_means)

    @cached_property
    def _cell_task(self) -> NDArray[np.int64]:
        """The task of every cell. Shape (cells,)."""
        return self.tasks if self.starts is None else self.tasks[self.starts]

    @cached_property
    def _spans(self) -> bool:
        """Whether a cluster has items of several tasks."""
        return self.first_cells is not None and len(self.first_cells) < len(self._cell_task)

    @property
    def spanning(self) -> int:
        """Clusters with items of several tasks, a count."""
        if self.first_cells is None:
            return 0
        return int(np.count_nonzero(np.diff([*self.first_cells, len(self._cell_task)]) > 1))

    def _of_task(self, tasks: NDArray[np.int64]) -> csr_array:
        """Return what sums rows of these tasks by task: (T, rows)."""
        from scipy.sparse import csr_array  # takes long to import, and most boards need none

        return csr_array(
            (np.ones(len(tasks)), (tasks, np.arange(len(tasks)))), shape=(len(self.weights), len(tasks))
        )

    def _by_cluster(self, cells: Floats) -> Floats:
        """Sum the rows of cells by unit."""
        return (
            cells
            if self.first_cells is None
            else np.asarray(np.add.reduceat(cells, self.first_cells, axis=0))
        )

    @cached_property
    def _by_task(self) -> tuple[Floats, Floats, Floats]:
        """Items that both arms of a pair have in a task, the mean difference on them, its variance. Shapes (T, P).

        NaN where both share no item, or a single one.
        """
        first, second = self.pairs
        shape = len(self.weights), len(first)
        counts, means, spread = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        for task in range(len(self.weights)):
            own = self.tasks == task
            # about the arms' own means, so that squares do not cancel
            there = self.present[own].astype(np.float64)
            centre = self.task_means[task]
            y = np.where(self.present[own], self.outcomes[own] - centre, 0.0)
            n = (there.T @ there)[first, second]
            sums, squared, mixed = y.T @ there, (y**2).T @ there, y.T @ y
            total = (sums - sums.T)[first, second]
            with np.errstate(divide="ignore", invalid="ignore"):
                counts[task] = n
                means[task] = total / n + (centre[first] - centre[second])
                squares = (squared + squared.T - 2 * mixed)[first, second] - total**2 / n
                spread[task] = np.maximum(squares, 0.0) / (n - 1)
        return counts, means, spread

    def _of_pairs(self, gaps: Floats, sizes: Floats, some: NDArray[np.intp]) -> dict[str, Floats]:
        """Cells' residuals, shares of their task's items, and its weight over these: (cells, some) each."""
        counts, means, _ = (table[:, some] for table in self._by_task)
        with np.errstate(divide="ignore", invalid="ignore"):
            by_item = self.weights[:, None] / counts
            return {
                "residual": gaps - sizes * means[self._cell_task],
                "share": sizes / counts[self._cell_task],
                "by_item": by_item[self._cell_task],
            }

    @override
    def _compute_facts(self, gaps: Floats, sizes: Floats, some: NDArray[np.intp]) -> dict[str, Floats]:
        """Compute what tests of `some` pairs of arms need of their gaps (cells, p), an array (p,) for every name."""
        counts, means, spread = (table[:, some] for table in self._by_task)
        cell, n = self._of_pairs(gaps, sizes, some), counts.sum(axis=0)
        of_task = self._of_task(self._cell_task)
        units_of_task = of_task @ (sizes > 0).astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            # CR1 task by task
            corrected = np.sqrt(units_of_task / (units_of_task - 1))[self._cell_task]
            residuals = n * self._by_cluster(cell["by_item"] * cell["residual"] * corrected)
            pulled, _ = self._jackknife(cell, n)
            share = self._by_cluster(self.weights[self._cell_task][:, None] * cell["share"])
            factors = share / (1 - share)
            trace = share.sum(axis=0)
            square = (factors**2 * (1 - 2 * share)).sum(axis=0) + (factors * share).sum(axis=0) ** 2
            df_of_signs = trace**2 / square
        units = np.count_nonzero(share, axis=0).astype(np.float64)
        lone = (units_of_task < 2).any(axis=0)
        return {
            "n": n,
            "units": units,
            "difference": self.weights @ means,
            "squares": np.where(lone, 0.0, np.einsum("gp,gp->p", residuals, residuals)),
            "cubes": np.einsum("gp,gp,gp->p", residuals, residuals, residuals),
            "pulled": np.einsum("gp,gp->p", pulled, pulled),
            "weight": (share**2).sum(axis=0),
            "df": self._satterthwaite(cell, sizes, spread[self._cell_task]),
            "df_of_signs": df_of_signs,
            "lone": lone.astype(np.float64),
        }

    def _jackknife(self, cell: dict[str, Floats], n: Floats) -> tuple[Floats, Floats]:
        """Return the jackknife's residuals by unit, times n, and these times n times the unit's weighted share."""
        with np.errstate(divide="ignore", invalid="ignore"):
            alone = np.where(cell["share"] < 1, cell["residual"] / (1 - cell["share"]), 0.0)
            pulled = n * self._by_cluster(cell["by_item"] * alone)
            share = self._by_cluster(self.weights[self._cell_task][:, None] * cell["share"])
        return pulled, pulled * share * n

    @override
    def _signable(
        self, gaps: Floats, sizes: Floats, some: NDArray[np.intp], fact: dict[str, Floats]
    ) -> tuple[Floats, Floats]:
        return self._jackknife(self._of_pairs(gaps, sizes, some), fact["n"])

    def _satterthwaite(self, cell: dict[str, Floats], sizes: Floats, spread: Floats) -> Floats:
        """Degrees of freedom of every pair's error, as `Design.df`; 1 where nothing varies. Shape (some,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            left = np.where(cell["share"] < 1, 1 - cell["share"], np.inf)
            by_cell = np.nan_to_num(spread * cell["by_item"] ** 2 * sizes / left)
            unit = by_cell.max(axis=0)
            by_cell = np.nan_to_num(by_cell / unit)
            tied_by_cell = by_cell * np.nan_to_num(cell["share"])
            own, tied = self._by_cluster(by_cell), self._by_cluster(tied_by_cell)
            trace = (own - tied).sum(axis=0)
            # sum of (sum over clusters of root_t root_u)^2 over tasks t and u; by Cauchy no more than the square of all
            together = (
                tied.sum(axis=0) ** 2
                if self._spans
                else ((self._of_task(self._cell_task) @ tied_by_cell) ** 2).sum(axis=0)
            )
            square = (own**2).sum(axis=0) - 2 * (own * tied).sum(axis=0) + together
            return np.asarray(np.where(square > 0, trace**2 / square, 1.0))

    @cached_property
    def lone(self) -> NDArray[np.bool_]:
        """Which pairs share fewer than two units of some task, so that nothing tells how far it is off. Shape (P,)."""
        return self._facts["lone"] > 0

    @cached_property
    @override
    def sparse(self) -> NDArray[np.bool_]:
        """Which pairs share too few units to be compared, in all or of some task. Shape (P,)."""
        return (self.shared < self.least_shared) | self.lone

    @cached_property
    @override
    def errors(self) -> Floats:
        """Standard error of every difference, 0 where it is not compared. Shape (P,)."""
        return np.asarray(np.sqrt(self.squares) / np.maximum(self._facts["n"], 1))


def suite_arms(
    columns: Floats, codes: NDArray[np.int64] | None, tasks: NDArray[np.int64], weights: Floats, alpha: float
) -> SuiteArms:
    """Return columns (n, k) with NaN where an outcome is missing, each item's cluster and its task."""
    starts = first_cells = None
    if codes is not None:
        order = np.lexsort((tasks, codes))
        columns, codes, tasks = columns[order], codes[order], tasks[order]
        cells = codes * len(weights) + tasks
        starts = np.flatnonzero(np.r_[True, cells[1:] != cells[:-1]])
        of_cell = codes[starts]
        first_cells = np.flatnonzero(np.r_[True, of_cell[1:] != of_cell[:-1]])
    present = ~np.isnan(columns)
    return SuiteArms(np.where(present, columns, 0.0), present, starts, alpha, tasks, weights, first_cells)
