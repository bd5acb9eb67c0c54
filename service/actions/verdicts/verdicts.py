"""From a complete plan to its verdict: open the rows, judge in a worker, record once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from service.actions.delivery.announcements import announce
from service.actions.verdicts import validity
from service.actions.verdicts.opening import open_batches
from service.domain.moment import Moment
from service.domain.outgoing import Event
from service.domain.plans.preregistration import Preregistration
from service.domain.verdicts.judge import Inputs
from service.domain.verdicts.records import Verdict
from service.domain.verdicts.stopping import is_sequential
from service.errors import Conflict
from service.store.ledger import ledger
from service.store.plans import plan_keys, preregistrations
from service.store.projects import audit
from service.store.verdicts import verdicts


def inputs(
    session: Session, project_id: str, prereg_id: str, *, seal_private: bytes, now: datetime
) -> Inputs:
    """Open a complete plan's rows. Only the runner holds `seal_private`."""
    record = preregistrations.get(session, project_id, prereg_id)
    record.require("complete")
    rows, voided = open_batches(session, record, plan_keys.unwrap(session, record.id, seal_private))
    if not _is_stopped(session, record):
        rows.outcomes.require_complete()
    marks = validity.marks(session, record, rows.outcomes.observed)
    return Inputs(prereg_id, record.plan_sha256 or "", replace(rows, marks=marks), voided, now)


def _is_stopped(session: Session, record: Preregistration) -> bool:
    """A look or a reading that is on record has ended it before every result was in."""
    looks = (
        *ledger.read_bodies(session, record.id, kind="look"),
        *ledger.read_bodies(session, record.id, kind="reading"),
    )
    return is_sequential(record.plan) and any(look["decision"] == "stop" for look in looks)


def release_key(session: Session, record: Preregistration, *, seal_private: bytes) -> None:
    """Let a plan's key go before its verdict, as an unblinding on record asks. Only the runner holds `seal_private`."""
    record.require("locked", "collecting", "complete", "judged", action="unblinding")
    plan_keys.release(session, record.id, plan_keys.unwrap(session, record.id, seal_private))


def record(
    session: Session, project_id: str, verdict: Verdict, moment: Moment, *, seal_private: bytes
) -> Mapping[str, Any]:
    """Store the verdict, release the plan's key and move the record to judged, all or nothing."""
    stored = preregistrations.get(session, project_id, verdict.preregistration_id, for_update=True)
    if stored.state == "judged":
        raise Conflict("this preregistration is judged already", code="already_judged")
    stored.require("complete")
    private = plan_keys.unwrap(session, stored.id, seal_private)
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
    announce(session, stored, Event.JUDGED, body, moment)
    return {"preregistration_id": stored.id}
