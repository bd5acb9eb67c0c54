"""How much of a plan is in: counts, and nothing that follows from outcomes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from sqlalchemy.orm import Session

from service.actions.plans import cursors
from service.domain.plans.preregistration import Preregistration
from service.domain.results.batches import ExpectedCell, expected_cells
from service.domain.results.bitmaps import Filled
from service.domain.results.statuses import STATUSES
from service.store.plans.populations import read_manifests
from service.store.results import batches, coverage

_CURSOR = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Progress:
    """Received rows by cell; `status_counts` only where the policy allows them."""

    cells: tuple[tuple[ExpectedCell, int], ...]
    status_counts: Mapping[str, int] | None
    batches: int
    overdue: bool


def progress(session: Session, record: Preregistration, *, now: datetime) -> Progress:
    """Return how far a preregistration is."""
    counted: Counter[tuple[str, str, str]] = Counter()
    for count in coverage.read_counts(session, record.id):
        counted[count.population, count.arm, count.endpoint] += count.received
    return Progress(
        cells=tuple(
            (cell, counted[cell.population, cell.arm, cell.endpoint]) for cell in expected_cells(record.plan)
        ),
        status_counts=_status_counts(session, record),
        batches=batches.count(session, record.id),
        overdue=record.overdue(now.date()),
    )


@dataclass(frozen=True, slots=True)
class MissingRow:
    """A planned row that is not in."""

    population: str
    arm: str
    endpoint: str
    replicate: int
    item_id: str


def missing(
    session: Session, record: Preregistration, *, arm: str | None, cursor: str | None, limit: int
) -> tuple[list[MissingRow], str | None]:
    """List planned rows that are not in, in the plan's order, and where the next page begins, whatever the outcomes."""
    cells = [
        (cell, replicate)
        for cell in expected_cells(record.plan)
        for replicate in range(1, cell.replicates + 1)
        if arm is None or cell.arm == arm
    ]
    begin, offset = cursors.read_numbers(cursor or "0-0", _CURSOR)
    manifests = read_manifests(session, record)
    rows: list[MissingRow] = []
    for index, (cell, replicate) in list(enumerate(cells))[begin:]:
        place = cell.population, cell.arm, cell.endpoint, replicate
        bits = coverage.read_bitmap(session, record.id, place, cell.n_items)
        planned = (
            np.arange(cell.n_items, dtype=np.int32) if cell.draw is None else np.sort(cell.draw.positions())
        )
        positions = planned[~Filled(bits).holds(planned)]
        ids = manifests[cell.population].item_ids
        for position in positions[positions >= (offset if index == begin else 0)].tolist():
            if len(rows) == limit:
                return rows, f"{index}-{position}"
            rows.append(MissingRow(cell.population, cell.arm, cell.endpoint, replicate, ids[position]))
    return rows, None


def _status_counts(session: Session, record: Preregistration) -> Mapping[str, int] | None:
    """Under `fail` an error is an outcome, and no count of errors leaves before the verdict."""
    if record.plan.missing != "exclude_pair":
        return None
    total = dict.fromkeys(STATUSES, 0)
    for counts in batches.read_status_counts(session, record.id):
        for status, count in counts.items():
            total[status] += count
    return total
