"""Records and deviations as the service makes them, for tests below the actions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from service.domain.deviations.classification import Facts
from service.domain.deviations.deviation import Deviation, Filing, judge_filing
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import Preregistration
from service.store.plans import populations, preregistrations


def locked(session: Session, record: Preregistration, **given: Any) -> Preregistration:
    """A draft, locked over the items that it has; `given` is what the lock does not follow from."""
    plan = record.plan.with_items(populations.read_facts(session, record.id))
    return preregistrations.lock(
        session, record, plan=plan, canonical_text=plan.canonical_text(), sha256=plan.sha256(), **given
    )


def deviation(plan: Plan, filing: Filing, facts: Facts, filed_at: datetime, **given: Any) -> Deviation:
    """What a filing by Ada becomes under the rules; `given` is whose it is."""
    directions, classification, rule = judge_filing(plan, filing, facts)
    return Deviation(
        filing=filing,
        author="ada",
        facts=facts,
        directions=directions,
        classification=classification,
        rule=rule,
        filed_at=filed_at,
        **given,
    )
