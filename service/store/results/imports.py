"""Imports of result files: which became which batches. What a file was and held is sealed like its rows."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.store.database import paging
from service.store.database.import_tables import imports


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredImport:
    """An import as it is kept."""

    preregistration_id: str
    number: int
    format: str
    reader_version: int
    batches: tuple[int, ...]
    sealed: bytes = field(repr=False)
    received_at: datetime
    key_id: str


def next_number(session: Session, preregistration_id: str) -> int:
    """Return the number the next import will have, from 1. Hold the record (`for_update`) before asking."""
    return (session.scalar(_LAST, {"id": preregistration_id}) or 0) + 1


def append(session: Session, new: StoredImport) -> None:
    """Store an import, in the transaction of its batches."""
    row = {name: getattr(new, name) for name in StoredImport.__dataclass_fields__}
    session.execute(sa.insert(imports).values(row | {"batches": json.dumps(new.batches)}))


def find(session: Session, preregistration_id: str, number: int) -> StoredImport | None:
    """Find one import, if there is one of that number."""
    statement = sa.select(imports).where(
        imports.c.preregistration_id == preregistration_id, imports.c.number == number
    )
    row = session.execute(statement).mappings().one_or_none()
    return None if row is None else _read(row)


def read_page(
    session: Session, preregistration_id: str, *, cursor: str | None, limit: int
) -> tuple[list[StoredImport], str | None]:
    """Return the record's imports, newest first."""
    statement = sa.select(imports).where(imports.c.preregistration_id == preregistration_id)
    return paging.read_page(session, statement, (imports.c.number,), _read, cursor=cursor, limit=limit)


def _read(row: sa.RowMapping) -> StoredImport:
    known = {name: row[name] for name in StoredImport.__dataclass_fields__}
    return StoredImport(**known | {"batches": tuple(json.loads(row["batches"]))})


_LAST = sa.select(sa.func.max(imports.c.number)).where(imports.c.preregistration_id == sa.bindparam("id"))
