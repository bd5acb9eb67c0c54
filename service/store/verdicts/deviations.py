"""Deviations and the decisions about them: canonical text, insert-only, numbered from 1."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

import sqlalchemy as sa
from pydantic import BaseModel
from sqlalchemy.orm import Session

from service.domain.canonical import canonical, sha256_hex
from service.domain.deviations.deviation import Decision, Deviation
from service.errors import NotFound
from service.store.database import integrity, paging
from service.store.database.tables import deviation_decisions, deviations

R = TypeVar("R", bound=BaseModel)
_DEVIATIONS = sa.select(
    deviations.c.preregistration_id, deviations.c.number, deviations.c.canonical, deviations.c.sha256
)


def next_number(session: Session, preregistration_id: str) -> int:
    """Return the number the next deviation will have. Hold the record (`for_update`) before asking."""
    last = sa.select(sa.func.max(deviations.c.number)).where(
        deviations.c.preregistration_id == preregistration_id
    )
    return (session.scalar(last) or 0) + 1


def insert(session: Session, deviation: Deviation, key_id: str, now: datetime) -> Deviation:
    """Store a deviation of a locked record; returns it as it will be read."""
    row = {"preregistration_id": deviation.preregistration_id, "number": deviation.number}
    return _insert(session, deviations, row | {"key_id": key_id, "filed_at": now}, deviation)


def decide(
    session: Session, deviation: Deviation, decision: Decision, key_id: str, now: datetime
) -> Decision:
    """Store a decision about a deviation; returns it as it will be read."""
    row = {
        "preregistration_id": deviation.preregistration_id,
        "deviation": deviation.number,
        "number": decision.number,
    }
    return _insert(session, deviation_decisions, row | {"key_id": key_id, "decided_at": now}, decision)


def get(session: Session, preregistration_id: str, number: int) -> Deviation:
    """Read one deviation. Reach it through a record that was read in its project."""
    statement = _DEVIATIONS.where(
        deviations.c.preregistration_id == preregistration_id, deviations.c.number == number
    )
    row = session.execute(statement).mappings().one_or_none()
    if row is None:
        raise NotFound(f"preregistration {preregistration_id} has no deviation {number}")
    return _read(row)


def read_all(session: Session, preregistration_id: str) -> list[Deviation]:
    """Return the record's deviations in order. Reach them through a record that was read in its project."""
    statement = _DEVIATIONS.where(deviations.c.preregistration_id == preregistration_id)
    return [_read(row) for row in session.execute(statement.order_by(deviations.c.number)).mappings()]


def read_page(
    session: Session, preregistration_id: str, *, cursor: str | None = None, limit: int
) -> tuple[list[Deviation], str | None]:
    """Return the record's deviations, newest first. Reach them through a record that was read in its project."""
    statement = _DEVIATIONS.where(deviations.c.preregistration_id == preregistration_id)
    return paging.read_page(session, statement, (deviations.c.number,), _read, cursor=cursor, limit=limit)


def read_decisions(
    session: Session, preregistration_id: str, numbers: Sequence[int]
) -> dict[int, tuple[Decision, ...]]:
    """Return the decisions about these deviations, in order, by the deviation's number."""
    statement = sa.select(
        deviation_decisions.c.deviation, deviation_decisions.c.canonical, deviation_decisions.c.sha256
    ).where(
        deviation_decisions.c.preregistration_id == preregistration_id,
        deviation_decisions.c.deviation.in_(numbers),
    )
    decisions_: dict[int, list[Decision]] = defaultdict(list)
    for number, text, sha256 in session.execute(
        statement.order_by(deviation_decisions.c.deviation, deviation_decisions.c.number)
    ):
        decisions_[number].append(
            _parse(Decision, "decision", f"{preregistration_id}/{number}", text, sha256)
        )
    return {number: tuple(decisions_[number]) for number in numbers}


def _insert(session: Session, table: sa.Table, row: dict[str, Any], record: R) -> R:
    text = canonical(record.model_dump(mode="json", by_alias=True))
    session.execute(sa.insert(table).values(row | {"canonical": text.decode(), "sha256": sha256_hex(text)}))
    return type(record).model_validate_json(text)


def _read(row: sa.RowMapping) -> Deviation:
    subject = f"{row['preregistration_id']}/{row['number']}"
    return _parse(Deviation, "deviation", subject, row["canonical"], row["sha256"])


def _parse(model: type[R], kind: str, subject: str, text: str, sha256: str) -> R:
    """Return the record of a text that is what was hashed."""
    integrity.require(kind, subject, holds=integrity.is_same(text, sha256))
    with integrity.reading(kind, subject):
        return model.model_validate_json(text)
