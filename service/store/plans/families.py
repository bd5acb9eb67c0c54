"""Which locked records of a project share items, by the hashes of their manifests."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.domain.plans.family import Member
from service.store.database import scope
from service.store.database.tables import ledger_entries, manifests, preregistrations

_LOCKED = (
    sa.select(manifests.c.preregistration_id, manifests.c.items_sha256, ledger_entries.c.sequence)
    .join(preregistrations, preregistrations.c.id == manifests.c.preregistration_id)
    .join(
        ledger_entries,
        sa.and_(
            ledger_entries.c.preregistration_id == manifests.c.preregistration_id,
            ledger_entries.c.kind == "plan_locked",
        ),
    )
)


@dataclass(frozen=True, slots=True)
class Standing:
    """The manifests of a locked record, its number by the order of the locks, from 1, and how many have just these."""

    items: frozenset[str]
    registration: int
    of: int


def find_standing(session: Session, project_id: str, preregistration_id: str) -> Standing | None:
    """Say where a record stands among those locked to the same manifests; None of one that is not."""
    rows = session.execute(_STANDING, {"of_project": project_id, "of_id": preregistration_id}).all()
    if not rows or not rows[0].registration:
        return None
    return Standing(frozenset(row.items_sha256 for row in rows), rows[0].registration, rows[0].of)


def read_members(session: Session, project_id: str) -> list[Member]:
    """Return all of the project's locked records."""
    return _group_members(session, _LOCKED, project_id)


def _group_members(
    session: Session, statement: sa.Select[tuple[str, str, int]], project_id: str
) -> list[Member]:
    items: dict[tuple[str, int], set[str]] = defaultdict(set)
    scoped = scope.select_of_project(statement, preregistrations, project_id)
    for name, sha256, sequence in session.execute(scoped):
        items[name, sequence].add(sha256)
    return [Member(name, frozenset(hashes), sequence) for (name, sequence), hashes in items.items()]


def _select_standing() -> sa.Select[Any]:
    """A row for each manifest of a record; the numbers are counted where the rows are, however many share its items."""
    this = sa.bindparam("of_id", type_=sa.Text)
    of_this = manifests.c.preregistration_id == this
    own = sa.select(manifests.c.items_sha256).where(of_this).distinct().cte("own")
    wanted = sa.select(sa.func.count()).select_from(own).scalar_subquery()
    # Whoever has all of these manifests has this one: one look by index instead of every locked record.
    one = sa.select(sa.func.min(own.c.items_sha256)).scalar_subquery()
    sharing = sa.select(manifests.c.preregistration_id).where(manifests.c.items_sha256 == one)
    shared = sa.case((manifests.c.items_sha256.in_(sa.select(own.c.items_sha256)), manifests.c.items_sha256))
    members = _LOCKED.with_only_columns(
        manifests.c.preregistration_id, sa.func.max(ledger_entries.c.sequence).label("sequence")
    ).where(manifests.c.preregistration_id.in_(sharing))
    alike = (
        scope.select_of_project(members, preregistrations, sa.bindparam("of_project", type_=sa.Text))
        .group_by(manifests.c.preregistration_id)
        # As many different manifests, and as many of ours among them: the same set.
        .having(sa.func.count(manifests.c.items_sha256.distinct()) == wanted)
        .having(sa.func.count(shared.distinct()) == wanted)
        .cte("alike")
    )
    mine = sa.select(alike.c.sequence).where(alike.c.preregistration_id == this).scalar_subquery()
    earlier = sa.func.count(sa.case((alike.c.sequence <= mine, 1))).label("registration")
    numbers = sa.select(sa.func.count().label("of"), earlier).select_from(alike).subquery("numbers")
    columns = own.c.items_sha256, numbers.c.registration, numbers.c.of
    return sa.select(*columns).join_from(own, numbers, sa.true())


_STANDING = _select_standing()
"""Made once: every view of a record executes it."""
