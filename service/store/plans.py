"""Locked plans: the canonical text is the record."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.errors import NotFound
from service.store import integrity
from service.store.tables import plans


def canonical(session: Session, preregistration_id: str) -> tuple[str, str]:
    """The text of the newest locked version and its SHA-256."""
    statement = sa.select(plans.c.canonical, plans.c.sha256).where(
        plans.c.preregistration_id == preregistration_id
    )
    row = session.execute(statement.order_by(plans.c.version.desc()).limit(1)).one_or_none()
    if row is None:
        raise NotFound(f"preregistration {preregistration_id} has no locked plan")
    integrity.require("plan", preregistration_id, holds=integrity.same(row.canonical, row.sha256))
    return row.canonical, row.sha256


def texts(session: Session, preregistration_id: str) -> list[str]:
    """The text of every locked version, the first one first."""
    statement = sa.select(plans.c.canonical, plans.c.sha256).where(
        plans.c.preregistration_id == preregistration_id
    )
    found = session.execute(statement.order_by(plans.c.version)).all()
    holds = all(integrity.same(row.canonical, row.sha256) for row in found)
    integrity.require("plan", preregistration_id, holds=holds)
    return [row.canonical for row in found]
