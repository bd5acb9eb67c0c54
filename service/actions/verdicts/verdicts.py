"""From a complete plan to its verdict: open the rows, judge in a worker, record once."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from service.actions.delivery.announcements import announce
from service.actions.results import endings
from service.actions.verdicts import validity
from service.domain.moment import Moment
from service.domain.outgoing import Event
from service.domain.plans.preregistration import Preregistration
from service.domain.results import sealing
from service.domain.verdicts.judge import Inputs
from service.domain.verdicts.outcomes import Outcomes
from service.domain.verdicts.records import Verdict, VoidedBatch
from service.domain.verdicts.stopping import is_sequential
from service.errors import Conflict
from service.store.ledger import ledger
from service.store.plans import plan_keys, plans, preregistrations
from service.store.plans.populations import manifests_of
from service.store.projects import audit
from service.store.results import batches
from service.store.verdicts import verdicts


def inputs(
    session: Session, project_id: str, prereg_id: str, *, seal_private: bytes, now: datetime
) -> Inputs:
    """Open a complete plan's rows. Only the runner holds `seal_private`."""
    record = preregistrations.get(session, project_id, prereg_id)
    record.require("complete")
    outcomes, voided = opened(session, record, seal_private=seal_private)
    if not _is_stopped(session, record):
        outcomes.require_complete()
    return Inputs(
        preregistration_id=prereg_id,
        plan_sha256=record.plan_sha256 or "",
        plan=record.plan,
        manifests=manifests_of(session, record),
        outcomes=outcomes,
        voided=voided,
        judged_at=now,
        marks=validity.marks(session, record, outcomes.observed),
    )


def _is_stopped(session: Session, record: Preregistration) -> bool:
    """A look or a reading that is on record has ended it before every result was in."""
    looks = (
        *ledger.bodies(session, record.id, kind="look"),
        *ledger.bodies(session, record.id, kind="reading"),
    )
    return is_sequential(record.plan) and any(look["decision"] == "stop" for look in looks)


def opened(
    session: Session, record: Preregistration, *, seal_private: bytes
) -> tuple[Outcomes, tuple[VoidedBatch, ...]]:
    """What is in of a locked plan, in the open, and the batches that do not count."""
    sha256 = record.plan_sha256 or ""
    plan_private = _plan_private(session, record, seal_private)
    outcomes, voided = Outcomes.empty(record.plan, closed=endings.closed(session, record)), []
    for batch in batches.every(session, record.id, include_void=True):
        if batch.void:
            voided.append(VoidedBatch(batch=batch.sealed.sequence, reason=batch.void_reason or ""))
        else:
            outcomes.place(sealing.open_batch(batch.sealed, sha256, plan_private)[0])
    return outcomes, tuple(voided)


def release_key(session: Session, record: Preregistration, *, seal_private: bytes) -> None:
    """Let a plan's key go before its verdict, as an unblinding on record asks. Only the runner holds `seal_private`."""
    record.require("locked", "collecting", "complete", "judged", action="unblinding")
    plan_keys.release(session, record.id, _plan_private(session, record, seal_private))


def record(
    session: Session, project_id: str, verdict: Verdict, moment: Moment, *, seal_private: bytes
) -> Mapping[str, Any]:
    """Store the verdict, release the plan's key and move the record to judged, all or nothing."""
    stored = preregistrations.get(session, project_id, verdict.preregistration_id, for_update=True)
    if stored.state == "judged":
        raise Conflict("this preregistration is judged already", code="already_judged")
    stored.require("complete")
    private = _plan_private(session, stored, seal_private)
    verdict_sha256 = verdicts.insert(session, project_id, verdict)
    preregistrations.move(session, stored, "judged", moment.now)
    plan_keys.release(session, stored.id, private)
    audit.record(
        session,
        project_id=project_id,
        key_id=None,
        action="verdict.record",
        subject=stored.id,
        facts={},
        now=moment.now,
    )
    body = {"plan_sha256": verdict.plan_sha256, "verdict_sha256": verdict_sha256}
    receipt = ledger.append_of(session, stored, "verdict", body, moment)
    announce(session, stored, Event.JUDGED, receipt.sequence, now=moment.now)
    return {"preregistration_id": stored.id}


def _plan_private(session: Session, record: Preregistration, seal_private: bytes) -> bytes:
    info = sealing.key_info(record.id, plans.first_sha256(session, record.id))
    return sealing.unwrap_key(plan_keys.wrapped(session, record.id), seal_private, info)
