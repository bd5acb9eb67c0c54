"""Which items people are asked to label: the draw of the locked plan, without anything that an outcome decides."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from sqlalchemy.orm import Session

from service.actions.plans import cursors
from service.domain.plans.items.drawing import Drawing, drawing_of
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import ONCE_LOCKED, Preregistration
from service.domain.results.bitmaps import Filled
from service.errors import NotFound
from service.store.plans.populations import read_manifests
from service.store.results import coverage

_CURSOR = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class AskedLabel:
    """One label that people are asked for."""

    population: str
    arm: str
    endpoint: str
    item_id: str
    received: bool
    """Somebody has posted it; what it says is sealed."""


def page_labels(
    session: Session, record: Preregistration, *, arm: str | None, cursor: str | None, limit: int
) -> tuple[list[AskedLabel], str | None]:
    """Return the labels of a locked plan in the order in which people get them, and where the next page begins.

    Raises:
        Conflict: the plan is a draft, whose draw may still change.
        NotFound: its people label nothing.
    """
    record.require(*ONCE_LOCKED)
    lists = list(_lists(record.plan))
    if not lists:
        raise NotFound(
            "people label nothing of this plan: no endpoint has `labels`, which says how many items are drawn for them"
        )
    begin, offset = cursors.read_numbers(cursor or "0-0", _CURSOR)
    manifests = read_manifests(session, record)
    rows: list[AskedLabel] = []
    for at, (population, endpoint, drawing) in list(enumerate(lists))[begin:]:
        ids, filled = manifests[population].item_ids, dict[str, Filled]()
        labels = drawing.order_labels(record.plan.arms(population))
        for place, (position, of_arm) in enumerate(labels):
            if (at == begin and place < offset) or arm not in (None, of_arm):
                continue
            if len(rows) == limit:
                return rows, f"{at}-{place}"
            if of_arm not in filled:
                cell = population, of_arm, endpoint, 1
                filled[of_arm] = Filled(coverage.read_bitmap(session, record.id, cell, drawing.n_items))
            received = bool(filled[of_arm].holds(np.array([position], dtype=np.int32))[0])
            rows.append(AskedLabel(population, of_arm, endpoint, ids[position], received))
    return rows, None


def _lists(plan: Plan) -> list[tuple[str, str, Drawing]]:
    """Return every population and endpoint that people label, in the plan's order."""
    return [
        (population.id, endpoint.id, drawing)
        for population in plan.populations or ()
        for endpoint in plan.endpoints_of(population.id)
        if plan.arms(population.id) and (drawing := drawing_of(endpoint, population)) is not None
    ]
