"""The manifests that a record is locked to."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy.orm import Session

from service.domain.plans.population import Manifest, ManifestFacts
from service.domain.plans.preregistration import Preregistration
from service.store.plans import populations


def manifests_of(session: Session, record: Preregistration) -> Mapping[str, Manifest]:
    """Every population's manifest."""
    return populations.of_record(session, record)


def facts_of(session: Session, record: Preregistration) -> dict[str, ManifestFacts]:
    """What lint reads of them: of a locked record from the lists themselves, whose hashes the plan has."""
    strata = record.plan.slices is not None
    if record.state == "draft" and not strata:
        return populations.facts(session, record.id)
    manifests = manifests_of(session, record)
    if strata or record.state == "locked":  # an amendment may ask about them
        return {name: each.with_strata(each.facts()) for name, each in manifests.items()}
    return {name: each.facts() for name, each in manifests.items()}
