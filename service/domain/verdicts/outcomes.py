"""What judging reads: every planned cell with the results that are in it, beside the plan and its manifests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import Plan
from service.domain.results.batches import PlacedBatch, expected_cells
from service.domain.results.secret_rows import NO_TIME
from service.domain.rules.settings import ResolvedPlan
from service.domain.verdicts.validity import Mark
from service.errors import ForelockError
from service.words import say

OK, ERROR, MISSING, NOT_RECEIVED = 0, 1, 2, 255
LEFT_OUT = 3
"""Of what a deviation takes out of both arms, whatever the missing policy; never stored."""
NOT_DRAWN = 4
"""Of an item that was not drawn for people to label: the plan expects no result of it; never stored."""


class PlanViolatedError(ForelockError):
    """The results are not what the plan says they are."""

    code, title = "plan_violated", "The stored results are not what the plan says they are"


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """One arm's results for one endpoint: arrays of shape (items, replicates). Its repr tells no outcome."""

    values: NDArray[np.float64] = field(repr=False)
    statuses: NDArray[np.uint8] = field(repr=False)

    def of(self, inside: NDArray[np.bool_]) -> Cell:
        """Some of the items alone."""
        return self if inside.all() else Cell(self.values[inside], self.statuses[inside])


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """The cells of a plan by (population, arm, endpoint)."""

    cells: Mapping[tuple[str, str, str], Cell]
    judged: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    """By population, shape (items,): those that count where a stopping rule ended it early; else all do."""
    closed: bool = False
    """The collection was closed before every planned result was in."""
    observed: dict[str | None, int] = field(default_factory=dict, repr=False)
    """The earliest time of a row by run, in microseconds since 1970 UTC, where rows have one."""

    def counting(self, population: str, n_items: int) -> NDArray[np.bool_]:
        """Tell which of a population's items are judged."""
        counted = self.judged.get(population)
        return np.ones(n_items, dtype=np.bool_) if counted is None else counted

    @classmethod
    def empty(cls, plan: Plan, *, closed: bool = False) -> Outcomes:
        """Return every cell the plan expects, with nothing received."""
        cells = {}
        for expected in expected_cells(plan):
            shape, draw = (expected.n_items, expected.replicates), expected.draw
            statuses = np.full(shape, NOT_RECEIVED if draw is None else NOT_DRAWN, dtype=np.uint8)
            if draw is not None:
                statuses[draw.positions()] = NOT_RECEIVED
            cells[expected.population, expected.arm, expected.endpoint] = Cell(
                np.full(shape, np.nan), statuses
            )
        return cls(cells, closed=closed)

    def place(self, batch: PlacedBatch) -> None:
        """Fill in the rows of a batch; a cell is filled once."""
        cell, rows = self.cells[batch.head.cell], batch.rows
        # Replicates count from 1.
        column = batch.replicates.astype(np.intp) - 1
        before = cell.statuses[batch.positions, column]
        if np.any(before == NOT_DRAWN):
            raise PlanViolatedError(say("reasons.not_drawn", endpoint=batch.head.endpoint))
        if np.any(before != NOT_RECEIVED):
            raise PlanViolatedError(say("reasons.two_batches"))
        cell.values[batch.positions, column] = rows.values
        cell.statuses[batch.positions, column] = rows.statuses
        times = rows.observed_at
        if times is not None and np.any(known := times != NO_TIME):
            first = int(times[known].min())
            self.observed[batch.head.run] = min(first, self.observed.get(batch.head.run, first))

    def require_complete(self) -> None:
        """Refuse to go on while a planned result is not in, whatever the record's state says; closed ones go on."""
        if self.closed:
            return
        lacking = sum(int(np.count_nonzero(cell.statuses == NOT_RECEIVED)) for cell in self.cells.values())
        if lacking:
            raise PlanViolatedError(say("reasons.not_in", count=lacking))


@dataclass(frozen=True, slots=True)
class Rows:
    """A plan with its results in the open: all that judging starts from. Its repr tells no outcome."""

    resolved: ResolvedPlan
    manifests: Mapping[str, Manifest] = field(repr=False)
    outcomes: Outcomes = field(repr=False)
    marks: tuple[Mark, ...] = ()
    """What stands against the verdict stands against all that is computed again."""

    @property
    def plan(self) -> Plan:
        """The plan that they are judged by."""
        return self.resolved.plan
