"""Lint of populations: the manifest that was put, and how many clusters there are to learn from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from service.domain.plans.findings import Finding, error, warning
from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.plan import Plan
from service.domain.plans.sections.population import Population
from service.words import say

FEW, SOME, UNEQUAL = 10, 30, 0.5


def population_findings(plan: Plan, facts: Mapping[str, ManifestFacts]) -> Iterator[Finding]:
    """Yield findings of every population of the plan."""
    for index, population in enumerate(plan.populations or ()):
        path = f"populations[{index}]"
        if population.clusters is None and population.independence is None:
            yield error(
                "INDEPENDENCE_NOT_STATED", f"{path}.independence", say("findings.independence_not_stated")
            )
        manifest = facts.get(population.id)
        if manifest is None:
            yield error("MISSING_MANIFEST", path, say("findings.missing_manifest", population=population.id))
            yield from _check_clusters(population, path, ())
        else:
            yield from _check_manifest(population, manifest, path)
            yield from _check_clusters(population, path, manifest.cluster_sizes)


def _check_manifest(population: Population, manifest: ManifestFacts, path: str) -> Iterator[Finding]:
    """Yield errors where the list of items is not what the plan says of it."""
    if manifest.n != population.n:
        yield error(
            "MANIFEST_MISMATCH",
            f"{path}.n",
            say("findings.manifest_items", planned=population.n, listed=manifest.n),
        )
    if population.items_sha256 not in (None, manifest.items_sha256):
        yield error("MANIFEST_MISMATCH", f"{path}.items_sha256", say("findings.manifest_hash"))
    if population.clusters is not None and manifest.n_clusters is None:
        yield error("MANIFEST_MISMATCH", f"{path}.clusters", say("findings.manifest_no_clusters"))
    elif population.clusters is not None and population.clusters.n != manifest.n_clusters:
        yield error(
            "MANIFEST_MISMATCH",
            f"{path}.clusters.n",
            say("findings.manifest_clusters", planned=population.clusters.n, listed=str(manifest.n_clusters)),
        )
    elif population.clusters is None and manifest.n_clusters is not None and manifest.n_clusters < manifest.n:
        yield warning(
            "CLUSTERS_IGNORED", f"{path}.clusters", say("findings.clusters_ignored", n=manifest.n_clusters)
        )


def _check_clusters(population: Population, path: str, sizes: tuple[int, ...]) -> Iterator[Finding]:
    """Yield warnings of clusters that are few, or whose sizes differ much."""
    if population.clusters is None:
        return
    n = len(sizes) or population.clusters.n
    if n < FEW:
        yield warning("FEW_CLUSTERS", f"{path}.clusters", say("findings.few_clusters", n=n))
        return
    variation = float(np.std(sizes) / np.mean(sizes)) if sizes else 0.0
    if n < SOME or variation > UNEQUAL:
        yield warning(
            "CAUTION",
            f"{path}.clusters",
            say("findings.uneven_clusters", n=n, variation=f"{variation:.2f}", some=SOME, uneven=UNEQUAL),
        )
