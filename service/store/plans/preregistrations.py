"""Preregistrations: the head row that moves through states. What is locked stands in `plans`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.domain.plans.findings import Finding
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import Preregistration, State
from service.domain.plans.search_text import search_text
from service.domain.recent import MOST_RECORDS, Recent
from service.errors import Conflict, NotFound, PreconditionFailed
from service.store.database import integrity, scope
from service.store.database.pipeline import Later, Questions, Row
from service.store.database.tables import manifests, plan_keys, plans, preregistrations, search_texts
from service.store.ledger import ledger
from service.store.plans import plans as plans_store
from service.words import message

_RECORD = sa.select(preregistrations, plans.c.canonical).join_from(
    preregistrations,
    plans,
    sa.and_(
        plans.c.preregistration_id == preregistrations.c.id, plans.c.version == preregistrations.c.version
    ),
    isouter=True,
)

_COLUMNS = tuple(_RECORD.selected_columns.keys())
_ID = _COLUMNS.index("id")

# Made once: every lock or every batch of results executes them.
_OF_PROJECT: sa.BindParameter[str] = sa.bindparam("of_project", type_=sa.Text)
_THIS = preregistrations.c.id == sa.bindparam("of_id")
_ONE = scope.select_of_project(_RECORD, preregistrations, _OF_PROJECT).where(_THIS)
_HOLD = scope.select_of_project(
    sa.select(preregistrations.c.id).where(_THIS), preregistrations, _OF_PROJECT
).with_for_update(key_share=True)
_STAYS = scope.select_of_project(
    sa.select(preregistrations.c.state, preregistrations.c.revision).where(_THIS),
    preregistrations,
    _OF_PROJECT,
).with_for_update(key_share=True)
_ITEMS = sa.select(manifests.c.population, manifests.c.items_sha256).where(
    manifests.c.preregistration_id == sa.bindparam("of_id")
)
_NEW_PLAN, _NEW_KEY = sa.insert(plans), sa.insert(plan_keys)
_CHANGE = scope.select_of_project(
    sa.update(preregistrations).where(
        _THIS,
        preregistrations.c.state == sa.bindparam("of_state"),
        preregistrations.c.revision == sa.bindparam("of_revision"),
    ),
    preregistrations,
    _OF_PROJECT,
)
_THESE = preregistrations.c.id.in_(sa.bindparam("of_ids", expanding=True))
_SEVERAL = scope.select_of_project(_RECORD, preregistrations, _OF_PROJECT).where(_THESE)
_IDS = scope.select_of_project(sa.select(preregistrations.c.id).where(_THESE), preregistrations, _OF_PROJECT)
_HOLD_SEVERAL = _IDS.order_by(preregistrations.c.id).with_for_update(key_share=True)
_HOLD_FREE = _IDS.with_for_update(key_share=True, skip_locked=True)

CACHED_CHARACTERS = 4_000_000
"""Text of locked plans kept in memory in its parsed form: every batch asks for its plan."""

_plans: Recent[str, tuple[Plan, str]] = Recent(CACHED_CHARACTERS, MOST_RECORDS)
"""The plan and the hash of its text, by canonical text: an altered text is another key, and is hashed anew."""
_texts: Recent[str, str] = Recent(CACHED_CHARACTERS, MOST_RECORDS)
"""By hash."""


def insert(session: Session, record: Preregistration) -> Preregistration:
    """Add a draft, with the text that a search looks in; returns it unchanged."""
    row = record.model_dump(include={"id", "project_id", "state", "revision", "version", "created_at"})
    session.execute(
        sa.insert(preregistrations).values(
            **row, draft=record.plan.canonical_text(), title=record.plan.title, acknowledged=[]
        )
    )
    searchable = {"preregistration_id": record.id, "text": search_text(record.plan)}
    session.execute(sa.insert(search_texts).values(searchable))
    return record


def get(
    session: Session, project_id: str, preregistration_id: str, *, for_update: bool = False
) -> Preregistration:
    """Return the project's record; `for_update` holds it until the transaction ends."""
    if for_update:
        # A statement of its own: what is joined to the head must be read after the wait for it.
        session.execute(_HOLD, {"of_project": project_id, "of_id": preregistration_id})
    with integrity.reading("record", preregistration_id, (ValueError,)):  # of a column that is no JSON
        result = session.execute(_ONE, {"of_project": project_id, "of_id": preregistration_id})
        row = result.mappings().one_or_none()
    if row is None:
        raise make_not_found(preregistration_id)
    record = _read(row)
    if record.state != "draft":
        reached = record.judged_at is not None
        compared = "plan", record.id, record.plan_sha256, reached
        integrity.once(session, *compared, holds=lambda: _is_on_record(session, record))
    return record


def read_project(session: Session, preregistration_id: str) -> str:
    """Say whose record it is: for the operator, who stands outside of every project."""
    project_id = session.scalar(
        sa.select(preregistrations.c.project_id).where(preregistrations.c.id == preregistration_id)
    )
    if project_id is None:
        raise NotFound(f"there is no preregistration {preregistration_id}")
    return str(project_id)


def read_locked_text(session: Session, record: Preregistration) -> str:
    """Return the text of a locked plan, whose hash the record has."""
    known = _texts.get(record.plan_sha256 or "")
    return known or plans_store.read_canonical(session, record.id, record.version)[0]


def make_not_found(preregistration_id: str) -> NotFound:
    """Return what a record that is not the project's is answered."""
    return NotFound(message("refusals.no_preregistration", id=preregistration_id))


@dataclass(frozen=True, slots=True)
class Held:
    """Records that are held until the transaction ends, and the ids of those that others hold."""

    records: Mapping[str, Preregistration]
    elsewhere: Set[str]


def ask(
    questions: Questions, project_id: str, preregistration_ids: Collection[str], *, wait: bool
) -> Later[Held]:
    """Hold the project's records of these ids.

    With `wait` it waits for those that others hold. Who holds records of several projects must not wait:
    two that wait in another order would wait for each other.
    """
    wanted = {"of_project": project_id, "of_ids": sorted(preregistration_ids)}
    ours: Later[set[str]] | None = None
    if questions.dialect.name == "postgresql":  # SQLite has one writer, who holds everything
        statement = _HOLD_SEVERAL if wait else _HOLD_FREE
        ours = questions.ask(statement, wanted, lambda rows: {row[0] for row in rows})

    def become(rows: list[Row]) -> Held:
        by_id = {row[_ID]: row for row in rows}
        elsewhere = set() if ours is None else by_id.keys() - ours.get()
        records = {
            name: _read(dict(zip(_COLUMNS, row, strict=True)))
            for name, row in by_id.items()
            if name not in elsewhere
        }
        return Held(records, elsewhere)

    # A statement of its own: what is joined to the head must be read after the wait for it.
    return questions.ask(_SEVERAL, wanted, become)


def count_drafts(session: Session, project_id: str, most: int) -> int:
    """Return how many drafts the project has, counted no further than `most`."""
    scoped = scope.select_of_project(sa.select(preregistrations.c.id), preregistrations, project_id)
    limited = scoped.where(preregistrations.c.state == "draft").limit(most).subquery()
    return session.scalar(sa.select(sa.func.count()).select_from(limited)) or 0


def replace_draft(session: Session, record: Preregistration, plan: Plan) -> Preregistration:
    """Put another plan into the draft that `record` was read from."""
    _hold(session, record, "draft")
    _index(session, record, plan)
    return _write(session, record, plan=plan)


def delete_draft(session: Session, record: Preregistration) -> None:
    """Remove a draft and its manifests."""
    _hold(session, record, "draft")
    for table in (manifests, search_texts):
        session.execute(sa.delete(table).where(table.c.preregistration_id == record.id))
    statement = sa.delete(preregistrations).where(preregistrations.c.id == record.id)
    session.execute(scope.select_of_project(statement, preregistrations, record.project_id))


def lock(
    session: Session,
    record: Preregistration,
    *,
    plan: Plan,
    canonical_text: str,
    sha256: str,
    findings: Sequence[Finding],
    acknowledged: Sequence[str],
    plan_public_key: bytes,
    wrapped_private_key: bytes,
    now: datetime,
) -> Preregistration:
    """Lock the draft that `record` was read from; of several at once exactly one succeeds.

    Raises:
        Conflict: it is no draft any more (`already_locked`).
        PreconditionFailed: the draft or one of its manifests has changed since.
    """
    # The row is held before anything else is looked at: what is compared then stays so until this transaction ends.
    _hold(session, record, "draft")
    _require_items(session, record, plan)
    _texts.add(sha256, canonical_text, len(canonical_text))
    plan_row = {
        "preregistration_id": record.id,
        "version": record.version,
        "canonical": canonical_text,
        "sha256": sha256,
        "locked_at": now,
    }
    key_row = {
        "preregistration_id": record.id,
        "public_key": plan_public_key,
        "wrapped_key": wrapped_private_key,
    }
    session.execute(_NEW_PLAN, plan_row)
    session.execute(_NEW_KEY, key_row)
    return _write(
        session,
        record,
        plan=plan,
        state="locked",
        plan_sha256=sha256,
        lint=tuple(findings),
        acknowledged=tuple(acknowledged),
        locked_at=now,
    )


def amend(
    session: Session,
    record: Preregistration,
    *,
    plan: Plan,
    findings: Sequence[Finding],
    acknowledged: Sequence[str],
    now: datetime,
) -> Preregistration:
    """Give a locked record without results the next version of its plan, on the items that it was locked to.

    Raises:
        Conflict: it is locked no more: a result came in, or it was withdrawn.
        PreconditionFailed: it has been amended since it was read.
    """
    _hold(session, record, "locked")
    _index(session, record, plan)
    text, sha256 = plan.canonical_text(), plan.sha256()
    session.execute(
        sa.insert(plans).values(
            preregistration_id=record.id,
            version=record.version + 1,
            canonical=text,
            sha256=sha256,
            locked_at=now,
        )
    )
    return _write(
        session,
        record,
        plan=plan,
        version=record.version + 1,
        plan_sha256=sha256,
        lint=tuple(findings),
        acknowledged=tuple(acknowledged),
        locked_at=now,
    )


def move(session: Session, record: Preregistration, state: State, now: datetime) -> Preregistration:
    """Move a locked record to its next state."""
    record.require_move(state)
    _hold(session, record, record.state)
    reached = {"complete": {"complete_at": now}, "judged": {"judged_at": now}}
    return _write(session, record, state=state, **reached.get(state, {}))


def _hold(session: Session, record: Preregistration, state: State) -> None:
    """Lock the row, and see that it still is what `record` says."""
    row = session.execute(_STAYS, {"of_project": record.project_id, "of_id": record.id}).one_or_none()
    if row is None:
        raise make_not_found(record.id)
    # The state before the revision: whoever comes late learns that it is locked, not that it has changed.
    if row.state != state:
        code = "already_locked" if state == "draft" else None
        current = record.model_copy(update={"state": row.state})
        try:
            current.require(state)
        except Conflict as conflict:
            raise Conflict(conflict.detail, conflict.faults, code=code) from None
    if row.revision != record.revision:
        raise PreconditionFailed(
            f"preregistration {record.id} has changed: read it again and send its present ETag"
        )


def _index(session: Session, record: Preregistration, plan: Plan) -> None:
    """Replace the text that a search looks in by that of another plan."""
    statement = sa.update(search_texts).where(search_texts.c.preregistration_id == record.id)
    session.execute(statement.values(text=search_text(plan)))


def _require_items(session: Session, record: Preregistration, plan: Plan) -> None:
    """The manifests are those whose hashes the plan locks: they may have changed since they were linted."""
    stored = {row.population: row.items_sha256 for row in session.execute(_ITEMS, {"of_id": record.id})}
    planned = {population.id: population.items_sha256 for population in plan.populations or ()}
    if stored != planned:
        raise PreconditionFailed(
            f"the items of preregistration {record.id} have changed: read it again, then lock"
        )


def _write(session: Session, record: Preregistration, **changes: Any) -> Preregistration:
    """Store the changed record under its next revision."""
    changed = record.model_copy(update=changes | {"revision": record.revision + 1})
    plan = changed.plan
    row = changed.model_dump(exclude={"id", "project_id", "plan", "created_at"}, mode="python")
    row["acknowledged"] = list(changed.acknowledged)
    row["lint"] = None if changed.lint is None else [finding.model_dump() for finding in changed.lint]
    row["draft"] = plan.canonical_text() if changed.state == "draft" else None
    before = {
        "of_project": record.project_id,
        "of_id": record.id,
        "of_state": record.state,
        "of_revision": record.revision,
    }
    session.execute(_CHANGE, {**row, "title": plan.title, **before})
    return changed


def _read(row: sa.RowMapping | Mapping[str, Any]) -> Preregistration:
    """Read a row as a record; a draft as it is stored, a locked plan once its text is what was hashed."""
    prereg_id = row["id"]
    if row["state"] == "draft":
        with integrity.reading("draft", prereg_id):
            plan = Plan.from_json(row["draft"])
    else:
        plan = _read_plan(prereg_id, row["canonical"], row["plan_sha256"])
    findings = row["lint"]
    known = {name: row[name] for name in Preregistration.model_fields if name in row}
    with integrity.reading("record", prereg_id):
        return Preregistration.model_validate(
            known
            | {
                "plan": plan,
                "lint": None if findings is None else tuple(map(Finding.model_validate, findings)),
                "acknowledged": tuple(row["acknowledged"]),
            }
        )


def _read_plan(prereg_id: str, canonical: str, sha256: str) -> Plan:
    """Return the plan of a locked text, whose hash is taken once."""
    with integrity.reading("plan", prereg_id):
        known = _plans.get(canonical)
        if known is None:
            integrity.require("plan", prereg_id, holds=integrity.is_same(canonical, sha256))
            known = Plan.from_json(canonical), sha256
            _plans.add(canonical, known, len(canonical))
            _texts.add(sha256, canonical, len(canonical))
    integrity.require("plan", prereg_id, holds=known[1] == sha256)
    return known[0]


def _is_on_record(session: Session, record: Preregistration) -> bool:
    """The ledger says that this plan was locked, and that there is a verdict where the record has one."""
    judged = record.judged_at is None or bool(ledger.read_bodies(session, record.id, kind="verdict"))
    return judged and _trace_versions(session, record) == (record.version, record.plan_sha256)


def _trace_versions(session: Session, record: Preregistration) -> tuple[int, str] | None:
    """The version that the ledger leads to, each amendment following from the one before; None where they do not."""
    version = None
    for entry in ledger.read_entries(session, record.id, "plan_locked", "plan_amended"):
        body = entry.body
        follows = (
            version is None
            if entry.receipt.kind == "plan_locked"
            else (
                version is not None
                and (body["version"], body["prior_sha256"]) == (version[0] + 1, version[1])
            )
        )
        if not follows or body["preregistration_id"] != record.id:
            return None
        version = body["version"], body["plan_sha256"]
    return version
