"""Families: where a record stands among the registrations on its items, and what became of each of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from service.actions.plans import cursors
from service.domain.plans.family import FamilyPlace, Member, family_id, select_family
from service.domain.plans.preregistration import Preregistration
from service.errors import NotFound, RecordAltered
from service.store.plans import families, record_lists
from service.store.plans.record_lists import RecordLine
from service.store.verdicts import verdicts
from service.store.verdicts.verdicts import StoredVerdict

_CURSOR = re.compile(r"([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Registration:
    """One member of a family, and what its verdict says; None where that was altered."""

    number: int
    line: RecordLine
    outcomes: dict[str, str] | None


@dataclass(frozen=True, slots=True)
class Family:
    """A page of a family, and what can be counted of all of it."""

    items: tuple[str, ...]
    """Hashes of the manifests."""
    n: int
    states: dict[str, int]
    tried: int
    """Variants that registrations say were tried on these items before they were made."""
    overlapping: int
    """Registrations that share some of these manifests and not all."""
    registrations: Sequence[Registration]
    next_cursor: str | None


def find_place(session: Session, record: Preregistration) -> FamilyPlace | None:
    """Where a locked record stands; None of a draft."""
    if record.state == "draft":
        return None
    standing = families.standing(session, record.project_id, record.id)
    if standing is None:
        return None
    family = family_id(record.project_id, standing.items)
    return FamilyPlace(id=family, registration=standing.registration, of=standing.of)


def read_family(session: Session, project_id: str, wanted: str, *, cursor: str | None, limit: int) -> Family:
    """One family of the project, its registrations in the order of their locks.

    Raises:
        NotFound: the project has no such family.
        InvalidData: the cursor is none that this list returned.
    """
    members = families.every(session, project_id)
    items = next((member.items for member in members if family_id(project_id, member.items) == wanted), None)
    if items is None:
        raise NotFound(f"there is no family {wanted} in this project")
    ordered = select_family(members, items)
    (start,) = cursors.read_numbers("0" if cursor is None else cursor, _CURSOR)
    lines = record_lists.lines(session, project_id, [own.preregistration_id for own in ordered])
    members_shown = ordered[start : start + limit]
    return Family(
        items=tuple(sorted(items)),
        n=len(ordered),
        states=dict(Counter(lines[own.preregistration_id].state for own in ordered)),
        tried=sum(line.tried or 0 for line in lines.values()),
        overlapping=sum(bool(member.items & items) and member.items != items for member in members),
        registrations=_read_registrations(session, project_id, members_shown, start, lines),
        next_cursor=str(start + limit) if start + limit < len(ordered) else None,
    )


def _read_registrations(
    session: Session, project_id: str, members: Sequence[Member], start: int, lines: dict[str, RecordLine]
) -> list[Registration]:
    judged = [member.preregistration_id for member in members if lines[member.preregistration_id].judged_at]
    stored = verdicts.several(session, project_id, judged) if judged else {}
    return [
        Registration(
            number, lines[member.preregistration_id], _read_outcomes(stored.get(member.preregistration_id))
        )
        for number, member in enumerate(members, start + 1)
    ]


def _read_outcomes(verdict: StoredVerdict | RecordAltered | None) -> dict[str, str] | None:
    if verdict is None:
        return {}
    if isinstance(verdict, RecordAltered):
        return None
    try:
        return {hypothesis.id: hypothesis.outcome for hypothesis in verdict.read().hypotheses}
    except RecordAltered:
        return None
