"""The manifests that a record is locked to."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy.orm import Session

from service.domain.population import Manifest
from service.domain.preregistration import Preregistration
from service.store import populations


def manifests_of(session: Session, record: Preregistration) -> Mapping[str, Manifest]:
    """Every population's manifest."""
    found = {each.id: populations.get(session, record.id, each.id) for each in record.plan.populations or ()}
    return {name: manifest for name, manifest in found.items() if manifest is not None}
