"""The manifests that a record is locked to."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy.orm import Session

from service.domain.plans.population import Manifest, ManifestFacts
from service.domain.plans.preregistration import Preregistration
from service.store import populations


def manifests_of(session: Session, record: Preregistration) -> Mapping[str, Manifest]:
    """Every population's manifest."""
    return populations.of_record(session, record)


def facts_of(session: Session, record: Preregistration) -> dict[str, ManifestFacts]:
    """What lint reads of them: of a locked record from the lists themselves, whose hashes the plan has."""
    if record.state == "draft":
        return populations.facts(session, record.id)
    return {name: manifest.facts() for name, manifest in manifests_of(session, record).items()}
