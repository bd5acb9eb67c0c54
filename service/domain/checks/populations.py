"""Lint of populations: the manifest that was put, and how many clusters there are to learn from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from service.domain.plans.findings import Finding, error, warning
from service.domain.plans.plan import Plan, Population
from service.domain.plans.population import ManifestFacts

FEW, SOME, UNEQUAL = 10, 30, 0.5


def population_findings(plan: Plan, facts: Mapping[str, ManifestFacts]) -> Iterator[Finding]:
    """Findings of every population of the plan."""
    for index, population in enumerate(plan.populations or ()):
        path = f"populations[{index}]"
        if population.clusters is None and population.independence is None:
            yield error(
                "INDEPENDENCE_NOT_STATED",
                f"{path}.independence",
                "declare clusters, or state in `independence` why the items are independent",
            )
        manifest = facts.get(population.id)
        if manifest is None:
            yield error("MISSING_MANIFEST", path, f"put the items of '{population.id}' before the lock")
            yield from _few_clusters(population, path, ())
        else:
            yield from _mismatch(population, manifest, path)
            yield from _few_clusters(population, path, manifest.cluster_sizes)


def _mismatch(population: Population, manifest: ManifestFacts, path: str) -> Iterator[Finding]:
    if manifest.n != population.n:
        yield error(
            "MANIFEST_MISMATCH",
            f"{path}.n",
            f"the plan says {population.n} items and the manifest has {manifest.n}: mend one of them",
        )
    if population.items_sha256 not in (None, manifest.items_sha256):
        yield error(
            "MANIFEST_MISMATCH",
            f"{path}.items_sha256",
            "the manifest that was put has another hash: leave the field out, or put the items it stands for",
        )
    if population.clusters is not None and manifest.n_clusters is None:
        yield error(
            "MANIFEST_MISMATCH",
            f"{path}.clusters",
            "the plan has clusters and the manifest none: put the items with a `clusters` column",
        )
    elif population.clusters is not None and population.clusters.n != manifest.n_clusters:
        yield error(
            "MANIFEST_MISMATCH",
            f"{path}.clusters.n",
            f"the plan says {population.clusters.n} clusters and the manifest has {manifest.n_clusters}: "
            "mend one of them",
        )
    elif population.clusters is None and manifest.n_clusters is not None and manifest.n_clusters < manifest.n:
        yield warning(
            "CLUSTERS_IGNORED",
            f"{path}.clusters",
            f"the manifest has {manifest.n_clusters} clusters and the plan takes items as independent: "
            "declare the clusters, or acknowledge",
        )


def _few_clusters(population: Population, path: str, sizes: tuple[int, ...]) -> Iterator[Finding]:
    if population.clusters is None:
        return
    n = len(sizes) or population.clusters.n
    if n < FEW:
        yield warning(
            "FEW_CLUSTERS",
            f"{path}.clusters",
            f"{n} clusters are few: percentile cluster bootstraps and large-sample clustered tests are "
            "unreliable here; plan more clusters, or prefer sign_flip or cr2_t",
        )
        return
    variation = float(np.std(sizes) / np.mean(sizes)) if sizes else 0.0
    if n < SOME or variation > UNEQUAL:
        yield warning(
            "CAUTION",
            f"{path}.clusters",
            f"{n} clusters with a size coefficient of variation of {variation:.2f}: below {SOME} clusters, "
            f"or above {UNEQUAL}, cluster intervals tend to be too short; plan more or more equal clusters",
        )
