"""Every locked version of a plan, for whoever needs more than the newest."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.domain.plans.locked import LockedPlan
from service.domain.plans.plan import Plan
from service.store import integrity
from service.store.tables import plans


def every(session: Session, preregistration_id: str) -> list[LockedPlan]:
    """The first one first. Reach it through a record that was read in its project."""
    columns = (plans.c.canonical, plans.c.sha256, plans.c.locked_at)
    statement = sa.select(*columns).where(plans.c.preregistration_id == preregistration_id)
    rows = session.execute(statement.order_by(plans.c.version)).all()
    for row in rows:
        integrity.require("plan", preregistration_id, holds=integrity.same(row.canonical, row.sha256))
    return [LockedPlan(Plan.from_json(row.canonical), row.sha256, row.locked_at) for row in rows]
