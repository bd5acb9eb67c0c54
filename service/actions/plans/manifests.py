"""What lint reads of the manifests that a record has."""

from __future__ import annotations

from sqlalchemy.orm import Session

from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.preregistration import Preregistration
from service.store.plans import populations


def read_facts(session: Session, record: Preregistration) -> dict[str, ManifestFacts]:
    """Read the facts of a record's item manifests, by population.

    Those of a draft were stored with its lists. Those of a locked record are computed from the lists themselves, which
    are held against the hashes in the plan as they are read.
    """
    strata = record.plan.slices is not None
    if record.state == "draft" and not strata:
        return populations.read_facts(session, record.id)
    manifests = populations.read_manifests(session, record)
    if strata or record.state == "locked":  # an amendment may ask about them
        return {name: manifest.with_strata(manifest.facts()) for name, manifest in manifests.items()}
    return {name: manifest.facts() for name, manifest in manifests.items()}
