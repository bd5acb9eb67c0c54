"""What a person does with a preregistration: draft it, lint it, lock it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from service.actions.delivery.announcements import announce
from service.actions.projects import embargoes
from service.domain.access import Key
from service.domain.canonical import sha256_hex
from service.domain.ledger import Receipt
from service.domain.lint.lint import lint
from service.domain.moment import Moment
from service.domain.outgoing import Event
from service.domain.plans.findings import Finding
from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import Preregistration
from service.domain.power.answers.level_records import RuleLevel
from service.domain.power.answers.records import RulePower
from service.domain.power.levels.level import levels
from service.domain.power.pilot import (
    PilotEstimates,
    PowerPilot,
    differences_of,
    pasteable,
    require_few,
    with_pilot,
)
from service.domain.power.rule_power import rule_powers
from service.domain.results import sealing
from service.errors import Fault, InvalidData, NotFound, TooMany
from service.store.ledger import ledger
from service.store.plans import populations, preregistrations
from service.store.plans.populations import Packed
from service.store.projects import audit

log = logging.getLogger("forelock.ledger")


def create(session: Session, caller: Key, plan: Plan, *, prereg_id: str, now: datetime) -> Preregistration:
    """Create a draft of a plan, which may have gaps."""
    record = Preregistration(
        id=prereg_id,
        project_id=caller.project_id,
        state="draft",
        revision=1,
        version=1,
        plan=plan,
        created_at=now,
    )
    preregistrations.insert(session, record)
    audit.record_act(session, caller, "preregistration.create", prereg_id, {}, now=now)
    return record


def require_room(session: Session, project_id: str, most: int) -> None:
    """Refuse a new draft where the project has `most` drafts already.

    Raises:
        TooMany: with code `too_many_drafts`.
    """
    if preregistrations.count_drafts(session, project_id, most) >= most:
        raise TooMany(
            f"this project has {most} drafts, as many as it may; lock or delete some", code="too_many_drafts"
        )


def replace_plan(
    session: Session, caller: Key, record: Preregistration, plan: Plan, *, now: datetime
) -> Preregistration:
    """Give a draft another plan; items of populations that the new plan does not have are removed."""
    record.require("draft")
    changed = preregistrations.replace_draft(session, record, plan)
    populations.remove_others(session, record.id, {population.id for population in plan.populations or ()})
    audit.record_act(
        session, caller, "preregistration.edit", record.id, {"revision": changed.revision}, now=now
    )
    return changed


def delete(session: Session, caller: Key, record: Preregistration, *, now: datetime) -> None:
    """Remove a draft for good."""
    record.require("draft")
    preregistrations.delete_draft(session, record)
    audit.record_act(session, caller, "preregistration.delete", record.id, {}, now=now)


def require_population(record: Preregistration, population: str) -> None:
    """Refuse items for anything but a population of a draft.

    Raises:
        Conflict: the record is not a draft.
        NotFound: its plan has no population of that id.
    """
    record.require("draft")
    if record.plan.population(population) is None:
        raise NotFound(f"the plan has no population '{population}'; it has {_list_names(record.plan)}")


def put_items(
    session: Session,
    caller: Key,
    record: Preregistration,
    population: str,
    manifest: Packed,
    *,
    now: datetime,
) -> tuple[Preregistration, ManifestFacts]:
    """Give a draft's population its item manifest; replacing one is an edit of the record."""
    require_population(record, population)
    earlier = populations.read_facts(session, record.id).get(population)
    facts = populations.put(session, record.id, population, manifest)
    # Whoever reviewed the earlier list holds an ETag of it, and must not lock another one by it: the revision goes up.
    if earlier not in (None, facts):
        record = preregistrations.replace_draft(session, record, record.plan)
    audit.record_act(
        session, caller, "preregistration.items", record.id, {"population": population, "n": facts.n}, now=now
    )
    return record, facts


@dataclass(frozen=True, slots=True)
class LintedDraft:
    """What lint said of one revision of a draft and its items."""

    revision: int
    facts: Mapping[str, ManifestFacts]
    findings: tuple[Finding, ...]


def lint_draft(record: Preregistration, facts: Mapping[str, ManifestFacts]) -> LintedDraft:
    """Lint a draft. It may take seconds, and needs no database."""
    return LintedDraft(record.revision, facts, lint(record.plan, facts))


def read_findings(record: Preregistration, facts: Mapping[str, ManifestFacts]) -> tuple[Finding, ...]:
    """Lint a draft; for a locked record read what lint said at its lock."""
    return lint(record.plan, facts) if record.lint is None else record.lint


def compute_power_by_pilot(
    record: Preregistration, facts: Mapping[str, ManifestFacts], pilots: Sequence[PowerPilot]
) -> tuple[tuple[RulePower, ...], tuple[RuleLevel, ...], tuple[PilotEstimates, ...], dict[str, Any] | None]:
    """Compute power and level of the rules under what pilot data say. Nothing is stored.

    Returns:
        The power of every rule; how often at most every rule holds where its claim is false; the estimates from the
        pilots; and the section `assumptions` of a plan that rests on them, None where it has nothing to say.
    """
    require_few(pilots)
    plan, estimates = with_pilot(record.plan, pilots)
    shaped = levels(record.plan, facts, differences_of(pilots, estimates))
    return rule_powers(plan, facts), shaped, estimates, pasteable(plan)


def lock(
    session: Session,
    caller: Key,
    record: Preregistration,
    linted: LintedDraft,
    acknowledge: Sequence[str] | str,
    moment: Moment,
    *,
    seal_public: bytes,
) -> tuple[Preregistration, Receipt]:
    """Lock the plan: from here on its text cannot change, and results may be posted.

    `linted` is of this revision; items that have changed since are refused.

    Raises:
        Conflict: the record is no draft.
        PreconditionFailed: the items are not those that were linted.
        InvalidData: lint errors (`lint_failed`), warnings nobody acknowledged, or an embargo that would be over.
    """
    record.require("draft")
    findings, facts = linted.findings, linted.facts
    refuse_errors(findings)
    codes = accept_warnings(findings, acknowledge)
    plan = record.plan.with_items(facts)
    text = plan.canonical_text()
    sha256 = sha256_hex(text.encode())
    # A key pair for this plan alone: rows are sealed to its public half, and the private half leaves this function
    # only wrapped to the runner, bound to the id and the hash of the plan.
    public, private = sealing.new_keypair()
    locked = preregistrations.lock(
        session,
        record,
        plan=plan,
        canonical_text=text,
        sha256=sha256,
        findings=findings,
        acknowledged=codes,
        plan_public_key=public,
        wrapped_private_key=sealing.seal(private, seal_public, sealing.key_info(record.id, sha256)),
        now=moment.now,
    )
    audit.record_act(
        session, caller, "preregistration.lock", record.id, {"acknowledged": list(codes)}, now=moment.now
    )
    embargoes.begin(session, locked, plan, moment.now)
    body = {"version": locked.version, "plan_sha256": sha256} | describe_clock(session, moment.now)
    return locked, announce(session, locked, Event.LOCKED, body, moment)


def describe_clock(session: Session, now: datetime) -> dict[str, bool]:
    """Describe a clock that was set back, for the leaf of a plan that is dated before older entries; else nothing.

    How far it was set back would tell when another project wrote last, so the leaf has only that it was, and the
    operator's log has the seconds.
    """
    behind = ledger.measure_set_back(session, now)
    if behind is None:
        return {}
    log.warning(
        "the clock stands %.0f s before the newest entry of the ledger: what is locked now is dated too early",
        behind.total_seconds(),
    )
    return {"clock_set_back": True}


def refuse_errors(findings: Sequence[Finding]) -> None:
    """Refuse a plan with lint errors.

    Raises:
        InvalidData: with code `lint_failed` and a fault for every error.
    """
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        raise InvalidData(
            f"the plan has {len(errors)} lint error(s); mend them and lock again",
            [
                Fault(finding.path, f"{finding.code}: {finding.message}", "mend the plan, and lock again")
                for finding in errors
            ],
            code="lint_failed",
        )


def accept_warnings(findings: Sequence[Finding], acknowledge: Sequence[str] | str) -> tuple[str, ...]:
    """Return the codes of the warnings that are acknowledged, in order; codes of no warning are dropped.

    Raises:
        InvalidData: with code `warnings_not_acknowledged`, where a warning that asks for it was left out.
    """
    warnings = {finding.code: finding for finding in findings if finding.severity == "warning"}
    if acknowledge == "all":
        return tuple(sorted(warnings))
    acknowledged_codes = set(acknowledge)
    open_warnings = [
        finding for finding in findings if finding.asks and finding.code not in acknowledged_codes
    ]
    if open_warnings:
        codes = sorted({finding.code for finding in open_warnings})
        raise InvalidData(
            f"acknowledge the lint warnings {', '.join(codes)} by code, or mend the plan",
            [
                Fault(finding.path, f"{finding.code}: {finding.message}", f"acknowledge '{finding.code}'")
                for finding in open_warnings
            ],
            code="warnings_not_acknowledged",
        )
    return tuple(sorted(acknowledged_codes & set(warnings)))


def _list_names(plan: Plan) -> str:
    return ", ".join(f"'{population.id}'" for population in plan.populations or ()) or "none"
