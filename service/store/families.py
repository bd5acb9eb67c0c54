"""Which locked records of a project share items, by the hashes of their manifests."""

from __future__ import annotations

from collections import defaultdict

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.domain.plans.family import Member
from service.store import scope
from service.store.tables import ledger_entries, manifests, preregistrations

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


def around(session: Session, project_id: str, preregistration_id: str) -> list[Member]:
    """The project's locked records that share any item manifest with one of them."""
    own = sa.select(manifests.c.items_sha256).where(manifests.c.preregistration_id == preregistration_id)
    others = sa.select(manifests.c.preregistration_id).where(manifests.c.items_sha256.in_(own))
    return _members(session, _LOCKED.where(manifests.c.preregistration_id.in_(others)), project_id)


def every(session: Session, project_id: str) -> list[Member]:
    """All of the project's locked records."""
    return _members(session, _LOCKED, project_id)


def _members(session: Session, statement: sa.Select[tuple[str, str, int]], project_id: str) -> list[Member]:
    items: dict[tuple[str, int], set[str]] = defaultdict(set)
    found = scope.of_project(statement, preregistrations, project_id)
    for name, sha256, sequence in session.execute(found):
        items[name, sequence].add(sha256)
    return [Member(name, frozenset(hashes), sequence) for (name, sequence), hashes in items.items()]
