"""Ending a record before its verdict: closing the collection early, and withdrawing."""

from __future__ import annotations

from sqlalchemy.orm import Session

from service.actions.delivery.announcements import announce
from service.actions.results.coverage import require_covered
from service.actions.results.results import enqueue
from service.domain.access import Key
from service.domain.deviations.changes import SampleSize
from service.domain.ledger import Receipt
from service.domain.moment import Moment
from service.domain.outgoing import Event
from service.domain.plans.preregistration import Preregistration
from service.domain.results.batches import expected_total
from service.domain.verdicts import stopping
from service.errors import Conflict, NotFound
from service.store.ledger import ledger
from service.store.plans import preregistrations
from service.store.projects import audit
from service.store.results import coverage
from service.store.verdicts import deviations


def is_closed(session: Session, record: Preregistration) -> bool:
    """Tell whether the collection was closed before every planned result was in."""
    return bool(ledger.read_bodies(session, record.id, kind="close"))


def close(
    session: Session, caller: Key, record: Preregistration, reason: str, deviation: int, moment: Moment
) -> tuple[Preregistration, Receipt]:
    """End the collection with what is in, and queue the verdict, which says so for good.

    Raises:
        Conflict: nothing is in yet, or no more is taken; `sequential_plan`; `deviation_required` when the deviation is
            not one of this record about its sample size.
    """
    record.require("collecting", action="an early close")
    if stopping.is_sequential(record.plan):
        raise Conflict(
            "the locked stopping rule says when this plan ends, so it cannot be closed: post the rest, or withdraw it",
            code="sequential_plan",
        )
    _require_other_n(session, record, deviation)
    require_covered(session, record, full=False)
    received = sum(count.received for count in coverage.read_counts(session, record.id))
    moved = preregistrations.move(session, record, "complete", moment.now)
    enqueue(session, moved, "verdict", moment)
    facts = {"deviation": deviation}
    audit.record_act(session, caller, "preregistration.close", record.id, facts, now=moment.now)
    body = {
        "plan_sha256": record.plan_sha256,
        "deviation": deviation,
        "received": received,
        "expected": expected_total(record.plan),
        "reason": reason,
    }
    return moved, announce(session, moved, Event.CLOSED, body, moment)


def withdraw(
    session: Session, caller: Key, record: Preregistration, reason: str, moment: Moment
) -> tuple[Preregistration, Receipt]:
    """Withdraw a record: what was locked, and a verdict that is there, stay; rows that nobody read stay sealed."""
    record.require("locked", "collecting", "complete", "judged", action="a withdrawal")
    moved = preregistrations.move(session, record, "withdrawn", moment.now)
    facts = {"state": record.state}
    audit.record_act(session, caller, "preregistration.withdraw", record.id, facts, now=moment.now)
    body = {"plan_sha256": record.plan_sha256, "state": record.state, "reason": reason}
    return moved, announce(session, moved, Event.WITHDRAWN, body, moment)


def _require_other_n(session: Session, record: Preregistration, deviation: int) -> None:
    """Refuse to close early unless the deviation of this number says that n differs from the planned one."""
    try:
        change = deviations.get(session, record.id, deviation).filing.change
    except NotFound:
        change = None
    if not isinstance(change, SampleSize):
        raise Conflict(
            f"closing early departs from the planned n, and deviation {deviation} does not say so: file a deviation of "
            "kind `n` first, and name its number here",
            code="deviation_required",
        )
