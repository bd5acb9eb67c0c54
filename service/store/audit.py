"""The audit log: who did what, and when. Never holds an outcome."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.records import StrictRecord
from service.store import paging, scope
from service.store.tables import audit_events


class AuditEvent(StrictRecord):
    """One thing that was done, or refused."""

    id: int
    project_id: str | None
    key_id: str | None
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
    """Add an event."""
    session.execute(
        sa.insert(audit_events).values(
            project_id=project_id,
            key_id=key_id,
            action=action,
            subject=subject,
            facts=dict(facts),
            created_at=now,
        )
    )


def page(
    session: Session, project_id: str, *, cursor: str | None = None, limit: int = 50
) -> tuple[list[AuditEvent], str | None]:
    """The project's events, newest first."""
    statement = scope.of_project(sa.select(audit_events), audit_events, project_id)
    return paging.page(session, statement, (audit_events.c.id,), _read, cursor=cursor, limit=limit)


def _read(row: sa.RowMapping) -> AuditEvent:
    return AuditEvent.model_validate(dict(row))
