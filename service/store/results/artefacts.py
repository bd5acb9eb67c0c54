"""Kept files: which import's file lies under which name. What it held, and its size, are sealed with the import."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.store.database.import_tables import artefacts
from service.store.database.tables import preregistrations


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredArtefact:
    """The sealed file of an import."""

    preregistration_id: str
    number: int
    """Of the import."""
    object_sha256: str
    """Of the sealed bytes, and their name."""
    stored_bytes: int
    kept_at: datetime


def keep(session: Session, new: StoredArtefact) -> None:
    """Say where a file lies, in the transaction of its import; it lies there already."""
    row = {name: getattr(new, name) for name in StoredArtefact.__dataclass_fields__}
    session.execute(sa.insert(artefacts).values(row))


def read_of_record(session: Session, preregistration_id: str) -> dict[int, StoredArtefact]:
    """Return the kept files of a record, by the number of the import."""
    statement = sa.select(artefacts).where(artefacts.c.preregistration_id == preregistration_id)
    rows = session.execute(statement.order_by(artefacts.c.number)).mappings()
    return {row["number"]: StoredArtefact(**row) for row in rows}


def count_bytes(session: Session, project_id: str) -> int:
    """Return how many bytes the kept files of a project take."""
    statement = (
        sa.select(sa.func.coalesce(sa.func.sum(artefacts.c.stored_bytes), 0))
        .join(preregistrations, preregistrations.c.id == artefacts.c.preregistration_id)
        .where(preregistrations.c.project_id == project_id)
    )
    return int(session.scalar(statement) or 0)


def read_all(session: Session) -> Iterator[StoredArtefact]:
    """Yield all kept files of all projects."""
    statement = sa.select(artefacts).order_by(artefacts.c.preregistration_id, artefacts.c.number)
    for row in session.execute(statement).mappings():
        yield StoredArtefact(**row)


def forget_before(session: Session, before: datetime, *, most: int) -> list[str]:
    """Forget the oldest files that were kept before this, and say under which names they lie."""
    old = (
        sa.select(artefacts.c.preregistration_id, artefacts.c.number, artefacts.c.object_sha256)
        .where(artefacts.c.kept_at < before)
        .order_by(artefacts.c.kept_at)
        .limit(most)
    )
    rows = session.execute(old).all()
    for preregistration_id, number, _ in rows:
        session.execute(
            sa.delete(artefacts).where(
                artefacts.c.preregistration_id == preregistration_id, artefacts.c.number == number
            )
        )
    return [name for _, _, name in rows]
