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
    stored = session.scalar(_BITMAP, _key(preregistration_id, population, arm, endpoint, replicate))
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
    of_cell = _key(preregistration_id, population, arm, endpoint, replicate)
    if session.execute(_SAVE, of_cell | {"new_bitmap": values["bitmap"], "new_count": count}).first() is None:
        key = {name.removeprefix("of_"): value for name, value in of_cell.items()}
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


def _key(
    preregistration_id: str, population: str, arm: str, endpoint: str, replicate: int
) -> dict[str, str | int]:
    """A cell's columns, named as the statements below ask for them."""
    return {
        "of_preregistration_id": preregistration_id,
        "of_population": population,
        "of_arm": arm,
        "of_endpoint": endpoint,
        "of_replicate": replicate,
    }


# Made once: every batch executes them, and to make one takes longer.
_CELL = sa.and_(
    *(coverage.c[name.removeprefix("of_")] == sa.bindparam(name) for name in _key("", "", "", "", 0))
)
_BITMAP = sa.select(coverage.c.bitmap).where(_CELL)
_SAVE = (
    sa.update(coverage)
    .where(_CELL)
    .values(bitmap=sa.bindparam("new_bitmap"), received=sa.bindparam("new_count"))
    .returning(coverage.c.received)
)
