"""Looking before the end, where the stopping rule allows it: what a look may see, and what may leave.

A planned look answers continue or stop, and nothing else. A plan that is valid at any time answers its
e-process and its confidence sequence. Rows are opened by the runner alone; what was answered goes to
the ledger, so that every look is on record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy.orm import Session

from service.actions.results.coverage import require_covered
from service.actions.results.look_requests import Taken, enqueue_due, read_taken
from service.actions.results.results import enqueue
from service.actions.verdicts.opening import open_batches
from service.domain.moment import Moment
from service.domain.plans.plan import GroupSequential
from service.domain.plans.preregistration import Preregistration
from service.domain.verdicts import stopping
from service.domain.verdicts.outcomes import Rows
from service.domain.verdicts.sequential_reading import SequentialReading, reading_of
from service.store.ledger import ledger
from service.store.plans import plan_keys, preregistrations
from service.store.projects import audit

Decision = Literal["continue", "stop"]


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a look is computed from; picklable. Its repr tells no outcome."""

    preregistration_id: str
    rows: Rows
    first_look: int
    """The first planned look that was not taken; 0 for a plan that may be read at any time."""
    voids: int
    """Batches voided by then: where more are, the rows are others."""


@dataclass(frozen=True, slots=True)
class LookResult:
    """What may leave: decisions by look, or a reading."""

    decisions: tuple[tuple[int, Decision], ...]
    reading: SequentialReading | None
    stop: bool


def inputs(session: Session, record: Preregistration, *, seal_private: bytes) -> Inputs:
    """Open what is in. Only the runner holds `seal_private`."""
    rows, voided = open_batches(session, record, plan_keys.unwrap(session, record.id, seal_private))
    planned = isinstance(record.plan.stopping, GroupSequential)
    first = len(read_taken(session, record)) + 1 if planned else 0
    return Inputs(record.id, rows, first, len(voided))


def compute(inputs: Inputs) -> LookResult:
    """Take the looks that are due until one says stop, or read what is in: runs in a worker process."""
    plan, rows = inputs.rows.plan, inputs.rows
    units = stopping.units_in(plan, rows.manifests, stopping.everywhere(rows.outcomes))
    if inputs.first_look == 0:
        reading = stopping.read(rows, units)
        return LookResult((), reading_of(plan, reading), reading.stop)
    decisions: list[tuple[int, Decision]] = []
    for look in range(inputs.first_look, stopping.look_due(plan, units) + 1):
        stop = stopping.read(rows, stopping.at_look(plan, look)).stop
        decisions.append((look, "stop" if stop else "continue"))
        if stop:
            return LookResult(tuple(decisions), None, True)
    return LookResult(tuple(decisions), None, False)


def record(session: Session, stored: Preregistration, seen: LookResult, moment: Moment) -> Mapping[str, Any]:
    """Put the looks on record; a stop completes the record and queues its verdict.

    `stored` is held for update. Looks that another runner has put on record stay as they are.
    """
    known = len(read_taken(session, stored))
    fresh = [decision for decision in seen.decisions if decision[0] > known]
    bodies: list[tuple[Literal["look", "reading"], Taken]] = [
        ("look", {"look": look, "decision": decision, "units": stopping.at_look(stored.plan, look)})
        for look, decision in fresh
    ]
    if seen.reading is not None:
        decision = "stop" if seen.stop else "continue"
        bodies.append(("reading", {"decision": decision, "units": dict(seen.reading.units)}))
    if seen.stop and bodies:
        require_covered(session, stored, full=False)
        stored = preregistrations.move(session, stored, "complete", moment.now)
        enqueue(session, stored, "verdict", moment)
    elif not seen.stop:
        enqueue_due(session, stored, moment, known=known + len(fresh))
    audit.record_all(
        session,
        [
            audit.Act(
                project_id=stored.project_id,
                key_id=None,
                action=f"{kind}.record",
                subject=stored.id,
                facts={"look": body["look"]} if kind == "look" else {},
                created_at=moment.now,
            )
            for kind, body in bodies
        ],
    )
    for kind, body in bodies:
        ledger.append(session, stored, kind, body, moment)
    answer: dict[str, Any] = {"preregistration_id": stored.id, "stop": seen.stop}
    if seen.reading is not None:
        return answer | {"reading": seen.reading.model_dump(mode="json")}
    return answer | {"looks": [{"look": look, "decision": decision} for look, decision in fresh]}
