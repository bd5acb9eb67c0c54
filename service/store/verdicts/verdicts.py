"""Verdicts: the canonical text is the record; one row per hypothesis is an index to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import sqlalchemy as sa
from pydantic import Field
from sqlalchemy.orm import Session

from service.domain.canonical import canonical, sha256_hex
from service.domain.recent import MOST_RECORDS, Recent
from service.domain.verdicts.records import Outcome, Verdict
from service.errors import RecordAltered
from service.records import StrictRecord
from service.store.database import integrity, paging, scope
from service.store.database.tables import preregistrations, verdict_hypotheses, verdicts
from service.store.ledger import ledger

CACHED_CHARACTERS = 4_000_000
"""Text of verdicts kept in memory in their parsed form."""


@dataclass(frozen=True, slots=True)
class StoredVerdict:
    """A verdict as it was stored: what the ledger has the hash of, whatever today's models hold."""

    preregistration_id: str
    text: str
    sha256: str

    def read(self) -> Verdict:
        """Return the verdict, through today's models."""
        known = _read.get(self.sha256)
        if known is None:
            with integrity.reading("verdict", self.preregistration_id):
                known = Verdict.model_validate_json(self.text)
            _read.add(self.sha256, known, len(self.text))
        return known


_read: Recent[str, Verdict] = Recent(CACHED_CHARACTERS, MOST_RECORDS)
"""By hash; only a text that has it is read."""


class HypothesisLine(StrictRecord):
    """One hypothesis in the list of verdicts."""

    preregistration_id: str
    title: str
    hypothesis: str
    outcome: Outcome | None = Field(description="Null where the verdict was altered.")
    judged_at: datetime
    altered: bool
    sha256: str | None = Field(description="Of the verdict's text; null where there is none.")


def insert(session: Session, project_id: str, verdict: Verdict) -> str:
    """Store the verdict of a complete record, before it moves to judged; returns the hash of its text."""
    text = canonical(verdict.model_dump(mode="json"))
    sha256 = sha256_hex(text)
    session.execute(
        sa.insert(verdicts).values(
            preregistration_id=verdict.preregistration_id,
            canonical=text.decode(),
            sha256=sha256,
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
    return sha256


def find_stored(session: Session, project_id: str, preregistration_id: str) -> StoredVerdict | None:
    """Return the verdict of the project's record as it was stored, once there is one.

    Raises:
        RecordAltered: its text has another hash, or the ledger has another one of it.
    """
    verdict = read_several(session, project_id, [preregistration_id]).get(preregistration_id)
    if isinstance(verdict, RecordAltered):
        raise verdict
    return verdict


def find(session: Session, project_id: str, preregistration_id: str) -> Verdict | None:
    """Return the verdict of the project's record, read through today's models; None before there is one."""
    verdict = find_stored(session, project_id, preregistration_id)
    return None if verdict is None else verdict.read()


def read_several(
    session: Session, project_id: str, preregistration_ids: Collection[str]
) -> dict[str, StoredVerdict | RecordAltered]:
    """Return the verdicts of the project's records; of an altered one, what to answer for it."""
    columns = verdicts.c.preregistration_id, verdicts.c.canonical, verdicts.c.sha256
    statement = sa.select(*columns).join(
        preregistrations, preregistrations.c.id == verdicts.c.preregistration_id
    )
    statement = statement.where(verdicts.c.preregistration_id.in_(sorted(preregistration_ids)))
    stored_or_altered: dict[str, StoredVerdict | RecordAltered] = {}
    for prereg_id, text, sha256 in session.execute(
        scope.select_of_project(statement, preregistrations, project_id)
    ).all():
        try:
            integrity.require("verdict", prereg_id, holds=integrity.is_same(text, sha256))
            integrity.once(
                session, "verdict", prereg_id, sha256, holds=partial(_is_recorded, session, prereg_id, sha256)
            )
        except RecordAltered as error:
            integrity.note(session, error)
            stored_or_altered[prereg_id] = error
        else:
            stored_or_altered[prereg_id] = StoredVerdict(prereg_id, text, sha256)
    return stored_or_altered


def _is_recorded(session: Session, preregistration_id: str, sha256: str) -> bool:
    """Tell whether the ledger has this hash of the record's verdict, and no other."""
    leaves = ledger.read_bodies(session, preregistration_id, kind="verdict")
    # Exactly one leaf: a second verdict of a record would be as wrong as a changed one.
    return [leaf["verdict_sha256"] for leaf in leaves] == [sha256]


def read_page(
    session: Session,
    project_id: str,
    *,
    hypothesis: str | None = None,
    outcome: str | None = None,
    since: datetime | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> tuple[list[HypothesisLine], str | None]:
    """Return the project's verdicts by hypothesis, newest first; `since` is inclusive.

    A line that does not say what its verdict says is marked, and the others are there.
    """
    lines = verdict_hypotheses.c
    statement = sa.select(verdict_hypotheses, verdicts.c.sha256).join(verdicts, isouter=True)
    statement = scope.select_of_project(statement, verdict_hypotheses, project_id)
    if hypothesis is not None:
        statement = statement.where(lines.hypothesis == hypothesis)
    if outcome is not None:
        statement = statement.where(lines.outcome == outcome)
    if since is not None:
        statement = statement.where(lines.judged_at >= since)
    order = (lines.judged_at, lines.preregistration_id, lines.hypothesis)
    rows, following = paging.read_page(session, statement, order, dict, cursor=cursor, limit=limit)
    stated = _read_lines(session, project_id, {(row["preregistration_id"], row["sha256"]) for row in rows})
    return [_make_line(session, row, stated[row["preregistration_id"]]) for row in rows], following


Statements = Mapping[str, tuple[str, str, datetime]]
"""Title, outcome and time by hypothesis."""
_statements: Recent[tuple[str, str], Statements] = Recent(4_000)
"""By record and hash."""


def _read_lines(
    session: Session, project_id: str, wanted: Collection[tuple[str, str]]
) -> dict[str, Statements]:
    """Return what verdicts say of their hypotheses, by record; nothing where one cannot be trusted."""
    known = {key[0]: statements for key in wanted if (statements := _statements.get(key)) is not None}
    unknown = [prereg_id for prereg_id, _ in wanted if prereg_id not in known]
    whole = read_several(session, project_id, unknown) if unknown else {}
    # An altered verdict says nothing and is not remembered: the next look finds it altered again, or mended.
    for prereg_id in unknown:
        known[prereg_id] = {}
        verdict = whole.get(prereg_id)
        try:
            read = verdict.read() if isinstance(verdict, StoredVerdict) else None
        except RecordAltered as error:
            integrity.note(session, error)
            continue
        if read is not None and isinstance(verdict, StoredVerdict):
            statements = {
                hypothesis.id: (read.title or "", hypothesis.outcome, read.judged_at)
                for hypothesis in read.hypotheses
            }
            known[prereg_id] = statements
            _statements.add((prereg_id, verdict.sha256), statements, len(statements) + 1)
    return known


def _make_line(session: Session, row: Mapping[str, object], statements: Statements) -> HypothesisLine:
    fields = {name: row[name] for name in HypothesisLine.model_fields if name in row}
    if statements.get(str(row["hypothesis"])) == (row["title"], row["outcome"], row["judged_at"]):
        return HypothesisLine.model_validate(fields | {"altered": False})
    integrity.note(session, RecordAltered("verdict", str(row["preregistration_id"])))
    return HypothesisLine.model_validate(fields | {"outcome": None, "altered": True})
