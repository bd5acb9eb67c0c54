"""How much of a plan is in: counts, and nothing that follows from outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from service.domain.plans.preregistration import Preregistration
from service.domain.results.batches import STATUSES, ExpectedCell, expected_cells
from service.store import batches, coverage


@dataclass(frozen=True, slots=True)
class Progress:
    """Received rows by cell; `status_counts` only where the policy allows them."""

    cells: tuple[tuple[ExpectedCell, int], ...]
    status_counts: Mapping[str, int] | None
    batches: int
    overdue: bool


def progress(session: Session, record: Preregistration, *, now: datetime) -> Progress:
    """How far a preregistration is."""
    counted: Counter[tuple[str, str, str]] = Counter()
    for count in coverage.counts(session, record.id):
        counted[count.population, count.arm, count.endpoint] += count.received
    return Progress(
        cells=tuple(
            (cell, counted[cell.population, cell.arm, cell.endpoint]) for cell in expected_cells(record.plan)
        ),
        status_counts=_status_counts(session, record),
        batches=batches.count(session, record.id),
        overdue=record.overdue(now.date()),
    )


def _status_counts(session: Session, record: Preregistration) -> Mapping[str, int] | None:
    """Under `fail` an error is an outcome, and no count of errors leaves before the verdict."""
    if record.plan.missing != "exclude_pair":
        return None
    total = dict.fromkeys(STATUSES, 0)
    for counts in batches.status_counts(session, record.id):
        for status, count in counts.items():
            total[status] += count
    return total
