"""The items of a suite put together: one population, one manifest, with the tasks as its strata.

Clusters are the same where they have the same label under the same `clusters.key`, so that a document from which two
tasks ask is one cluster. Items of a task without clusters stand alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import Plan
from service.domain.plans.sections.population import Clusters, Population
from service.domain.plans.sections.suites import Suite

APART = "\x00"
"""Between the parts of an id that is put together: no name holds it."""
LONGEST = 300
"""Letters of the tasks' names of data sets, joined."""


def find_population(plan: Plan, name: str) -> Population | None:
    """Return the population of that name, or the items of the suite of that name; None where a name is not known.

    None as well of a suite that does not fit together.
    """
    suite = plan.suite(name)
    if suite is None:
        return plan.population(name)
    if not suite.sound:
        return None
    tasks = [plan.population(task) for task in suite.populations]
    known = [task for task in tasks if task is not None]
    return _join_tasks(suite, known) if len(known) == len(tasks) else None


def _join_tasks(suite: Suite, tasks: list[Population]) -> Population:
    """One population of all the tasks' items; with clusters where any task has them."""
    clustered = [task.clusters for task in tasks if task.clusters is not None]
    clusters = None
    if clustered:
        # An item of a task without clusters is a cluster of its own.
        units = sum(task.n if task.clusters is None else task.clusters.n for task in tasks)
        clusters = Clusters.model_construct(key=clustered[0].key, n=units)
    stated = [task.independence for task in tasks if task.independence is not None]
    # Not validated: the sum of the tasks may be more than one population may have, which lint says of the suite.
    return Population.model_construct(
        id=suite.id,
        dataset=", ".join(task.dataset for task in tasks)[:LONGEST],
        n=sum(task.n for task in tasks),
        items_sha256=None,
        clusters=clusters,
        independence=None if clusters is not None or not stated else stated[0],
        order_seed=None,
        strata="task",
    )


def manifest_of(plan: Plan, name: str, manifests: Mapping[str, Manifest]) -> Manifest | None:
    """Return the manifest of that population, or those of the tasks of that suite, one after the other."""
    suite = plan.suite(name)
    if suite is None:
        return manifests.get(name)
    clustered, parts = False, []
    for task in suite.populations:
        population, manifest = plan.population(task), manifests.get(task)
        if population is None or manifest is None:
            return None
        parts.append((population, manifest))
        clustered = clustered or (population.clusters is not None and manifest.clusters is not None)
    ids, clusters, tasks = [], [], []
    for population, manifest in parts:
        # Ids of different tasks may be alike, so the task stands before them.
        own = [f"{population.id}{APART}{item}" for item in manifest.item_ids]
        ids += own
        tasks += [population.id] * manifest.n
        if clustered:
            key, labels = population.clusters, manifest.clusters
            shared = key is not None and labels is not None
            # A label of a cluster begins with APART and an item's own does not, so the two are never taken for one.
            clusters += [f"{APART}{key.key}{APART}{label}" for label in labels] if shared else own  # type: ignore[union-attr]
    return Manifest(tuple(ids), tuple(clusters) if clustered else None, tuple(tasks))


@dataclass(frozen=True, slots=True, eq=False)
class Tasks:
    """The tasks of items that are judged: `codes` (n,) numbers them by their place in the suite."""

    suite: Suite
    sizes: Mapping[str, int]
    """Items planned of each."""
    codes: NDArray[np.intp]
    weights: tuple[Fraction, ...]
    """They sum to 1."""
    scales: tuple[tuple[Fraction, Fraction], ...]
    """Of each task its floor, and how far the ceiling lies above it."""

    @classmethod
    def of(cls, plan: Plan, suite: Suite, labels: tuple[str, ...], judged: NDArray[np.bool_]) -> Tasks:
        """Return the tasks by the strata of the joined manifest; `judged` (items,): which of its items count."""
        sizes = {task: population.n for task in suite.populations if (population := plan.population(task))}
        shares = [Fraction(repr(share)) for share in suite.shares(sizes).values()]
        places = {name: at for at, name in enumerate(suite.populations)}
        codes = np.array([places[label] for label in labels], dtype=np.intp)[judged]
        scales = []
        for name in suite.populations:
            scale = (suite.rescale or {}).get(name)
            ends = (0.0, 1.0) if scale is None else (scale.floor, scale.ceiling)
            floor, ceiling = (Fraction(repr(end)) for end in ends)
            scales.append((floor, ceiling - floor))
        total = sum(shares, Fraction(0))
        return cls(suite, sizes, codes, tuple(share / total for share in shares), tuple(scales))

    @property
    def names(self) -> tuple[str, ...]:
        """In the order of the suite."""
        return self.suite.populations

    @property
    def labels(self) -> list[str]:
        """The task of each item that is judged."""
        return [self.names[code] for code in self.codes.tolist()]

    @property
    def lacking(self) -> tuple[str, ...]:
        """Tasks of which no item is judged: a suite without them is another suite."""
        seen = np.bincount(self.codes, minlength=len(self.names))
        return tuple(name for name, count in zip(self.names, seen.tolist(), strict=True) if count == 0)

    def rescale(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a column of outcomes, from the floor of each item's task to its ceiling."""
        floor, length = (np.array([float(scale[at]) for scale in self.scales]) for at in (0, 1))
        return np.asarray((column - floor[self.codes]) / length[self.codes])
