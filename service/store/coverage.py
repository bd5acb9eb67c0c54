"""Which items are in, as one bitmap per population, arm, endpoint and replicate.

Bit i, least significant first, is the item at manifest position i. Hold the record
(`for_update`) from reading a bitmap to saving it.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import cast

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from service.store.pipeline import Later, Questions
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


def asked(questions: Questions, cell: tuple[str, str, str, str, int], size: int) -> Later[bytes]:
    """The same, beside other questions; `cell` is record, population, arm, endpoint and replicate."""
    return questions.ask(
        _BITMAP, _key(*cell), lambda rows: bytes(rows[0][0]) if rows else bytes((size + 7) // 8)
    )


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
    key = _key(preregistration_id, population, arm, endpoint, replicate)
    row = {name.removeprefix("of_"): value for name, value in key.items()}
    save = _SAVE[session.get_bind().dialect.name]
    session.execute(save, row | {"bitmap": bytes(bitmap), "received": count})


def counts(session: Session, preregistration_id: str) -> list[CoverageCount]:
    """How many items are in, for every cell that has received any."""
    return [CoverageCount(*row) for row in session.execute(_COUNTS, {"id": preregistration_id})]


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
_NAMES = tuple(CoverageCount.__dataclass_fields__)
_COUNTS = (
    sa.select(*(coverage.c[name] for name in _NAMES))
    .where(coverage.c.preregistration_id == sa.bindparam("id"))
    .order_by(*(coverage.c[name] for name in _NAMES[:-1]))
)
_BITMAP = sa.select(coverage.c.bitmap).where(_CELL)


def _save(dialect: ModuleType) -> sa.Insert:
    new = dialect.insert(coverage)
    return cast(
        sa.Insert,
        new.on_conflict_do_update(
            index_elements=list(coverage.primary_key.columns),
            set_={"bitmap": new.excluded.bitmap, "received": new.excluded.received},
        ),
    )


_SAVE = {"sqlite": _save(sqlite), "postgresql": _save(postgresql)}
