"""Naming what a criterion chose: one act for each arm, in the ledger before any result of the arm."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from service.domain.access import Key
from service.domain.ledger import Receipt
from service.domain.moment import Moment
from service.domain.plans.naming import NamedArm, Naming, describe_named, open_arms, require_nameable
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import Preregistration
from service.errors import InvalidData
from service.store.ledger import ledger
from service.store.ledger.ledger import Entry
from service.store.projects import audit


def name(
    session: Session, caller: Key, record: Preregistration, arm: str, naming: Naming, moment: Moment
) -> Receipt:
    """Name what the criterion of an arm chose: results of the arm are refused until then.

    The caller holds a lock on the record, so that no result comes in between the checks and the entry.

    Raises:
        Conflict: the record takes no results; `arm_named` already.
        InvalidData: the arm is not locked by a criterion, or the card contradicts what is locked.
    """
    record.require("locked", "collecting", action="naming an arm")
    require_nameable(record.plan, read_named_arms(session, record), arm, naming)
    audit.record_act(session, caller, "arm.name", record.id, {"arm": arm}, now=moment.now)
    body = {"plan_sha256": record.plan_sha256, "arm": arm, **naming.facts()}
    return ledger.append(session, record, "arm_named", body, moment)


def read_named_arms(session: Session, record: Preregistration) -> dict[str, NamedArm]:
    """Read the arms of a record that were named, by arm, in the order in which they were."""
    if record.state == "draft" or not open_arms(record.plan):
        return {}
    return collect_named_arms(ledger.read_entries(session, record.id, "arm_named"))


def collect_named_arms(entries: Sequence[Entry]) -> dict[str, NamedArm]:
    """Collect the named arms from a record's entries of the ledger, by arm; entries of other kinds are skipped."""
    read = ((entry, Naming.of(entry.body)) for entry in entries if entry.receipt.kind == "arm_named")
    namings = (
        NamedArm(
            arm=entry.body["arm"],
            card=naming.card,
            evidence=naming.evidence,
            at=entry.created_at,
            sequence=entry.sequence,
        )
        for entry, naming in read
    )
    return {naming.arm: naming for naming in namings}


def read_plan(session: Session, record: Preregistration) -> Plan:
    """Read the locked plan with the card of every arm that was named since: what files of the arm are held against."""
    return describe_named(
        record.plan, {arm: naming.card for arm, naming in read_named_arms(session, record).items()}
    )


def require_named_kept(session: Session, record: Preregistration, amended: Plan) -> None:
    """Refuse an amendment that changes an arm which was named under the plan as it is.

    Raises:
        InvalidData: an arm's card differs from the one it was named under; the message has the arm.
    """
    cards = {card.id: card for card in amended.arm_cards or ()}
    before = open_arms(record.plan)
    for arm in read_named_arms(session, record):
        if cards.get(arm) != before.get(arm):
            raise InvalidData.field(
                "changes.arms",
                f"change arm '{arm}', which was named under the plan as it is",
                "leave its card as it is, or withdraw the record and register anew",
            )
