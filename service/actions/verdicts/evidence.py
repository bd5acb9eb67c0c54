"""What the service knows of a record, gathered for its evidence card and for the words of its verdict."""

from __future__ import annotations

from sqlalchemy.orm import Session

from service.actions.plans.manifests import read_facts
from service.actions.results.unblinding import seals
from service.domain.deviations import deviation
from service.domain.deviations.classification import Classification
from service.domain.evidence.record import EvidenceCard, Known, marks_of, of_record
from service.domain.notes.notes import HypothesisSentences, sentences
from service.domain.notes.said import Words
from service.domain.plans.preregistration import Preregistration
from service.domain.power.answers.records import RulePower
from service.domain.power.rule_power import power_at_reference
from service.domain.results.batches import expected_total
from service.domain.rules.settings import resolve
from service.domain.verdicts.records import Verdict
from service.store.ledger import ledger
from service.store.results import batches, coverage
from service.store.verdicts import deviations, verdicts


def card(session: Session, record: Preregistration) -> EvidenceCard:
    """Return the five pieces of evidence of a record. Before the verdict nothing in it follows from outcomes."""
    verdict = _verdict(session, record)
    powers = _powers(session, record)
    locks = [
        entry.receipt for entry in ledger.read_entries(session, record.id, "plan_locked", "plan_amended")
    ]
    received = ledger.read_receipts(session, record.id, kind="batch")
    first = batches.find_first_time(session, record.id)
    return of_record(
        Known(
            record=record,
            received=sum(count.received for count in coverage.read_counts(session, record.id)),
            expected=_count_expected(record),
            lock_sequence=locks[-1].sequence if locks else None,
            first_batch_sequence=received[0].sequence if received else None,
            first_result_at=first,
            unblindings=seals(session, record).unblindings,
            standing=standings(session, record),
            powers=powers,
            verdict=verdict,
            sentences=() if verdict is None else sentences(record.plan, verdict, powers, record.lint or ()),
        )
    )


def marks(session: Session, record: Preregistration) -> tuple[Words, ...]:
    """Return what stands against the verdict, or before it that results were opened."""
    return marks_of(_verdict(session, record), seals(session, record).unblindings)


def in_words(session: Session, record: Preregistration, verdict: Verdict) -> tuple[HypothesisSentences, ...]:
    """Return the outcomes of a verdict in both languages, with their notes."""
    return sentences(record.plan, verdict, _powers(session, record), record.lint or ())


def standings(session: Session, record: Preregistration) -> tuple[Classification, ...]:
    """Return the classification that counts now of every deviation, in the order they were filed."""
    filed = deviations.read_all(session, record.id)
    decided = deviations.read_decisions(session, record.id, [one.number for one in filed])
    return tuple(deviation.standing(one, decided[one.number]) for one in filed)


def _verdict(session: Session, record: Preregistration) -> Verdict | None:
    return None if record.judged_at is None else verdicts.find(session, record.project_id, record.id)


def _powers(session: Session, record: Preregistration) -> dict[str, RulePower]:
    """At the SESOI, from the plan and its items alone; remembered, since every reader asks for the same."""
    facts = read_facts(session, record)
    return {
        setting.hypothesis.id: power_at_reference(record.plan, facts, setting)
        for setting in resolve(record.plan).settings
    }


def _count_expected(record: Preregistration) -> int:
    return 0 if record.state == "draft" else expected_total(record.plan)
