"""Which items are in, as one bitmap per population, arm, endpoint and replicate.

Bit i, least significant first, is the item at manifest position i. Hold the record
(`for_update`) from reading a bitmap to saving it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import cast

import numpy as np
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from service.domain.plans.preregistration import State
from service.store.database import integrity
from service.store.database.pipeline import Later, Questions, Row
from service.store.database.tables import coverage, preregistrations

Cell = tuple[str, str, str, int]
"""Population, arm, endpoint, replicate."""


@dataclass(frozen=True, slots=True)
class CoverageCount:
    """How many items of a population, arm, endpoint and replicate are in."""

    population: str
    arm: str
    endpoint: str
    replicate: int
    received: int


def read_bitmap(session: Session, preregistration_id: str, cell: Cell, size: int) -> bytearray:
    """Return the bitmap of a cell of `size` items; all zero before its first batch."""
    rows = session.execute(_BITMAP, _make_key(preregistration_id, *cell))
    return bytearray(_require_count(preregistration_id, list(rows), size))


def ask(questions: Questions, preregistration_id: str, cell: Cell, size: int) -> Later[bytes]:
    """Return the bitmap of a cell, asked in one round trip with other questions."""
    key = _make_key(preregistration_id, *cell)
    return questions.ask(_BITMAP, key, lambda rows: _require_count(preregistration_id, rows, size))


def save(
    session: Session, preregistration_id: str, cell: Cell, bitmap: bytes | bytearray, count: int
) -> None:
    """Store the bitmap of a cell and how many of its bits are set."""
    key = _make_key(preregistration_id, *cell)
    row = {name.removeprefix("of_"): value for name, value in key.items()}
    save = _SAVE[session.get_bind().dialect.name]
    session.execute(save, row | {"bitmap": bytes(bitmap), "received": count})


def read_all(session: Session, preregistration_id: str) -> dict[Cell, tuple[bytes, int]]:
    """Read the bitmaps and counts of a record's cells, whatever they say."""
    rows = session.execute(_EVERY, {"id": preregistration_id})
    return {(row[0], row[1], row[2], row[3]): (bytes(row[4]), row[5]) for row in rows}


def _require_count(preregistration_id: str, rows: Sequence[Row], size: int) -> bytes:
    """A bitmap with as many bits as were counted when it was stored: one that flipped is seen before it counts."""
    if not rows:
        # No row yet: nobody is in. The last byte is filled up with zeros.
        return bytes((size + 7) // 8)
    bitmap, received = bytes(rows[0][0]), rows[0][1]
    bits = int(np.bitwise_count(np.frombuffer(bitmap, dtype=np.uint8)).sum(dtype=np.int64))
    whole = bits == received and len(bitmap) == (size + 7) // 8
    integrity.require("coverage", preregistration_id, holds=whole)
    return bitmap


def read_counts(session: Session, preregistration_id: str) -> list[CoverageCount]:
    """Return how many items are in, for every cell that has received any."""
    return [CoverageCount(*row) for row in session.execute(_COUNTS, {"id": preregistration_id})]


def count_received(session: Session, preregistration_ids: Sequence[str]) -> dict[str, int]:
    """Say how many rows are in, by record; 0 of one that has none."""
    record_id = coverage.c.preregistration_id
    statement = (
        sa.select(record_id, sa.func.sum(coverage.c.received))
        .where(record_id.in_(list(preregistration_ids)))
        .group_by(record_id)
    )
    return dict.fromkeys(preregistration_ids, 0) | {row[0]: int(row[1]) for row in session.execute(statement)}


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a record is: nothing that follows from outcomes."""

    state: State
    version: int
    received: int
    """Rows of all cells."""


def find_standing(session: Session, project_id: str, preregistration_id: str) -> Standing | None:
    """Return what can change of a project's record while it collects, by one statement; None where there is none."""
    row = session.execute(_STANDING, {"of_project": project_id, "id": preregistration_id}).one_or_none()
    return None if row is None else Standing(row[0], row[1], int(row[2]))


def _make_key(
    preregistration_id: str, population: str, arm: str, endpoint: str, replicate: int
) -> dict[str, str | int]:
    """Return a cell's columns, named as the statements below ask for them."""
    return {
        "of_preregistration_id": preregistration_id,
        "of_population": population,
        "of_arm": arm,
        "of_endpoint": endpoint,
        "of_replicate": replicate,
    }


# Made once: every batch executes them, and to make one takes longer.
_CELL = sa.and_(
    *(coverage.c[name.removeprefix("of_")] == sa.bindparam(name) for name in _make_key("", "", "", "", 0))
)
_NAMES = tuple(CoverageCount.__dataclass_fields__)
_COUNTS = (
    sa.select(*(coverage.c[name] for name in _NAMES))
    .where(coverage.c.preregistration_id == sa.bindparam("id"))
    .order_by(*(coverage.c[name] for name in _NAMES[:-1]))
)
_STANDING = sa.select(
    preregistrations.c.state,
    preregistrations.c.version,
    sa.select(sa.func.coalesce(sa.func.sum(coverage.c.received), 0))
    .where(coverage.c.preregistration_id == sa.bindparam("id"))
    .scalar_subquery(),
).where(
    preregistrations.c.project_id == sa.bindparam("of_project"), preregistrations.c.id == sa.bindparam("id")
)
_BITMAP = sa.select(coverage.c.bitmap, coverage.c.received).where(_CELL)
_EVERY = sa.select(*(coverage.c[name] for name in (*_NAMES[:-1], "bitmap", "received"))).where(
    coverage.c.preregistration_id == sa.bindparam("id")
)


def _make_upsert(dialect: ModuleType) -> sa.Insert:
    new = dialect.insert(coverage)
    return cast(
        sa.Insert,
        new.on_conflict_do_update(
            index_elements=list(coverage.primary_key.columns),
            set_={"bitmap": new.excluded.bitmap, "received": new.excluded.received},
        ),
    )


_SAVE = {"sqlite": _make_upsert(sqlite), "postgresql": _make_upsert(postgresql)}
