"""Which items are in, as one bitmap per population, arm, endpoint and replicate.

Bit i, least significant first, is the item at manifest position i. Hold the record
(`for_update`) from reading a bitmap to saving it.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.store.tables import coverage


@dataclass(frozen=True, slots=True)
class CoverageCount:
    """How many items of a cell are in."""

    population: str
    arm: str
    endpoint: str
    replicate: int
    received: int


def bitmap(
    session: Session,
    preregistration_id: str,
    population: str,
    arm: str,
    endpoint: str,
    replicate: int,
    size: int,
) -> bytearray:
    """The bitmap of a cell of `size` items; all zero before its first batch."""
    cell = _cell(preregistration_id, population, arm, endpoint, replicate)
    stored = session.scalar(sa.select(coverage.c.bitmap).where(cell))
    return bytearray((size + 7) // 8) if stored is None else bytearray(stored)


def save(
    session: Session,
    preregistration_id: str,
    population: str,
    arm: str,
    endpoint: str,
    replicate: int,
    bitmap: bytes | bytearray,
    count: int,
) -> None:
    """Store the bitmap of a cell and how many of its bits are set."""
    values = {"bitmap": bytes(bitmap), "received": count}
    cell = _cell(preregistration_id, population, arm, endpoint, replicate)
    statement = sa.update(coverage).where(cell).values(values).returning(coverage.c.received)
    if session.execute(statement).first() is None:
        key = {
            "preregistration_id": preregistration_id,
            "population": population,
            "arm": arm,
            "endpoint": endpoint,
            "replicate": replicate,
        }
        session.execute(sa.insert(coverage).values(key | values))


def counts(session: Session, preregistration_id: str) -> list[CoverageCount]:
    """How many items are in, for every cell that has received any."""
    names = list(CoverageCount.__dataclass_fields__)
    statement = (
        sa.select(*(coverage.c[name] for name in names))
        .where(coverage.c.preregistration_id == preregistration_id)
        .order_by(*(coverage.c[name] for name in names[:-1]))
    )
    return [CoverageCount(*row) for row in session.execute(statement)]


def _cell(
    preregistration_id: str, population: str, arm: str, endpoint: str, replicate: int
) -> sa.ColumnElement[bool]:
    return sa.and_(
        coverage.c.preregistration_id == preregistration_id,
        coverage.c.population == population,
        coverage.c.arm == arm,
        coverage.c.endpoint == endpoint,
        coverage.c.replicate == replicate,
    )
