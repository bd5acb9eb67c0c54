"""Whether what counts as in is what the batches hold: asked before a record is complete, and made anew from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
from sqlalchemy.orm import Session

from service.actions.results.look_requests import enqueue_due
from service.actions.results.results import enqueue
from service.domain.moment import Moment
from service.domain.plans.preregistration import Preregistration
from service.domain.results.batches import expected_total
from service.domain.results.bitmaps import Filled
from service.errors import RecordAltered
from service.store.database import integrity
from service.store.plans import preregistrations
from service.store.projects import audit
from service.store.results import batches, coverage
from service.store.results.coverage import Cell


@dataclass(frozen=True, slots=True)
class HeldCells:
    """What the batches that count hold."""

    cells: Mapping[Cell, Filled] = field(repr=False)
    twice: frozenset[int]
    """Batches with results that an earlier one has already."""

    @property
    def received(self) -> int:
        """How many planned results are in, each counted once however often it was sent."""
        return sum(filled.received for filled in self.cells.values())


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What came of a rebuilding."""

    changed: int
    """Cells that were stored otherwise."""
    received: int
    expected: int
    twice: frozenset[int]
    complete: bool


def read_held_cells(session: Session, record: Preregistration) -> HeldCells:
    """Return what the stored batches hold, read from their positions alone."""
    sizes = {population.id: population.n for population in record.plan.populations or ()}
    cells: dict[Cell, Filled] = {}
    twice: set[int] = set()
    for batch in batches.read_placed(session, record.id):
        positions = np.frombuffer(batch.positions, dtype="<i4")
        replicates = np.frombuffer(batch.replicates, dtype="<u2")
        for replicate in np.unique(replicates):
            cell = (batch.population, batch.arm, batch.endpoint, int(replicate))
            filled = cells.setdefault(cell, Filled.empty(sizes.get(batch.population, 0)))
            own = positions[replicates == replicate]
            before = filled.received
            filled.add(own)
            if filled.received != before + len(own):
                twice.add(batch.sequence)
    return HeldCells(cells, frozenset(twice))


def require_covered(session: Session, record: Preregistration, *, full: bool) -> None:
    """Refuse to complete a record whose coverage does not say what its batches hold; `full`: all that is planned.

    Raises:
        RecordAltered: a cell was changed, or took a result twice.
    """
    held = read_held_cells(session, record)
    whole = not full or held.received == expected_total(record.plan)
    if held.twice or not whole or _differing(session, record, held):
        raise RecordAltered("coverage", record.id)


def save(session: Session, record: Preregistration, held: HeldCells, cells: Collection[Cell]) -> None:
    """Store cells as the batches say that they are."""
    for cell in cells:
        planned = record.plan.population(cell[0])
        nothing = Filled.empty(0 if planned is None else planned.n)
        filled = held.cells.get(cell, nothing)
        coverage.save(session, record.id, cell, filled.bitmap(), filled.received)


def rebuild(session: Session, prereg_id: str, moment: Moment) -> Rebuilt:
    """Make the coverage of a record that takes results anew, and complete the record where it turns out to be full.

    A record with results that came twice stays open: one of the batches has to be voided first.
    """
    project_id = preregistrations.read_project(session, prereg_id)
    record = preregistrations.get(session, project_id, prereg_id, for_update=True)
    record.require("locked", "collecting", action="rebuilding its coverage")
    held, expected = read_held_cells(session, record), expected_total(record.plan)
    differing = _differing(session, record, held)
    save(session, record, held, differing)
    integrity.forget(session, kind="coverage", subject=record.id)
    complete = record.state == "collecting" and not held.twice and held.received == expected
    if complete:
        record = preregistrations.move(session, record, "complete", moment.now)
        enqueue(session, record, "verdict", moment)
    else:
        enqueue_due(session, record, moment)
    audit.record(
        session,
        project_id=project_id,
        key_id=None,
        action="coverage.rebuild",
        subject=record.id,
        facts={"cells": len(differing), "twice": sorted(held.twice)},
        now=moment.now,
    )
    return Rebuilt(len(differing), held.received, expected, held.twice, complete)


def _differing(session: Session, record: Preregistration, held: HeldCells) -> list[Cell]:
    """Cells that are stored otherwise than the batches say."""
    stored = coverage.read_all(session, record.id)

    def count_in_batches(cell: Cell) -> tuple[bytes, int]:
        filled = held.cells.get(cell)
        return (bytes(len(stored[cell][0])), 0) if filled is None else (filled.bitmap(), filled.received)

    return [cell for cell in sorted({*stored, *held.cells}) if stored.get(cell) != count_in_batches(cell)]
