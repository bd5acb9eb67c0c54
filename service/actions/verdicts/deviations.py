"""Filing deviations, deciding about them, and what they do to a verdict once there is one."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from service.actions.delivery.announcements import announce
from service.actions.verdicts.opening import open_rows
from service.domain.access import Key
from service.domain.deviations.as_run import apply, gain_of
from service.domain.deviations.changes import ExcludedClusters, ExcludedItems
from service.domain.deviations.classification import Facts
from service.domain.deviations.consequences import Consequences, consequences, nothing
from service.domain.deviations.deviation import (
    MAX_DECISIONS,
    MAX_DEVIATIONS,
    Decided,
    Decision,
    Deviation,
    Filing,
    Measured,
    Person,
    judge_filing,
    require_may_decide,
    require_person,
    standing,
)
from service.domain.deviations.direction import measure_direction
from service.domain.deviations.scope import check, find_touched
from service.domain.ledger import Kind, Receipt
from service.domain.moment import Moment
from service.domain.outgoing import Event
from service.domain.plans.preregistration import Preregistration, State
from service.domain.recent import Recent
from service.domain.results.batches import expected_total
from service.errors import Conflict
from service.store.ledger import ledger
from service.store.plans import plan_keys, preregistrations
from service.store.plans.populations import read_manifests
from service.store.projects import audit, keys
from service.store.results import coverage
from service.store.verdicts import deviations, verdicts

OPEN: tuple[State, ...] = ("locked", "collecting", "complete", "judged")
"""States in which deviations are filed and decided."""
UNBLINDING: tuple[Kind, ...] = ("unblinding", "reading", "look")
"""Ledger entries after which something of the outcomes is known: the answer of a look is, even if it says go on."""

_SEEN: Recent[tuple[str, int], Consequences] = Recent(256)
"""What deviations do to a verdict, by record and how many were filed: a second's work for large records."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A filing that fits the plan, with the directions that the rows show once they are open."""

    preregistration_id: str
    filing: Filing
    measured: Measured | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Filed:
    """A stored deviation and its place in the ledger."""

    deviation: Deviation
    receipt: Receipt


def prepare(session: Session, caller: Key, prereg_id: str, filing: Filing) -> Prepared:
    """Check a filing against the plan: the slow part, before the write transaction begins."""
    record = preregistrations.get(session, caller.project_id, prereg_id)
    record.require(*OPEN, action="filing a deviation")
    require_person(caller, "filing a deviation")
    check(record.plan, filing.change, read_manifests(session, record))
    return Prepared(prereg_id, filing, _measure(session, record, filing))


def file(session: Session, caller: Key, prepared: Prepared, moment: Moment) -> Filed:
    """Store a deviation with the facts of this moment and what the rules make of them."""
    record = preregistrations.get(session, caller.project_id, prepared.preregistration_id, for_update=True)
    record.require(*OPEN, action="filing a deviation")
    number = deviations.next_number(session, record.id)
    if number > MAX_DEVIATIONS:
        raise Conflict(
            f"preregistration {record.id} has {MAX_DEVIATIONS} deviations: register what you are doing now anew",
            code="too_many_deviations",
        )
    facts = _facts(session, record, outcomes_seen=prepared.filing.outcomes_seen)
    directions, classification, rule = judge_filing(record.plan, prepared.filing, facts, prepared.measured)
    deviation = Deviation(
        preregistration_id=record.id,
        number=number,
        plan_sha256=record.plan_sha256 or "",
        filing=prepared.filing,
        author=caller.name,
        author_key=caller.id,
        facts=facts,
        directions=directions,
        classification=classification,
        rule=rule,
        filed_at=moment.now,
    )
    deviation = deviations.insert(session, deviation, caller.id, moment.now)
    body = {
        "plan_sha256": record.plan_sha256,
        "deviation": number,
        "deviation_sha256": deviation.sha256(),
        "classification": classification,
    }
    audit.record_act(session, caller, "deviation.file", record.id, {"deviation": number}, now=moment.now)
    return Filed(deviation, announce(session, record, Event.DEVIATION_FILED, body, moment))


def decide(
    session: Session,
    caller: Key,
    prereg_id: str,
    number: int,
    wanted: Decided,
    note: str | None,
    moment: Moment,
) -> tuple[Deviation, tuple[Decision, ...], Receipt]:
    """Decide about a deviation: stricter than what stands, or as another person than its author."""
    record = preregistrations.get(session, caller.project_id, prereg_id, for_update=True)
    deviation = deviations.get(session, record.id, number)
    record.require(*OPEN, action="a decision")
    require_person(caller, "a decision")
    made = deviations.read_decisions(session, record.id, [number])[number]
    if len(made) >= MAX_DECISIONS:
        raise Conflict(f"deviation {number} has {MAX_DECISIONS} decisions", code="too_many_decisions")
    author = _person(session, deviation.author, deviation.author_key)
    reviewer = _person(session, caller.name, caller.id)
    decision = Decision(
        number=len(made) + 1,
        classification=wanted,
        note=note,
        reviewer=caller.name,
        reviewer_key=caller.id,
        gentler=require_may_decide(author, reviewer, standing(deviation, made), wanted, note),
        decided_at=moment.now,
    )
    decision = deviations.decide(session, deviation, decision, caller.id, moment.now)
    audit.record_act(session, caller, "deviation.decide", record.id, {"deviation": number}, now=moment.now)
    body = {
        "plan_sha256": record.plan_sha256,
        "deviation": number,
        "decision": decision.number,
        "decision_sha256": decision.sha256(),
        "classification": wanted,
    }
    return (
        deviation,
        (*made, decision),
        ledger.append(session, record, "deviation", body, moment),
    )


def effects_on_verdict(session: Session, record: Preregistration) -> Consequences | None:
    """Return what the record's deviations do to its verdict; None before the verdict."""
    verdict = verdicts.find(session, record.project_id, record.id)
    if record.judged_at is None or verdict is None:
        return None
    changes = {filed.number: filed.filing.change for filed in deviations.read_all(session, record.id)}
    # filed deviations stay as they are, and so do rows and verdict
    known = record.id, len(changes)
    try:
        plan_keys.read_released(session, record.id)
        effects = _SEEN.get(known)
        rows = open_rows(session, record) if effects is None else None
    except Conflict as refused:  # the rows were erased, or are too many
        return nothing(refused.detail)
    if effects is None and rows is not None:
        effects = consequences(
            rows, changes, {hypothesis.id: hypothesis.outcome for hypothesis in verdict.hypotheses}
        )
        _SEEN.add(known, effects, 1)
    return effects


def _person(session: Session, name: str, key_id: str | None) -> Person:
    """Return who holds a key, and which keys led to it."""
    makers = frozenset() if key_id is None else frozenset(keys.find_makers(session, key_id))
    return Person(name, key_id, makers)


def _measure(session: Session, record: Preregistration, filing: Filing) -> Measured | None:
    """Return what leaving the items out does to each difference; None before the verdict or for other changes."""
    if record.state != "judged" or not isinstance(filing.change, ExcludedItems | ExcludedClusters):
        return None
    try:
        rows = open_rows(session, record)
    except Conflict:  # then the change alone tells the direction
        return None
    shrunk = apply(rows, [filing.change])
    return {
        hypothesis.id: measure_direction(gain_of(rows, hypothesis), gain_of(shrunk, hypothesis))
        for hypothesis in find_touched(record.plan, filing.change)
    }


def _facts(session: Session, record: Preregistration, *, outcomes_seen: bool) -> Facts:
    return Facts(
        state=record.state,
        results_received=sum(count.received for count in coverage.read_counts(session, record.id)),
        results_expected=expected_total(record.plan),
        judged=record.judged_at is not None,
        unblinded=any(ledger.read_receipts(session, record.id, kind=kind) for kind in UNBLINDING),
        outcomes_seen=outcomes_seen,
    )
