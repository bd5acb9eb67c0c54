"""The checklist of a reporting standard, filled from what the service knows of a record."""

from __future__ import annotations

from sqlalchemy.orm import Session

from service.actions.verdicts import evidence, reports
from service.domain.plans.preregistration import Preregistration
from service.reports.forms.checklist import Checklist, fill
from service.reports.forms.known import Known
from service.reports.forms.standards import StandardName
from service.store.plans import links
from service.store.verdicts import verdicts


def of_record(session: Session, record: Preregistration, name: StandardName) -> Checklist:
    """Return the checklist of a record in any state. Before the verdict nothing in it follows from outcomes."""
    judged = record.judged_at is not None
    verdict = verdicts.find(session, record.project_id, record.id) if judged else None
    return fill(
        name,
        Known(
            record=record,
            card=evidence.card(session, record),
            report=None if verdict is None else reports.of_verdict(session, record, verdict),
            links=() if record.state == "draft" else links.read_all(session, record.id),
        ),
    )
