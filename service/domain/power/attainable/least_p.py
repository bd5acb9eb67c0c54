"""The least p-value a statistical test can reach with the data a plan provides for, and what sets it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.sections.population import Population
from service.domain.rules.feeding import parameter, takes_clusters
from service.domain.rules.settings import Use
from service.stats.shared.declaring.plan_use import Extent


@dataclass(frozen=True, slots=True)
class Size:
    """How much data the plan has for a hypothesis."""

    n: int
    n_clusters: int | None

    def grow(self, by: int) -> Size:
        """Return this size with more clusters and items."""
        return Size(self.n + by, None if self.n_clusters is None else self.n_clusters + by)


def size_of(population: Population, facts: Mapping[str, ManifestFacts]) -> Size:
    """Return how much data there is: by the manifest where there is one, else as the plan says."""
    manifest, declared = facts.get(population.id), population.clusters
    return Size(
        manifest.n if manifest else population.n,
        None if declared is None else (manifest.n_clusters if manifest else None) or declared.n,
    )


def least_p(use: Use, size: Size, population: Population | None) -> tuple[Fraction, str]:
    """Return the least p-value that the test says it gives with that much data, 0 where none is known, and why."""
    plan = use.test.plan
    if plan is None or plan.least_p is None:
        return Fraction(0), ""
    clustered = population is not None and takes_clusters(use.test, population)
    p = plan.least_p(Extent(size.n, size.n_clusters, clustered), partial(parameter, use.use))
    return (Fraction(0), "") if p is None else (p.p, p.why)
