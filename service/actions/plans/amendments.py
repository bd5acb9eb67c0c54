"""Amending a locked plan while no result exists: the next version, linted anew, with the hash of the one before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from service.actions.delivery.announcements import announce
from service.actions.plans import namings
from service.actions.plans.preregistrations import accept_warnings, describe_clock, refuse_errors
from service.actions.projects import embargoes
from service.domain.access import Key
from service.domain.ledger import Receipt
from service.domain.lint.lint import lint
from service.domain.moment import Moment
from service.domain.outgoing import Event
from service.domain.plans.findings import Finding
from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import Preregistration
from service.errors import InvalidData, PreconditionFailed
from service.store.ledger import ledger
from service.store.plans import plans, preregistrations
from service.store.projects import audit


@dataclass(frozen=True, slots=True)
class Proposal:
    """The next version of a plan, and what lint says of it."""

    revision: int
    """Of the record when the proposal was linted: an amendment of any other revision is refused."""
    plan: Plan
    findings: tuple[Finding, ...]


def propose(record: Preregistration, plan: Plan, facts: Mapping[str, ManifestFacts]) -> Proposal:
    """Lint the next version on the items that the record is locked to. It may take seconds, and needs no database.

    Raises:
        Conflict: the record is not locked, or has results.
        InvalidData: nothing changes, or the population's items would.
    """
    record.require("locked", action="an amendment")
    amended = plan.with_items(facts)
    if amended.sha256() == record.plan_sha256:
        raise InvalidData.field(
            "changes", "leave the plan as it is", "change something, or leave it as it is locked"
        )
    return Proposal(record.revision, amended, lint(plan, facts))


def amend(
    session: Session,
    caller: Key,
    record: Preregistration,
    proposed: Proposal,
    reason: str,
    acknowledge: Sequence[str] | str,
    moment: Moment,
) -> tuple[Preregistration, Receipt]:
    """Store the next version. The one before stays on record, and the ledger has which follows which.

    Raises:
        Conflict: the record is not locked, or has results by now.
        PreconditionFailed: it has changed since the proposal was linted.
        InvalidData: lint errors (`lint_failed`), warnings nobody acknowledged, an arm that was named already, or an
            embargo that cannot be kept.
    """
    record.require("locked", action="an amendment")
    if proposed.revision != record.revision:
        raise PreconditionFailed("the record has changed since the amendment was linted: send it again")
    namings.require_named_kept(session, record, proposed.plan)
    refuse_errors(proposed.findings)
    codes = accept_warnings(proposed.findings, acknowledge)
    changed = preregistrations.amend(
        session, record, plan=proposed.plan, findings=proposed.findings, acknowledged=codes, now=moment.now
    )
    embargoes.change(session, record, proposed.plan, moment.now)
    facts = {"version": changed.version, "acknowledged": list(codes)}
    audit.record_act(session, caller, "preregistration.amend", record.id, facts, now=moment.now)
    body = {
        "version": changed.version,
        "plan_sha256": changed.plan_sha256,
        "prior_sha256": record.plan_sha256,
        "reason": reason,
        **describe_clock(session, moment.now),
    }
    return changed, announce(session, changed, Event.AMENDED, body, moment)


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a plan, how it came about, and its receipt."""

    version: int
    plan_sha256: str
    prior_sha256: str | None
    reason: str | None
    """Of the amendment; null for the first version."""
    locked_at: datetime
    receipt: Receipt


def list_versions(session: Session, record: Preregistration) -> list[Version]:
    """List every version of a locked plan, the first one first, with its receipt of the ledger.

    A version without an entry of the ledger is left out: nothing shows when it came about.
    """
    events = {
        entry.body["version"]: entry
        for entry in ledger.read_entries(session, record.id, "plan_locked", "plan_amended")
    }
    return [
        Version(
            version=version.version,
            plan_sha256=version.sha256,
            prior_sha256=events[version.version].body.get("prior_sha256"),
            reason=events[version.version].body.get("reason"),
            locked_at=version.locked_at,
            receipt=events[version.version].receipt,
        )
        for version in plans.read_versions(session, record.id)
        if version.version in events
    ]
