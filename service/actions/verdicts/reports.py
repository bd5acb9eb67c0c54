"""The report of a verdict, gathered: the verdict itself, what stands beside it, and its rows in numbers."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from service.actions.plans import namings
from service.actions.verdicts import evidence
from service.actions.verdicts.charts import summaries
from service.actions.verdicts.deviations import effects_on_verdict
from service.actions.verdicts.proven import what_is_proven
from service.domain.deviations.deviation import Decision, Deviation
from service.domain.ledger import Kind
from service.domain.plans.preregistration import Preregistration
from service.domain.verdicts.arm_summaries import ArmSummary
from service.domain.verdicts.records import Verdict
from service.errors import Conflict
from service.reports.verdict.content import DeviationLine, Report, deviation_line, report_of
from service.store.ledger import ledger
from service.store.verdicts import deviations

SHOWN: tuple[Kind, ...] = (
    "plan_locked",
    "plan_amended",
    "arm_named",
    "unblinding",
    "deviation",
    "close",
    "verdict",
    "withdrawal",
    "published",
)
"""What a timeline shows; batches are as many as there are."""


def of_verdict(session: Session, record: Preregistration, verdict: Verdict) -> Report:
    """The report of a judged record. Where its rows are gone or too many, it says so by leaving their numbers out."""
    return report_of(
        record.plan,
        verdict,
        arms=namings.read_plan(session, record).arm_cards or (),
        version=record.version,
        locked_at=record.locked_at,
        sentences=evidence.in_words(session, record, verdict),
        card=evidence.card(session, record),
        summaries=_summaries(session, record, verdict),
        deviations=_list_filed(session, record),
        findings=record.lint or (),
        consequences=effects_on_verdict(session, record),
        happened=[
            (entry.receipt, entry.created_at) for entry in ledger.read_entries(session, record.id, *SHOWN)
        ],
        last_result_after=record.last_result_after(),
        proven=what_is_proven(session, record),
    )


def decided_deviations(session: Session, record: Preregistration) -> tuple[list[DeviationLine], int]:
    """Deviations that a reviewer has decided about, and how many more are filed."""
    filed = _list_filed(session, record)
    lines = [deviation_line(deviation, decisions) for deviation, decisions in filed if decisions]
    return lines, len(filed) - len(lines)


def _list_filed(session: Session, record: Preregistration) -> list[tuple[Deviation, tuple[Decision, ...]]]:
    """Return every deviation, each with what was decided about it."""
    filed = deviations.read_all(session, record.id)
    decided = deviations.read_decisions(session, record.id, [one.number for one in filed])
    return [(one, decided[one.number]) for one in filed]


def _summaries(
    session: Session, record: Preregistration, verdict: Verdict
) -> dict[str, Sequence[ArmSummary]]:
    try:
        return {hypothesis.id: summaries(session, record, hypothesis.id) for hypothesis in verdict.hypotheses}
    except Conflict:  # the rows were erased, or are too many
        return {}
