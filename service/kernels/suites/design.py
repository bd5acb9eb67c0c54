"""A suite: tasks with items of their own, under weights; its error by CR2 with clusters that may span tasks.

`tasks` (n,) numbers each item's task from 0 to T - 1, `units` (n,) its cluster from 0 to G - 1; independent items are
clusters of one. With weights w (T,) the estimate is the sum of w_t times the mean of task t. In the regression of the
items on their tasks a cluster's leverage is diagonal by task: h_ct, its share of the task's items. CR2 therefore
divides the cluster's residual sum of every task by sqrt(1 - h_ct) before the tasks are put together.

Sources: Bell & McCaffrey (2002), Surv Methodol 28:169; Pustejovsky & Tipton (2018), JBES 36:672. Degrees of freedom
match the first two moments of the variance where items are independent and every task has a spread of its own: of
independent items these are Welch's (1947, Biometrika 34:28), of one task Bell and McCaffrey's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from service.kernels.numeric.clusters import largest

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

DUST = 1e-12
"""Residual sums below this share of what was summed are rounding."""


@dataclass(frozen=True, eq=False)
class Design:
    """Which task and which cluster every item is of; what follows from that alone. Cells are (cluster, task)."""

    tasks: Codes
    units: Codes

    @cached_property
    def n_tasks(self) -> int:
        """The number of tasks, T."""
        return int(self.tasks.max()) + 1

    @cached_property
    def n_units(self) -> int:
        """The number of clusters, G."""
        return int(self.units.max()) + 1

    @cached_property
    def items(self) -> Floats:
        """Items of every task. Shape (T,)."""
        return np.bincount(self.tasks, minlength=self.n_tasks).astype(np.float64)

    @cached_property
    def _cells(self) -> tuple[Codes, Codes]:
        """Numbers of the cells that hold items, and each item's cell among them. Shapes (cells,) and (n,)."""
        cells, places = np.unique(self.units * self.n_tasks + self.tasks, return_inverse=True)
        return cells, places.reshape(-1)

    @cached_property
    def cell_task(self) -> Codes:
        """The task of every cell. Shape (cells,)."""
        return np.asarray(self._cells[0] % self.n_tasks)

    @cached_property
    def cell_unit(self) -> Codes:
        """The cluster of every cell. Shape (cells,)."""
        return np.asarray(self._cells[0] // self.n_tasks)

    @cached_property
    def cell_size(self) -> Floats:
        """Items of every cell. Shape (cells,)."""
        return np.bincount(self._cells[1]).astype(np.float64)

    @cached_property
    def units_of_task(self) -> Codes:
        """Clusters with items of every task. Shape (T,)."""
        return np.bincount(self.cell_task, minlength=self.n_tasks)

    @cached_property
    def spanning(self) -> int:
        """Clusters with items of several tasks, a count."""
        return int(np.count_nonzero(np.bincount(self.cell_unit) > 1))

    @cached_property
    def leverage(self) -> Floats:
        """Every cell's share of the items of its task. Shape (cells,)."""
        return np.asarray(self.cell_size / self.items[self.cell_task])

    @cached_property
    def _factor(self) -> Floats:
        """1 / (n_t sqrt(1 - h)), 0 where a cell is the whole task: it has no residual. Shape (cells,)."""
        left = 1 - self.leverage
        whole = self.units_of_task[self.cell_task] == 1
        root = np.sqrt(np.where(whole, 1.0, left))
        return np.asarray(np.where(whole, 0.0, 1 / (self.items[self.cell_task] * root)))

    def means(self, column: Floats) -> Floats:
        """Return the mean of a column (n,) in every task. Shape (T,)."""
        means = np.bincount(self.tasks, weights=column, minlength=self.n_tasks) / self.items
        # equal decimals have a mean that may differ from them in the last digit, which is no spread
        least, most = np.full(self.n_tasks, np.inf), np.full(self.n_tasks, -np.inf)
        np.minimum.at(least, self.tasks, column)
        np.maximum.at(most, self.tasks, column)
        return np.clip(means, least, most)

    def spread(self, column: Floats) -> Floats:
        """Return the variance of a column (n,) over the items of every task, 0 of a single item. Shape (T,)."""
        centred = self._centre(column)
        squares = np.bincount(self.tasks, weights=centred**2, minlength=self.n_tasks)
        return np.asarray(squares / np.maximum(self.items - 1, 1))

    def residuals(self, column: Floats) -> Floats:
        """Sum of what the items of every cell lie above the mean of their task; rounding is 0. Shape (cells,)."""
        places = self._cells[1]
        sums = np.bincount(places, weights=self._centre(column))
        size = np.bincount(places, weights=np.abs(column))
        return np.where(np.abs(sums) <= DUST * size, 0.0, sums)

    def scores(self, column: Floats) -> Floats:
        """Return what every cell adds to the mean of its task, as CR2 has it. Shape (cells,)."""
        return np.asarray(self.residuals(column) * self._factor)

    def variance(self, scores: Floats, weights: Floats) -> float:
        """Variance of the weighted mean, from cells' scores and tasks' weights (T,): a cluster's cells add up first."""
        by_unit = np.bincount(self.cell_unit, weights=weights[self.cell_task] * scores)
        return float(by_unit @ by_unit)

    def variances(self, scores: Floats) -> Floats:
        """Return the variance of the mean of every task. Shape (T,)."""
        return self._by_task(scores**2)

    def covariances(self, scores: Floats) -> Floats:
        """Covariances of the means of all tasks, which clusters tie together where they span them. Shape (T, T)."""
        if not self.spanning:
            return np.diag(self.variances(scores))
        from scipy.sparse import csr_array  # takes long to import, and most suites need none

        shape = (self.n_units, self.n_tasks)
        by_unit = csr_array((scores, (self.cell_unit, self.cell_task)), shape=shape)
        return np.asarray((by_unit.T @ by_unit).toarray())

    def df(self, weights: Floats, spread: Floats) -> float:
        """Satterthwaite's degrees of freedom of the variance, where items of task t have the variance `spread` (T,).

        B = D - U U' with D_c the sum over tasks of s_t a_ct^2 n_ct and U_ct = sqrt(s_t) a_ct n_ct / sqrt(n_t):
        trace(B)^2 / trace(B^2) without a matrix of clusters. 1 where nothing varies.
        """
        unit = largest(weights**2 * spread)
        squares = spread / unit * weights**2
        by_cell = squares[self.cell_task] * self._factor**2 * self.cell_size
        root = np.sqrt(by_cell * self.leverage)
        own = np.bincount(self.cell_unit, weights=by_cell)
        tied = np.bincount(self.cell_unit, weights=root**2)
        trace = float(own.sum() - tied.sum())
        together = float((self.covariances(root) ** 2).sum())
        square = float(own @ own) - 2 * float(own @ tied) + together
        return trace**2 / square if square > 0 else 1.0

    @cached_property
    def task_df(self) -> Floats:
        """Degrees of freedom of every task's mean alone, whatever its spread; 0 in one cluster. Shape (T,)."""
        squares = self._factor**2
        sizes, n = self.cell_size, self.items[self.cell_task]

        trace = self._by_task(squares * (sizes - sizes**2 / n))
        square = (
            self._by_task(squares**2 * (sizes**2 - 2 * sizes**3 / n))
            + (self._by_task(squares * sizes**2) / self.items) ** 2
        )
        return np.divide(trace**2, square, out=np.zeros(self.n_tasks), where=square > 0)

    def _by_task(self, values: Floats) -> Floats:
        """Sums of cells by task. Shape (T,)."""
        return np.asarray(
            np.bincount(self.cell_task, weights=values, minlength=self.n_tasks), dtype=np.float64
        )

    def _centre(self, column: Floats) -> Floats:
        return np.asarray(column - self.means(column)[self.tasks])
