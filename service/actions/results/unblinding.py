"""Breaking a plan's seals before its verdict, and destroying its rows: asked for here, on record for good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from service.actions.delivery.announcements import announce
from service.actions.results.results import enqueue
from service.domain.access import Key
from service.domain.deviations.deviation import require_person
from service.domain.ledger import Kind, Receipt
from service.domain.moment import Moment
from service.domain.outgoing import Event
from service.domain.plans.preregistration import ONCE_LOCKED, Preregistration
from service.domain.results.batches import expected_total
from service.domain.results.unblinding import (
    Erasure,
    ErasureRequest,
    Unblinding,
    UnblindingRequest,
    facts,
    require_known,
    require_more,
)
from service.errors import Conflict
from service.store.jobs.jobs import Job
from service.store.ledger import ledger
from service.store.ledger.ledger import Entry
from service.store.plans import plan_keys
from service.store.projects import audit
from service.store.results import coverage

SEALS: tuple[Kind, ...] = ("unblinding", "erasure")
"""Kinds of entries that say what became of the seals."""
KIND = "unblinding"
"""Of the job by which the runner lets the key go."""


@dataclass(frozen=True, slots=True)
class Seals:
    """What became of a plan's seals, apart from its verdict."""

    unblindings: tuple[Unblinding, ...]
    erasure: Erasure | None

    @property
    def changes(self) -> int:
        """How often the record's view has changed by them."""
        return len(self.unblindings) + (self.erasure is not None)


def seals(session: Session, record: Preregistration) -> Seals:
    """Return every unblinding of a record in order, and its erasure."""
    if record.state == "draft":
        return Seals((), None)
    return seals_of(ledger.read_entries(session, record.id, *SEALS))


def seals_of(entries: Sequence[Entry]) -> Seals:
    """Return the same, of the record's entries."""
    opened = [
        Unblinding.model_validate(_with_time(entry))
        for entry in entries
        if entry.receipt.kind == "unblinding"
    ]
    erased = [
        Erasure.model_validate(_with_time(entry)) for entry in entries if entry.receipt.kind == "erasure"
    ]
    return Seals(tuple(opened), erased[0] if erased else None)


def unblind(
    session: Session, caller: Key, record: Preregistration, request: UnblindingRequest, moment: Moment
) -> tuple[Unblinding, Receipt, Job | None]:
    """Open results before the verdict. The record is held; the runner lets the key go, if it has not yet.

    Raises:
        Conflict: `already_judged`, `already_unblinded`, `erased`, or a state without results to open.
        Forbidden: `person_required`.
        InvalidData: a population or endpoint that the plan does not have.
    """
    require_person(caller, "unblinding")
    if record.judged_at is not None:
        raise Conflict(
            "the verdict is there, and the results with it: nothing is blinded", code="already_judged"
        )
    record.require("locked", "collecting", "complete", action="unblinding")
    require_known(record.plan, request)
    require_more(seals(session, record).unblindings, request)
    released = plan_keys.is_released(session, record.id)
    made = Unblinding(
        at=moment.now,
        by=caller.name,
        by_key=caller.id,
        reason=request.reason,
        population=request.population,
        endpoint=request.endpoint,
        received=sum(count.received for count in coverage.read_counts(session, record.id)),
        expected=expected_total(record.plan),
    )
    audit.record_act(session, caller, "preregistration.unblind", record.id, {}, now=moment.now)
    job = None if released else enqueue(session, record, KIND, moment)
    return made, announce(session, record, Event.UNBLINDED, facts(made), moment), job


def erase(
    session: Session, caller: Key, record: Preregistration, request: ErasureRequest, moment: Moment
) -> tuple[Erasure, Receipt]:
    """Destroy the plan's key in every form, in the transaction that says so. The record is held.

    Raises:
        Conflict: `erased` already, or a draft, which has no rows.
        Forbidden: `person_required`.
    """
    require_person(caller, "erasing rows")
    record.require(*ONCE_LOCKED, action="erasing rows")
    plan_keys.is_released(session, record.id)  # raises where they are erased already
    made = Erasure(at=moment.now, by=caller.name, by_key=caller.id, reason=request.reason)
    audit.record_act(session, caller, "preregistration.erase", record.id, {}, now=moment.now)
    receipt = ledger.append(session, record, "erasure", facts(made), moment)
    # its guard wants the entry; nobody waits for this row with a lock in hand
    plan_keys.erase(session, record.id)
    return made, receipt


def _with_time(entry: ledger.Entry) -> dict[str, object]:
    body = {name: value for name, value in entry.body.items() if name != "preregistration_id"}
    return body | {"at": entry.created_at}
