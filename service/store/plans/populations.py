"""Item manifests: columns as compressed JSON, with the facts that lint reads beside them."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.domain.plans.manifest import Manifest, ManifestFacts
from service.domain.plans.preregistration import Preregistration
from service.domain.recent import MOST_RECORDS, Recent
from service.store.database import integrity
from service.store.database.tables import manifests

CACHED_ITEMS = 2_000_000
"""Items of manifests kept in memory: every batch asks for its population's."""


_recent: Recent[str, Manifest] = Recent(CACHED_ITEMS, MOST_RECORDS)
"""By hash, which stands for the content."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A manifest as it is stored, which takes a second to make of a million items."""

    facts: ManifestFacts
    content: bytes = field(repr=False)


def pack(manifest: Manifest) -> Packed:
    """Return the manifest, ready to be stored."""
    return Packed(manifest.facts(), _compress(manifest))


def put(
    session: Session, preregistration_id: str, population_id: str, manifest: Manifest | Packed
) -> ManifestFacts:
    """Store a draft's manifest in place of an earlier one."""
    ready = pack(manifest) if isinstance(manifest, Manifest) else manifest
    facts = ready.facts
    values = {
        "n": facts.n,
        "items_sha256": facts.items_sha256,
        "n_clusters": facts.n_clusters,
        "cluster_sizes": np.asarray(facts.cluster_sizes, dtype="<i4").tobytes(),
        "content": ready.content,
    }
    ours = _match(preregistration_id, population_id)
    if (
        session.execute(sa.update(manifests).where(ours).values(values).returning(manifests.c.n)).first()
        is None
    ):
        key = {"preregistration_id": preregistration_id, "population": population_id}
        session.execute(sa.insert(manifests).values(key | values))
    return facts


def find(session: Session, preregistration_id: str, population_id: str) -> Manifest | None:
    """Return the manifest of a population."""
    ours = _match(preregistration_id, population_id)
    sha256 = session.scalar(sa.select(manifests.c.items_sha256).where(ours))
    if sha256 is None:
        return None
    if (known := find_recent(sha256)) is not None:
        return known
    with _recent.alone(sha256):  # a million items take a second, and eval jobs start together
        if (known := find_recent(sha256)) is not None:
            return known
        # The hash is asked for again: a draft's items may be other ones since it was read.
        content = session.scalar(
            sa.select(manifests.c.content).where(ours, manifests.c.items_sha256 == sha256)
        )
        if content is None:
            return None
        with integrity.reading("items", preregistration_id):
            manifest = _expand(content)
        integrity.require("items", preregistration_id, holds=manifest.sha256() == sha256)
        _recent.add(sha256, manifest, manifest.n)
        return manifest


def read_manifests(session: Session, record: Preregistration) -> dict[str, Manifest]:
    """Return the manifest of every population; those that the plan names by hash, once it is locked."""
    manifests_: dict[str, Manifest] = {}
    for population in record.plan.populations or ():
        manifest = find(session, record.id, population.id)
        if record.state != "draft":
            holds = manifest is not None and manifest.sha256() == population.items_sha256
            integrity.require("items", record.id, holds=holds)
        if manifest is not None:
            manifests_[population.id] = manifest
    return manifests_


def find_recent(sha256: str) -> Manifest | None:
    """Return the manifest of that hash, if it was read here a moment ago."""
    return _recent.get(sha256)


def remove_others(session: Session, preregistration_id: str, population_ids: set[str]) -> None:
    """Remove a draft's manifests of populations that its plan no longer has."""
    wanted = manifests.c.population.in_(sorted(population_ids))
    session.execute(sa.delete(manifests).where(manifests.c.preregistration_id == preregistration_id, ~wanted))


def read_facts(session: Session, preregistration_id: str) -> dict[str, ManifestFacts]:
    """Return what lint reads, by population."""
    rows = session.execute(_FACTS, {"of_id": preregistration_id}).mappings()
    return {
        row["population"]: ManifestFacts(
            n=row["n"],
            items_sha256=row["items_sha256"],
            n_clusters=row["n_clusters"],
            cluster_sizes=tuple(np.frombuffer(row["cluster_sizes"], dtype="<i4").tolist()),
        )
        for row in rows
    }


_FACTS = (
    sa.select(*(column for column in manifests.c if column.name not in ("preregistration_id", "content")))
    .where(manifests.c.preregistration_id == sa.bindparam("of_id"))
    .order_by(manifests.c.population)
)
"""Made once: every lint and every lock executes it."""


def _match(preregistration_id: str, population_id: str) -> sa.ColumnElement[bool]:
    return sa.and_(
        manifests.c.preregistration_id == preregistration_id, manifests.c.population == population_id
    )


def _compress(manifest: Manifest) -> bytes:
    return zlib.compress(
        json.dumps(manifest.columns(), ensure_ascii=False, separators=(",", ":")).encode(), level=1
    )


def _expand(content: bytes) -> Manifest:
    columns: dict[str, Any] = {
        name: None if column is None else tuple(column)
        for name, column in json.loads(zlib.decompress(content)).items()
    }
    return Manifest(**columns)
