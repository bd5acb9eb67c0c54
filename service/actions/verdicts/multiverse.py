"""The multiverse of a judged record: its rows are opened with the key that the verdict released."""

from __future__ import annotations

from sqlalchemy.orm import Session

from service.actions.verdicts.opening import open_rows
from service.domain.multiverse.multiverse import as_planned_alone, multiverse
from service.domain.multiverse.records import Multiverse
from service.domain.plans.preregistration import Preregistration
from service.domain.verdicts.records import Verdict
from service.errors import Conflict
from service.store.verdicts import deviations


def of_verdict(session: Session, record: Preregistration, verdict: Verdict) -> Multiverse:
    """Return the verdict under the choices that the record's deviations and sweeps open."""
    try:
        rows = open_rows(session, record)
    except Conflict as refused:  # the rows were erased, or are too many
        return as_planned_alone(verdict.hypotheses, refused.detail)
    changes = {filed.number: filed.filing.change for filed in deviations.read_all(session, record.id)}
    return multiverse(rows, dict(sorted(changes.items())), verdict.hypotheses)
