"""The manifests that a record is locked to."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy.orm import Session

from service.domain.plans.plan import Plan
from service.domain.plans.population import Manifest, ManifestFacts
from service.domain.plans.preregistration import Preregistration
from service.store import populations


def manifests_of(session: Session, record: Preregistration) -> Mapping[str, Manifest]:
    """Every population's manifest."""
    return populations.of_record(session, record)


def facts_of(session: Session, record: Preregistration) -> dict[str, ManifestFacts]:
    """What lint reads of them: of a locked record from the lists themselves, whose hashes the plan has."""
    if record.state == "draft" and record.plan.slices is None:
        return populations.facts(session, record.id)
    return facts_for(record.plan, manifests_of(session, record))


def facts_for(plan: Plan, manifests: Mapping[str, Manifest]) -> dict[str, ManifestFacts]:
    """What lint reads of these lists: of their strata too where the plan asks something of them."""
    facts = {name: manifest.facts() for name, manifest in manifests.items()}
    if plan.slices is None:
        return facts
    return {name: manifests[name].with_strata(each) for name, each in facts.items()}
