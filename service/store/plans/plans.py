"""Locked plans: the canonical text is the record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.domain.plans.locked import LockedPlan
from service.domain.plans.plan import Plan
from service.errors import NotFound
from service.store.database import integrity
from service.store.database.tables import plans


@dataclass(frozen=True, slots=True)
class LockedVersion:
    """One version of a locked plan."""

    version: int
    sha256: str
    locked_at: datetime


def read_canonical(session: Session, preregistration_id: str, version: int | None = None) -> tuple[str, str]:
    """Return the text of a locked version and its SHA-256; by default of the newest."""
    statement = sa.select(plans.c.canonical, plans.c.sha256).where(
        plans.c.preregistration_id == preregistration_id
    )
    if version is not None:
        statement = statement.where(plans.c.version == version)
    row = session.execute(statement.order_by(plans.c.version.desc()).limit(1)).one_or_none()
    if row is None:
        which = "locked plan" if version is None else f"locked version {version}"
        raise NotFound(f"preregistration {preregistration_id} has no {which}")
    integrity.require("plan", preregistration_id, holds=integrity.is_same(row.canonical, row.sha256))
    return row.canonical, row.sha256


def read_versions(session: Session, preregistration_id: str) -> list[LockedVersion]:
    """Return every locked version, the first one first."""
    wanted = [plans.c[name] for name in LockedVersion.__dataclass_fields__]
    statement = sa.select(*wanted).where(plans.c.preregistration_id == preregistration_id)
    return [LockedVersion(*row) for row in session.execute(statement.order_by(plans.c.version))]


def read_first_sha256(session: Session, preregistration_id: str) -> str:
    """Read the plan's hash as it was first locked, which its key is bound to whatever was amended since."""
    statement = sa.select(plans.c.sha256).where(plans.c.preregistration_id == preregistration_id)
    sha256 = session.scalar(statement.order_by(plans.c.version).limit(1))
    if sha256 is None:
        raise NotFound(f"preregistration {preregistration_id} has no locked plan")
    return str(sha256)


def read_texts(session: Session, preregistration_id: str) -> list[str]:
    """Return the text of every locked version, the first one first."""
    return [row.canonical for row in _read_rows(session, preregistration_id)]


def read_all(session: Session, preregistration_id: str) -> list[LockedPlan]:
    """Read every locked version as a plan, the first one first. Reach it through a record read in its project."""
    rows = _read_rows(session, preregistration_id)
    return [LockedPlan(Plan.from_json(row.canonical), row.sha256, row.locked_at) for row in rows]


def _read_rows(session: Session, preregistration_id: str) -> Sequence[sa.Row[Any, Any, Any]]:
    statement = sa.select(plans.c.canonical, plans.c.sha256, plans.c.locked_at).where(
        plans.c.preregistration_id == preregistration_id
    )
    rows = session.execute(statement.order_by(plans.c.version)).all()
    holds = all(integrity.is_same(row.canonical, row.sha256) for row in rows)
    integrity.require("plan", preregistration_id, holds=holds)
    return rows
