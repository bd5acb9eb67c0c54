"""Deviations and the decisions about them: canonical text, insert-only, numbered from 1."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from pydantic import BaseModel
from sqlalchemy.orm import Session

from service.domain.canonical import canonical, sha256_hex
from service.domain.deviation import Decision, Deviation
from service.errors import NotFound
from service.store import paging
from service.store.tables import deviation_decisions, deviations


def next_number(session: Session, preregistration_id: str) -> int:
    """The number the next deviation will have. Hold the record (`for_update`) before asking."""
    last = sa.select(sa.func.max(deviations.c.number)).where(
        deviations.c.preregistration_id == preregistration_id
    )
    return (session.scalar(last) or 0) + 1


def insert(session: Session, deviation: Deviation, key_id: str, now: datetime) -> None:
    """Store a deviation of a locked record."""
    row = {"preregistration_id": deviation.preregistration_id, "number": deviation.number}
    _insert(session, deviations, row | {"key_id": key_id, "filed_at": now}, deviation)


def decide(session: Session, deviation: Deviation, decision: Decision, key_id: str, now: datetime) -> None:
    """Store a decision about a deviation."""
    row = {
        "preregistration_id": deviation.preregistration_id,
        "deviation": deviation.number,
        "number": decision.number,
    }
    _insert(session, deviation_decisions, row | {"key_id": key_id, "decided_at": now}, decision)


def get(session: Session, preregistration_id: str, number: int) -> Deviation:
    """One deviation. Reach it through a record that was read in its project."""
    text = session.scalar(
        sa.select(deviations.c.canonical).where(
            deviations.c.preregistration_id == preregistration_id, deviations.c.number == number
        )
    )
    if text is None:
        raise NotFound(f"preregistration {preregistration_id} has no deviation {number}")
    return Deviation.model_validate_json(text)


def every(session: Session, preregistration_id: str) -> list[Deviation]:
    """The record's deviations in order. Reach them through a record that was read in its project."""
    statement = sa.select(deviations.c.canonical).where(deviations.c.preregistration_id == preregistration_id)
    return [
        Deviation.model_validate_json(text)
        for text in session.scalars(statement.order_by(deviations.c.number))
    ]


def page(
    session: Session, preregistration_id: str, *, cursor: str | None = None, limit: int = 50
) -> tuple[list[Deviation], str | None]:
    """The record's deviations, newest first. Reach them through a record that was read in its project."""
    statement = sa.select(deviations.c.number, deviations.c.canonical).where(
        deviations.c.preregistration_id == preregistration_id
    )
    return paging.page(session, statement, (deviations.c.number,), _read, cursor=cursor, limit=limit)


def decisions(
    session: Session, preregistration_id: str, numbers: Sequence[int]
) -> dict[int, tuple[Decision, ...]]:
    """The decisions about these deviations, in order, by the deviation's number."""
    statement = sa.select(deviation_decisions.c.deviation, deviation_decisions.c.canonical).where(
        deviation_decisions.c.preregistration_id == preregistration_id,
        deviation_decisions.c.deviation.in_(numbers),
    )
    found: dict[int, list[Decision]] = defaultdict(list)
    for number, text in session.execute(
        statement.order_by(deviation_decisions.c.deviation, deviation_decisions.c.number)
    ):
        found[number].append(Decision.model_validate_json(text))
    return {number: tuple(found[number]) for number in numbers}


def _insert(session: Session, table: sa.Table, row: dict[str, Any], record: BaseModel) -> None:
    text = canonical(record.model_dump(mode="json", by_alias=True))
    session.execute(sa.insert(table).values(row | {"canonical": text.decode(), "sha256": sha256_hex(text)}))


def _read(row: sa.RowMapping) -> Deviation:
    return Deviation.model_validate_json(row["canonical"])
