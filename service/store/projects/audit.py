"""The audit log: who did what, and when. Never holds an outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.domain.access import Key
from service.records import StrictRecord
from service.store.database import paging, scope
from service.store.database.paging import MAX_LIMIT
from service.store.database.tables import audit_events, keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One act, or one that was refused, as it is written into the log."""

    project_id: str | None
    key_id: str | None
    action: str
    subject: str | None
    facts: Mapping[str, Any]
    created_at: datetime


class AuditEvent(StrictRecord):
    """One act as it is read from the log. It has no number: numbers would tell how much other projects do."""

    key_id: str | None
    key_name: str | None
    action: str
    subject: str | None
    facts: dict[str, Any]
    created_at: datetime


def record(
    session: Session,
    *,
    project_id: str | None,
    key_id: str | None,
    action: str,
    subject: str | None,
    facts: Mapping[str, Any],
    now: datetime,
) -> None:
    """Add an event to the log, in the caller's transaction: what was rolled back was not done."""
    act = Act(
        project_id=project_id, key_id=key_id, action=action, subject=subject, facts=facts, created_at=now
    )
    record_all(session, [act])


def record_act(
    session: Session, caller: Key, action: str, subject: str, facts: Mapping[str, Any], *, now: datetime
) -> None:
    """Add an event for what a caller did in the caller's own project."""
    about = {"project_id": caller.project_id, "key_id": caller.id, "subject": subject}
    record(session, **about, action=action, facts=facts, now=now)


def record_all(session: Session, events: Sequence[Act]) -> None:
    """Add events to the log, in one statement."""
    if events:
        rows = [
            {
                "project_id": event.project_id,
                "key_id": event.key_id,
                "action": event.action,
                "subject": event.subject,
                "facts": dict(event.facts),
                "created_at": event.created_at,
            }
            for event in events
        ]
        session.execute(_RECORD, rows)


def read_page(
    session: Session,
    project_id: str | None,
    *,
    subject: str | None = None,
    action: str | None = None,
    key_id: str | None = None,
    since: datetime | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> tuple[list[AuditEvent], str | None]:
    """Read a page of the project's events, newest first, and the cursor of the next; None: those of the deployment."""
    limit = max(1, min(limit, MAX_LIMIT))
    events = audit_events.c
    if project_id is None:
        statement = _EVENTS.where(events.project_id.is_(None))
    else:
        statement = scope.select_of_project(_EVENTS, audit_events, project_id)
    for column, value in ((events.subject, subject), (events.action, action), (events.key_id, key_id)):
        if value is not None:
            statement = statement.where(column == value)
    if since is not None:
        statement = statement.where(events.created_at >= since)
    # Events have no public number, so a cursor is the time of the last event on the page, and how many of that time
    # were on it or before.
    before, skipped = (
        (None, 0) if cursor is None else paging.decode(cursor, paging.parse_moment, _require_count)
    )
    if before is not None:
        statement = statement.where(events.created_at <= before)
    statement = (
        statement.order_by(events.created_at.desc(), events.id.desc()).offset(skipped).limit(limit + 1)
    )
    rows = session.execute(statement).mappings().all()
    following = None
    if len(rows) > limit:
        last = rows[limit - 1]["created_at"]
        alike = sum(row["created_at"] == last for row in rows[:limit])
        # Of the same time on the page before as well: those were skipped by `offset` and are to be skipped again.
        following = paging.encode([last, alike + (skipped if before == last else 0)])
    return [AuditEvent.model_validate(dict(row)) for row in rows[:limit]], following


# Who acted is named to its own project alone.
_NAMED = sa.and_(keys.c.id == audit_events.c.key_id, keys.c.project_id == audit_events.c.project_id)
_RECORD = sa.insert(audit_events).inline()  # nobody asks for the number: it does not wait for an answer
_EVENTS = sa.select(
    *(audit_events.c[name] for name in ("key_id", "action", "subject", "facts", "created_at")),
    keys.c.name.label("key_name"),
).select_from(audit_events.outerjoin(keys, _NAMED))


def _require_count(value: Any) -> int:
    if type(value) is not int or not 0 < value < 2**31:
        raise ValueError("not a number")
    return value
