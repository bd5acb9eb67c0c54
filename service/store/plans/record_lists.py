"""Lists of preregistrations: a line of each, and how many there are in each state."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.domain.plans.list_entry import ListEntry, list_entry
from service.domain.plans.preregistration import State
from service.domain.plans.search_text import search_words
from service.domain.recent import Recent
from service.errors import RecordAltered
from service.store.database import integrity, paging, scope
from service.store.database.tables import plans, preregistrations, search_texts

_LINE = ("id", "title", "state", "version", "plan_sha256", "created_at", "locked_at", "judged_at")
_LINES = sa.select(*(preregistrations.c[name] for name in _LINE))
_LOCKED_TEXTS = (
    sa.select(preregistrations.c.id, preregistrations.c.plan_sha256, plans.c.canonical)
    .join_from(
        preregistrations,
        plans,
        sa.and_(
            plans.c.preregistration_id == preregistrations.c.id, plans.c.version == preregistrations.c.version
        ),
        isouter=True,
    )
    # A plan can be megabytes of text: four are held at a time, however many a page lists.
    .execution_options(yield_per=4)
)

MOST_SEARCHED = 5_000
"""Records that a search looks at for one page."""
_entries_read: Recent[str, ListEntry] = Recent(2_000)
"""Of locked plans, by hash of their text."""


@dataclass(frozen=True, slots=True)
class RecordLine:
    """A record in a list."""

    id: str
    title: str | None
    state: State
    version: int
    plan_sha256: str | None
    created_at: datetime
    locked_at: datetime | None
    judged_at: datetime | None
    results_due: date | None
    """Of a locked plan; a draft promises nothing yet."""
    embargo_until: date | None
    """Of a locked plan: the day on which the record becomes public, or did."""
    tried: int | None
    """Variants that a locked plan says were tried on its own items before; None: it says of none."""
    altered: bool
    """The locked plan is not what was locked; nothing here is shown of it."""

    def overdue(self, today: date) -> bool:
        """Tell whether results are awaited and `results_due` lies before today; False where the plan names none."""
        due = self.results_due
        return due is not None and self.state in ("locked", "collecting") and today > due


def count_states(session: Session, project_id: str) -> dict[State, int]:
    """Return how many of the project's records are in each state, those with none left out."""
    counted = sa.select(preregistrations.c.state, sa.func.count()).group_by(preregistrations.c.state)
    scoped = scope.select_of_project(counted, preregistrations, project_id)
    return {row[0]: int(row[1]) for row in session.execute(scoped)}


def read_page(
    session: Session,
    project_id: str,
    *,
    state: State | None = None,
    search: str | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> tuple[list[RecordLine], str | None]:
    """Return the project's records, newest first; an altered one is marked, and the others are there.

    No plan is parsed, and of locked ones a few texts are held at a time. A search looks at `MOST_SEARCHED` records for
    one page, and the next page goes on from there.
    """
    whole = scope.select_of_project(_LINES, preregistrations, project_id)
    statement = whole if state is None else whole.where(preregistrations.c.state == state)
    order = (preregistrations.c.created_at, preregistrations.c.id)
    words = search_words(search or "")
    if words:
        statement = statement.join(search_texts, search_texts.c.preregistration_id == preregistrations.c.id)
        for word in words:
            in_text = search_texts.c.text.contains(word, autoescape=True)
            statement = statement.where(in_text | preregistrations.c.id.contains(word, autoescape=True))
        rows, following = paging.read_page_among(
            session, statement, whole, order, dict, cursor=cursor, limit=limit, most=MOST_SEARCHED
        )
    else:
        rows, following = paging.read_page(session, statement, order, dict, cursor=cursor, limit=limit)
    return _make_lines(session, rows), following


def read_lines(
    session: Session, project_id: str, preregistration_ids: Collection[str]
) -> dict[str, RecordLine]:
    """Return the lines of the project's records of these ids, by id."""
    statement = scope.select_of_project(_LINES, preregistrations, project_id)
    wanted = statement.where(preregistrations.c.id.in_(sorted(preregistration_ids)))
    rows = [dict(row) for row in session.execute(wanted).mappings()]
    return {line.id: line for line in _make_lines(session, rows)}


def _make_lines(session: Session, rows: Sequence[Mapping[str, Any]]) -> list[RecordLine]:
    """Make the line of each record.

    That of a locked one is read from its text, and marked where the text was altered.
    """
    locked = [row["id"] for row in rows if row["state"] != "draft"]
    known = dict(_read_entries(session, locked)) if locked else {}
    record_lines = []
    for row in rows:
        draft = row["state"] == "draft"
        title, due, embargo, tried = known.get(row["id"], (row["title"], None, None, None))
        fields = {**row, "title": title, "results_due": due, "embargo_until": embargo, "tried": tried}
        record_lines.append(RecordLine(**fields, altered=not draft and row["id"] not in known))
    return record_lines


def _read_entries(session: Session, locked: Sequence[str]) -> Iterator[tuple[str, ListEntry]]:
    """What a list shows of locked plans, by record; nothing of one that is not what was locked, which is noted."""
    for row in session.execute(_LOCKED_TEXTS.where(preregistrations.c.id.in_(locked))):
        try:
            with integrity.reading("plan", row.id):
                integrity.require("plan", row.id, holds=integrity.is_same(row.canonical, row.plan_sha256))
                entry = _entries_read.get(row.plan_sha256)
                if entry is None:
                    entry = list_entry(json.loads(row.canonical))
                    _entries_read.add(row.plan_sha256, entry, 1)
        except RecordAltered as error:
            integrity.note(session, error)
        else:
            yield row.id, entry
