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
    """One member of a family: a record that is locked to the same items as the others."""

    number: int
    """By the order of the locks, from 1."""
    line: RecordLine
    outcomes: dict[str, str] | None
    """By hypothesis; empty before the verdict, None where the stored verdict was altered."""


@dataclass(frozen=True, slots=True)
class Family:
    """A page of a family, and what can be counted of all of it."""

    items: tuple[str, ...]
    """SHA-256 of the item manifests that every member is locked to."""
    n: int
    """How many registrations there are on these items, those on other pages included."""
    states: dict[str, int]
    """How many of them are in which state."""
    tried: int
    """Variants that registrations say were tried on these items before they were made."""
    overlapping: int
    """Registrations that share some of these manifests and not all."""
    registrations: Sequence[Registration]
    next_cursor: str | None


def find_place(session: Session, record: Preregistration) -> FamilyPlace | None:
    """Find which registration on its items a locked record is, and of how many; None for a draft."""
    if record.state == "draft":
        return None
    standing = families.find_standing(session, record.project_id, record.id)
    if standing is None:
        return None
    family = family_id(record.project_id, standing.items)
    return FamilyPlace(id=family, registration=standing.registration, of=standing.of)


def read_family(
    session: Session, project_id: str, wanted_id: str, *, cursor: str | None, limit: int
) -> Family:
    """Read one family of the project: a page of its registrations, in the order of their locks.

    Raises:
        NotFound: the project has no such family.
        InvalidData: the cursor is none that this list returned.
    """
    members = families.read_members(session, project_id)
    # The id is a hash of the items, so it cannot be looked up: every family of the project is hashed and compared.
    items = next(
        (member.items for member in members if family_id(project_id, member.items) == wanted_id), None
    )
    if items is None:
        raise NotFound(f"there is no family {wanted_id} in this project")
    ordered = select_family(members, items)
    (start,) = cursors.read_numbers("0" if cursor is None else cursor, _CURSOR)
    lines = record_lists.read_lines(session, project_id, [own.preregistration_id for own in ordered])
    members_shown = ordered[start : start + limit]
    return Family(
        items=tuple(sorted(items)),
        n=len(ordered),
        states=dict(Counter(lines[own.preregistration_id].state for own in ordered)),
        tried=sum(line.tried or 0 for line in lines.values()),
        overlapping=sum(bool(member.items & items) and member.items != items for member in members),
        registrations=_read_registrations(session, project_id, members_shown, start, lines),
        # Families only grow at their end, so a count of members stays a valid cursor.
        next_cursor=str(start + limit) if start + limit < len(ordered) else None,
    )


def _read_registrations(
    session: Session, project_id: str, members: Sequence[Member], start: int, lines: dict[str, RecordLine]
) -> list[Registration]:
    """Read the lines of the members shown, numbered on from `start`, with the outcomes of those that are judged."""
    judged = [member.preregistration_id for member in members if lines[member.preregistration_id].judged_at]
    stored = verdicts.read_several(session, project_id, judged) if judged else {}
    return [
        Registration(
            number, lines[member.preregistration_id], _read_outcomes(stored.get(member.preregistration_id))
        )
        for number, member in enumerate(members, start + 1)
    ]


def _read_outcomes(verdict: StoredVerdict | RecordAltered | None) -> dict[str, str] | None:
    """Read the outcomes of a verdict by hypothesis: none before there is one, None where it was altered."""
    if verdict is None:
        return {}
    if isinstance(verdict, RecordAltered):
        return None
    try:
        return {hypothesis.id: hypothesis.outcome for hypothesis in verdict.read().hypotheses}
    except RecordAltered:
        return None
