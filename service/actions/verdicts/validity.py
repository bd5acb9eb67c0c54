"""What stands against the verdict of a record, found from the record and its ledger. Opens no row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sqlalchemy.orm import Session

from service.actions.plans import namings
from service.domain.plans.naming import describe_named, open_arms
from service.domain.plans.preregistration import Preregistration
from service.domain.results.other_systems import other_systems
from service.domain.results.runs import NamedBatch, find_concerned, resting_on, violations
from service.domain.verdicts.validity import (
    Effect,
    Mark,
    mark_closed_early,
    mark_unblinded,
    of_card,
    of_contents,
    of_criterion,
    of_runs,
)
from service.store.ledger import ledger
from service.store.results import batches, runs


def marks(
    session: Session, record: Preregistration, observed: Mapping[str | None, int] | None = None
) -> tuple[Mark, ...]:
    """Return every mark of a record, in the order in which the codes stand in `validity`.

    Args:
        observed: the earliest time of a row by run, once rows are open.
    """
    possible = [_mark_unblinding(session, record), _mark_close(session, record)]
    return (
        *(mark for mark in possible if mark is not None),
        *_runs(session, record, observed or {}),
        *_criteria(session, record),
    )


def _mark_unblinding(session: Session, record: Preregistration) -> Mark | None:
    """Outcomes were opened; batches that count and stand after that in the ledger came too late, and so did a close."""
    openings = ledger.read_entries(session, record.id, "unblinding")
    if not openings:
        return None
    first = openings[0]
    counting = set(batches.read_sequences(session, record.id))
    late = [
        int(body["batch"])
        for _, body in ledger.read_numbered_bodies(session, record.id, kind="batch", after=first.sequence)
        if body["batch"] in counting
    ]
    closed = bool(ledger.read_numbered_bodies(session, record.id, kind="close", after=first.sequence))
    return mark_unblinded(first.created_at, late, closed=closed)


def _runs(session: Session, record: Preregistration, observed: Mapping[str | None, int]) -> Iterator[Mark]:
    """Yield what batches that count say of their runs and systems, held against the plan."""
    bound = {
        name: replace(run, observed=observed.get(name))
        for name, run in runs.read_bound(session, record.id).items()
    }
    asks = (
        record.plan.runs is not None
        or bool(record.plan.arm_cards)
        or record.plan.import_mapping is not None  # only imports are held against pinned items
    )
    if record.locked_at is None or not (asks or bound):
        return
    counting = set(batches.read_sequences(session, record.id))
    counted_batches = [
        NamedBatch(
            batch=body["batch"],
            sequence=sequence,
            card_differs=tuple(body.get("card_differs", ())),
            content_differs=body.get("content_differs", 0),
            **{name: body[name] for name in ("population", "arm", "endpoint", "run")},
        )
        for sequence, body in ledger.read_numbered_bodies(session, record.id, kind="batch")
        if body["batch"] in counting
    ]
    effect: Effect = "flag" if record.plan.runs is None else record.plan.runs.on_violation
    for code, broken in violations(record.plan, record.locked_at, counted_batches, bound).items():
        yield of_runs(code, effect, broken, find_concerned(record.plan, broken))
    plan = describe_named(
        record.plan, {arm: one.card for arm, one in namings.read_named_arms(session, record).items()}
    )
    for other in other_systems(plan, counted_batches, bound):
        yield of_card(other, find_concerned(record.plan, other.batches))
    if others := [batch for batch in counted_batches if batch.content_differs]:
        yield of_contents(others, find_concerned(record.plan, others))


def _criteria(session: Session, record: Preregistration) -> Iterator[Mark]:
    """Yield what became of the arms that were locked by a criterion."""
    named_arms = namings.read_named_arms(session, record)
    for arm, card in open_arms(record.plan).items():
        yield of_criterion(card, named_arms.get(arm), resting_on(record.plan, arm))


def _mark_close(session: Session, record: Preregistration) -> Mark | None:
    """The collection was closed before the planned n."""
    closing = ledger.read_entries(session, record.id, "close")
    if not closing:
        return None
    body = closing[0].body
    return mark_closed_early(closing[0].created_at, body["received"], body["expected"], body["deviation"])
