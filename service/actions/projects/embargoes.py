"""Embargoes: a record that its plan keeps to the project until a day becomes public then, and the ledger has it."""

from __future__ import annotations

import logging
from datetime import datetime

from sqlalchemy.orm import Session

from service.domain.moment import Moment
from service.domain.plans.embargo import end_ahead
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import Preregistration
from service.errors import InvalidData, RecordAltered
from service.store.database import clock
from service.store.database.engine import Database
from service.store.ledger import ledger
from service.store.plans import preregistrations
from service.store.projects import audit, view_links

log = logging.getLogger("forelock.embargoes")

AT_ONCE = 100
"""Records that one call of `open_due` makes public; the others wait for the next call."""


def begin(session: Session, record: Preregistration, plan: Plan, now: datetime) -> None:
    """Put a plan that is being locked under the embargo that it names. The caller holds a lock on the record.

    Raises:
        InvalidData: the day has begun.
    """
    end = end_ahead(plan, now)
    if end is not None:
        view_links.share(session, record.id, "private", now, end)


def change(session: Session, record: Preregistration, plan: Plan, now: datetime) -> None:
    """Put a locked record under the embargo of its next version, where that is another.

    The caller holds a lock on the record.

    Raises:
        InvalidData: the day has begun, or others read the record by now.
    """
    if plan.embargo_until == record.plan.embargo_until:
        return
    path = "changes.embargo_until"
    end = end_ahead(plan, now, path=path)
    sharing = view_links.read_sharing(session, record.id)
    if end is not None and sharing.visibility != "private":
        raise InvalidData.field(
            path,
            f"keeps the record to the project, and its visibility is '{sharing.visibility}'",
            f"first PUT /v1/preregistrations/{record.id}/visibility with "
            '{"visibility": "private"}, or leave it out',
        )
    if end != sharing.opens_at:
        view_links.share(session, record.id, sharing.visibility, now, end)


def has_ended(session: Session, record: Preregistration) -> bool:
    """Tell whether the record's embargo has ended: the ledger has the entry `published`.

    For a plan that names no embargo the ledger is not read.
    """
    return record.plan.embargo_until is not None and bool(
        ledger.read_bodies(session, record.id, kind="published")
    )


def open_due(database: Database, *, now: datetime | None = None) -> int:
    """Make public what was to become public by now, each record in a transaction of its own; how many these were.

    A record that is not what was locked stays closed, and holds up no other.

    Args:
        now: the time to go by; None: the database's.
    """
    with database.read() as session:
        waiting = view_links.find_due(session, now or clock.read_now(session), AT_ONCE)
    opened = 0
    for project_id, record_id in waiting:
        try:
            with database.write() as session:
                opened += _open(session, project_id, record_id, Moment(now or clock.read_now(session)))
        except RecordAltered as error:
            log.error("record %s stays closed: %s", record_id, error.detail)  # noqa: TRY400 - said once, without a trace
    return opened


def _open(session: Session, project_id: str, record_id: str, moment: Moment) -> bool:
    """Make one record public; False where somebody else was first."""
    record = preregistrations.get(session, project_id, record_id, for_update=True)
    # Read again under the lock: since `find_due` another runner may have opened it, or an amendment moved its day.
    opens_at = view_links.read_sharing(session, record.id).opens_at
    if opens_at is None or opens_at > moment.now:
        return False
    day = opens_at.date().isoformat()
    view_links.share(session, record.id, "public", moment.now)
    audit.record(
        session,
        project_id=project_id,
        key_id=None,
        action="visibility.set",
        subject=record.id,
        facts={"visibility": "public", "before": "private", "embargo_until": day},
        now=moment.now,
    )
    ledger.append(
        session, record, "published", {"plan_sha256": record.plan_sha256, "embargo_until": day}, moment
    )
    return True
