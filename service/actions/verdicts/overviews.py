"""How the records of a list stand: how far they are while they collect, and what their verdicts say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from service.actions.verdicts import headlines
from service.domain.plans.family import Member
from service.domain.recent import Recent
from service.domain.results.batches import expected_total
from service.errors import RecordAltered
from service.store.database import integrity
from service.store.plans import families, preregistrations, record_lists
from service.store.plans.record_lists import RecordLine
from service.store.results import coverage
from service.store.verdicts import verdicts
from service.store.verdicts.verdicts import StoredVerdict
from service.words import Message

_totals: Recent[tuple[str, str], int] = Recent(4_000)
"""Rows that a locked plan expects, by record and hash of the plan."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How many rows are in, and how many are expected; nothing that follows from outcomes."""

    received: int
    expected: int


@dataclass(frozen=True, slots=True)
class Judged:
    """A hypothesis with its outcome, and what the verdict says of it in a line; None where its plan was altered."""

    hypothesis: str
    outcome: str
    line: Message | None


def progress_of(session: Session, project_id: str, lines: Sequence[RecordLine]) -> dict[str, Progress]:
    """By record how far it is, of those that wait for results and whose plan is what was locked."""
    waiting = [line for line in lines if line.state in ("locked", "collecting") and not line.altered]
    received = coverage.count_received(session, [line.id for line in waiting])
    progress = {}
    for line in waiting:
        key = line.id, line.plan_sha256 or ""
        expected = _totals.get(key)
        if expected is None:
            try:
                expected = expected_total(preregistrations.get(session, project_id, line.id).plan)
            except RecordAltered as error:
                integrity.note(session, error)
                continue
            _totals.add(key, expected, 1)
        progress[line.id] = Progress(received[line.id], expected)
    return progress


def read_judged(
    session: Session, project_id: str, lines: Sequence[RecordLine]
) -> dict[str, tuple[Judged, ...] | None]:
    """By record what its verdict says of every hypothesis; None where it was altered."""
    ids = [line.id for line in lines if line.judged_at is not None]
    stored = verdicts.read_several(session, project_id, ids) if ids else {}
    return {name: _read(session, project_id, name, stored.get(name)) for name in ids}


def outcomes_of(session: Session, project_id: str, lines: Sequence[RecordLine]) -> Counter[str]:
    """Say how many hypotheses of judged records had each outcome; records whose verdict was altered have none."""
    verdicts_ = read_judged(session, project_id, lines).values()
    return Counter(each.outcome for judged in verdicts_ for each in judged or ())


@dataclass(frozen=True, slots=True)
class FamilyCount:
    """Items that several plans were locked to: how many plans, and how many hypotheses of them were supported."""

    title: str | None
    """Of the first."""
    first: str
    n: int
    judged: int
    hypotheses: int
    supported: int


def families_of(session: Session, project_id: str) -> list[FamilyCount]:
    """Return the families that have several registrations, the largest first."""
    groups: dict[frozenset[str], list[Member]] = {}
    for member in sorted(families.read_members(session, project_id), key=lambda member: member.lock_sequence):
        groups.setdefault(member.items, []).append(member)
    several = [members for members in groups.values() if len(members) > 1]
    wanted = [member.preregistration_id for members in several for member in members]
    lines = record_lists.read_lines(session, project_id, wanted) if wanted else {}
    judged = read_judged(session, project_id, list(lines.values()))
    counts = []
    for members in several:
        own = [member.preregistration_id for member in members]
        outcomes = [each.outcome for name in own for each in judged.get(name) or ()]
        counts.append(
            FamilyCount(
                title=lines[own[0]].title,
                first=own[0],
                n=len(own),
                judged=sum(name in judged for name in own),
                hypotheses=len(outcomes),
                supported=outcomes.count("supported"),
            )
        )
    return sorted(counts, key=lambda family: -family.n)


def _read(
    session: Session, project_id: str, name: str, verdict: StoredVerdict | RecordAltered | None
) -> tuple[Judged, ...] | None:
    """Read each hypothesis' outcome and headline; None without a verdict, or with an altered one, which is noted."""
    if not isinstance(verdict, StoredVerdict):
        return None
    try:
        hypotheses = verdict.read().hypotheses
    except RecordAltered as error:
        integrity.note(session, error)
        return None
    lines = headlines.of_record(session, project_id, name, verdict.sha256)
    return tuple(Judged(each.id, each.outcome, lines.get(each.id)) for each in hypotheses)
