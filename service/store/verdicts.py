"""Verdicts: the canonical text is the record; one row per hypothesis is an index to it."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from pydantic import BaseModel, ConfigDict
from sqlalchemy.orm import Session

from service.domain.canonical import canonical, sha256_hex
from service.domain.verdict_records import Verdict
from service.store import paging, scope
from service.store.tables import preregistrations, verdict_hypotheses, verdicts


class HypothesisLine(BaseModel):
    """One hypothesis in the list of verdicts."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    preregistration_id: str
    title: str
    hypothesis: str
    outcome: str
    judged_at: datetime


def insert(session: Session, project_id: str, verdict: Verdict) -> None:
    """Store the verdict of a complete record, before it moves to judged."""
    text = canonical(verdict.model_dump(mode="json"))
    session.execute(
        sa.insert(verdicts).values(
            preregistration_id=verdict.preregistration_id,
            canonical=text.decode(),
            sha256=sha256_hex(text),
            judged_at=verdict.judged_at,
        )
    )
    lines = [
        {
            "preregistration_id": verdict.preregistration_id,
            "hypothesis": hypothesis.id,
            "project_id": project_id,
            "title": verdict.title or "",
            "outcome": hypothesis.outcome,
            "judged_at": verdict.judged_at,
        }
        for hypothesis in verdict.hypotheses
    ]
    if lines:
        session.execute(sa.insert(verdict_hypotheses), lines)


def get(session: Session, project_id: str, preregistration_id: str) -> Verdict | None:
    """The verdict of the project's record, once there is one."""
    statement = sa.select(verdicts.c.canonical).join(
        preregistrations, preregistrations.c.id == verdicts.c.preregistration_id
    )
    statement = statement.where(verdicts.c.preregistration_id == preregistration_id)
    text = session.scalar(scope.of_project(statement, preregistrations, project_id))
    return None if text is None else Verdict.model_validate_json(text)


def page(
    session: Session,
    project_id: str,
    *,
    hypothesis: str | None = None,
    outcome: str | None = None,
    since: datetime | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> tuple[list[HypothesisLine], str | None]:
    """The project's verdicts by hypothesis, newest first; `since` is inclusive."""
    lines = verdict_hypotheses.c
    statement = scope.of_project(sa.select(verdict_hypotheses), verdict_hypotheses, project_id)
    if hypothesis is not None:
        statement = statement.where(lines.hypothesis == hypothesis)
    if outcome is not None:
        statement = statement.where(lines.outcome == outcome)
    if since is not None:
        statement = statement.where(lines.judged_at >= since)
    order = (lines.judged_at, lines.preregistration_id, lines.hypothesis)
    return paging.page(session, statement, order, _line, cursor=cursor, limit=limit)


def _line(row: sa.RowMapping) -> HypothesisLine:
    return HypothesisLine.model_validate({name: row[name] for name in HypothesisLine.model_fields})
