"""The headline of every line in the list of verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from service.domain.recent import Recent
from service.domain.rules.settings import resolve
from service.domain.verdicts.words.headline import headline
from service.errors import RecordAltered
from service.store.database import integrity
from service.store.plans import preregistrations
from service.store.verdicts import verdicts
from service.store.verdicts.verdicts import HypothesisLine
from service.words import Message

Headlines = Mapping[str, Message]
"""By hypothesis."""
_known: Recent[tuple[str, str], Headlines] = Recent(4_000)
"""By record and hash of its verdict, which names the plan."""


def of_lines(session: Session, project_id: str, lines: Sequence[HypothesisLine]) -> list[Message | None]:
    """Return what each line says in words; None for one whose verdict or plan was altered."""
    by_record: dict[str, Headlines] = {}
    for line in lines:
        if not line.altered and line.preregistration_id not in by_record:
            name = line.preregistration_id
            by_record[name] = of_record(session, project_id, name, line.sha256 or "")
    return [
        None if line.altered else by_record[line.preregistration_id].get(line.hypothesis) for line in lines
    ]


def of_record(session: Session, project_id: str, preregistration_id: str, sha256: str) -> Headlines:
    """Return the headlines of a record's verdict; none where it or its plan is not what was judged, which is noted.

    Args:
        sha256: of the verdict as it is stored.
    """
    key = preregistration_id, sha256
    known = _known.get(key)
    if known is not None:
        return known
    try:
        record = preregistrations.get(session, project_id, preregistration_id)
        verdict = verdicts.find(session, project_id, record.id)
    except RecordAltered as error:
        integrity.note(session, error)
        return {}
    if verdict is None:
        return {}
    plan = resolve(record.plan)
    lines = {judged.id: headline(plan.require(judged.id), judged).line for judged in verdict.hypotheses}
    _known.add(key, lines, len(lines) + 1)
    return lines
